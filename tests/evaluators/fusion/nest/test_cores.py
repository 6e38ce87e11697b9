"""Nests on several cores against a slow walk and account of every core's iterations."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest import group_ranks, nest_faults
from archloom.evaluators.fusion.nest.iterations.when_used import masked_uses
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE, Residents
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.transformers.transformer import SequenceBuilder
from archloom.space.workload.network import Network

from ....cases.random_nests import NestCase, masked_case, masked_in_turn, random_case
from ....cases.small_designs import three_levels
from ....cases.sweeps import sweep
from ....oracles.nest_account import Account
from ....oracles.nest_cores import core_account, simulate_cores
from ..test_decoupled import agrees
from .test_cost import MAPPER, costs_as_told, with_capacity
from .test_rules import any_nest
from .test_tiled import nested

MESHES = ((2, 1), (1, 3), (2, 2), (1, 5), (4, 2), (16, 1))


def random_chip(rng: np.random.Generator, mesh: tuple[int, int]) -> Hardware:
    """Return a small design of several cores with slow DRAM and vector accesses."""
    plain = three_levels(1)
    spad, buffer, dram = plain.levels
    pes = mesh[0] * int(rng.integers(1, 3)), mesh[1] * int(rng.integers(1, 3))
    buffer = replace(
        buffer,
        mesh=mesh,
        width_words=int(rng.integers(1, 5)),
        bandwidth_words=float(rng.integers(2, 9)),
    )
    sent = ("weights", "inputs", "outputs") if rng.random() < 0.6 else ("inputs", "outputs")
    rate = float(rng.choice([0.125, 0.5, 1.0, 2.0, 8.0]))
    dram = replace(dram, bandwidth_words=rate, width_words=int(rng.integers(1, 4)), multicast=sent)
    lanes = mesh[0] * mesh[1] * int(rng.integers(1, 4))
    levels = (replace(spad, mesh=pes), buffer, dram)
    return replace(plain, levels=levels, pe_mesh=pes, vector_lanes=lanes)


def long_case(rng: np.random.Generator, cores: int) -> NestCase:
    """Return a nest of which so many cores run more iterations than are looked at."""
    while True:
        case = random_case(rng, 10 * cores, dealt=True)
        loop = case.nest.loops[0]
        if case.group.ranks.sizes[loop.rank] > 8 * cores * loop.tile:
            return case


def compare(
    case: NestCase, rng: np.random.Generator, mesh: tuple[int, int], *, skips: bool = False
) -> str:
    """Compare a nest on a random design of several cores, which pass over tiles that a mask drops
    if it ``skips`` them; returns what came of it."""
    group = FusionGroup(case.members, nest=case.nest)
    chip = random_chip(rng, mesh)

    def costs(capacity: int) -> tuple[GroupCost | Infeasible, Account | Infeasible]:
        small = with_capacity(chip, capacity)
        cores = fusion_cores(small)
        assert isinstance(cores, Cores), cores
        words = buffer_words(cores.one)
        told = core_account(case.group, case.nest, cores.one, cores.count, MAPPER, words, skips)
        return group_cost(case.network, group, small, MAPPER), told

    _, free = costs(10_000)
    least = free.least_words if isinstance(free, Account) else 100
    # from too few words for the operands to enough for all transfers
    capacity = max(1, int(least * rng.uniform(0.8, 1.8)))
    found, told = costs(capacity)
    if isinstance(told, Infeasible):
        assert isinstance(found, Infeasible)
        assert found.reason == told.reason, found
        return "no mapping"
    if told.least_words > capacity:
        assert isinstance(found, Infeasible)
        assert (found.reason, found.needed) == ("glb_overflow", told.least_words), found
        assert found.available == capacity
        return "too small"
    assert not isinstance(found, Infeasible), found
    costs_as_told(found, told)
    agrees(case.network, found, with_capacity(chip, capacity), MAPPER)
    return "ahead" if found.prefetch else "waits"


@pytest.mark.parametrize("seed", sweep(range(100), sample=4))
def test_tiles_that_a_mask_drops_run_where_cores_share_out_a_loop(seed: int) -> None:
    """The account leaves out none of them."""
    rng = np.random.default_rng(seed)
    while True:
        case = masked_case(rng)
        case = replace(case, nest=replace(case.nest, dealt=True))
        if not list(nest_faults(case.group, case.nest)):
            break
    compare(case, rng, MESHES[seed % len(MESHES)])


@pytest.mark.parametrize("seed", sweep(range(400), sample=24))
def test_cores_that_take_turns_pass_over_tiles_that_a_mask_drops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = masked_in_turn(rng)
    skips = masked_uses(case.group, case.nest) is not None
    compare(case, rng, MESHES[seed % len(MESHES)], skips=skips)


@pytest.mark.parametrize("seed", sweep(range(60), sample=3))
def test_many_tiles_in_turn_of_which_a_mask_drops_some(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = masked_in_turn(rng, 60)
    skips = masked_uses(case.group, case.nest) is not None
    compare(case, rng, MESHES[seed % 3], skips=skips)


@pytest.mark.parametrize("seed", sweep(range(200), sample=12))
def test_any_nest_may_be_taken_in_turn(seed: int) -> None:
    rng, mesh = np.random.default_rng(seed), MESHES[seed % len(MESHES)]
    cores = mesh[0] * mesh[1]
    case = long_case(rng, cores) if seed % 4 == 0 and cores < 5 else random_case(rng, dealt=True)
    compare(replace(case, nest=replace(case.nest, in_turn=True)), rng, mesh)


@pytest.mark.parametrize("seed", sweep(range(600), sample=24))
def test_a_nest_costs_what_its_cores_do_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compare(random_case(rng, dealt=True), rng, MESHES[seed % len(MESHES)])


# the first ones are wrong if iterations about the last one of the last core are not looked at
@pytest.mark.parametrize("seed", sweep([29, 35, *range(200)], sample=2))
def test_loops_of_many_iterations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mesh = MESHES[(0, 1, 3)[seed % 3]]
    compare(long_case(rng, mesh[0] * mesh[1]), rng, mesh)


@pytest.mark.parametrize("seed", sweep(range(600), sample=16))
def test_rules_refuse_to_deal_what_cores_cannot_share_out_and_nothing_else(seed: int) -> None:
    rng, drawn = np.random.default_rng(seed), None
    while drawn is None:
        drawn = any_nest(rng)
    group, nest = drawn[0], replace(drawn[1], dealt=True)
    cores = int(rng.integers(2, 6))
    if not list(nest_faults(group, nest)):
        simulate_cores(group, nest, cores)
        return
    with pytest.raises(AssertionError):
        simulate_cores(group, nest, cores)


@pytest.mark.parametrize("seed", sweep(range(200), sample=6))
def test_rows_and_images_that_come_out_even_cost_what_tiles_on_cores_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mesh, rows, rounds = MESHES[seed % 4], int(rng.integers(1, 4)), int(rng.integers(1, 4))
    count = mesh[0] * mesh[1] * rounds
    images, positions = (count, int(rng.integers(2, 9))) if seed % 2 else (1, count * rows)
    builder = SequenceBuilder()
    x = builder.input("x", int(rng.integers(2, 10)), positions)
    for i in range(int(rng.integers(2, 5))):
        x = builder.linear(f"layer{i}", x, int(rng.integers(2, 10)), bias=False)
    network = builder.network("chain").with_batch(images)
    layers = tuple(range(len(network.layers)))
    ranks = group_ranks(network, layers)
    assert ranks is not None
    loop = NestLoop(ranks.dims[0][0][0], 1) if images > 1 else NestLoop(ranks.dims[0][4][0], rows)
    tile = None if images > 1 else (rows, 1)
    inside = nested(network, [loop])
    assert inside.nest is not None
    nest = FusionGroup(layers, nest=replace(inside.nest, dealt=True))
    chip = with_capacity(random_chip(rng, mesh), 1 << 16)
    one, other = (
        group_cost(network, group, chip, MAPPER)
        for group in (nest, FusionGroup(layers, tile=tile, resident=layers))
    )
    assert isinstance(one, GroupCost)
    assert isinstance(other, GroupCost)
    assert (one.dram_reads, one.dram_writes) == (other.dram_reads, other.dram_writes)
    assert one.dynamic_pj == pytest.approx(other.dynamic_pj, abs=0.1)
    assert one.cores == other.cores
    # weights come before the first iteration of a nest, and with each layer of the first tiles
    assert one.latency_cycles <= other.latency_cycles


@pytest.mark.parametrize("seed", range(4))
def test_one_core_runs_a_dealt_nest_as_any_other(seed: int) -> None:
    case = random_case(np.random.default_rng(seed), dealt=True)
    chip = with_capacity(three_levels(1), 10_000)
    nests = case.nest, replace(case.nest, dealt=False)
    one, other = (
        group_cost(case.network, FusionGroup(case.members, nest=nest), chip, MAPPER)
        for nest in nests
    )
    assert isinstance(one, GroupCost)
    assert isinstance(other, GroupCost)
    assert (one.latency_cycles, one.dynamic_pj) == (other.latency_cycles, other.dynamic_pj)
    assert (one.dram_reads, one.dram_writes) == (other.dram_reads, other.dram_writes)


def chain() -> tuple[Network, LoopNest]:
    """Return two products, 6 x 10 features of 12 positions, and a loop over positions."""
    builder = SequenceBuilder()
    x = builder.input("x", 6, 12)
    for name, features in (("up", 10), ("down", 6)):
        x = builder.linear(name, x, features, bias=False)
    network = builder.network("chain")
    ranks = group_ranks(network, (0, 1))
    assert ranks is not None
    nest = nested(network, [NestLoop(ranks.dims[0][4][0], 2)]).nest
    assert nest is not None
    return network, nest


def test_positions_of_a_chain_on_four_cores_by_hand() -> None:
    network, nest = chain()
    group = FusionGroup((0, 1), nest=replace(nest, dealt=True))
    buffer = replace(three_levels(1 << 10).levels[1], bandwidth_words=1e9)
    chip = random_chip(np.random.default_rng(0), (2, 2))
    dram = replace(chip.levels[2], bandwidth_words=1e9, multicast=("weights",))
    spad = replace(chip.levels[0], bandwidth_words=1e9)
    chip = replace(chip, levels=(spad, replace(buffer, mesh=(2, 2)), dram))
    cost = group_cost(network, group, chip, MAPPER)
    assert isinstance(cost, GroupCost)
    # six tiles of two positions: two rounds take three cores, a fourth one finishes no sooner
    assert (cost.cores, cost.tiles) == (3, 6)
    # weights stay: sent once, written to three buffers
    assert cost.dram_reads == 12 * 6 + 2 * 60
    assert cost.dram_writes == 12 * 6
    fills = sum(int(share.words[1, 0]) for share in cost.layers)
    reads = sum(share.operations for share in cost.layers)
    assert fills == 3 * 2 * 60 + reads
    assert reads == 2 * 12 * 60
    # word by word, two rounds of two positions
    assert [share.latency_cycles for share in cost.layers] == [2 * 120, 2 * 120]


def refusal(network: Network, group: FusionGroup, residents: Residents = ALONE) -> Infeasible:
    """Return why a group does not run on four cores."""
    chip = with_capacity(random_chip(np.random.default_rng(0), (2, 2)), 1 << 10)
    why = group_cost(network, group, chip, MAPPER, residents)
    assert isinstance(why, Infeasible)
    return why


def test_what_cannot_run_on_cores_is_refused_by_name() -> None:
    network, nest = chain()
    dealt = replace(nest, dealt=True)
    why = refusal(network, FusionGroup((0, 1), nest=nest))
    assert (why.reason, why.needed, why.available) == ("nest_needs_one_buffer", 1, 4)
    assert "glb has 4 instances: distribute its outermost loop over the cores (dealt)" in str(why)
    steady = FusionGroup((0, 1), nest=dealt, steady=(1,))
    for why in (
        refusal(network, steady),
        refusal(network, FusionGroup((0, 1), nest=dealt), Residents((), (), (), 4)),
    ):
        assert why.reason == "pins_need_one_buffer"
    ranks = group_ranks(network, (0, 1))
    assert ranks is not None
    hidden = nested(network, [NestLoop(ranks.dims[0][2][0], 5)])
    assert hidden.nest is not None
    why = refusal(network, FusionGroup((0, 1), nest=replace(hidden.nest, dealt=True)))
    assert why.reason == "bad_nest"
    assert "down sums over the rank of size 10 that is distributed over cores" in str(why)
    # features of the result: every core makes all hidden ones, which here leave as well
    leaving = replace(network, outputs=("up",))
    features = nested(leaving, [NestLoop(ranks.dims[1][2][0], 3)])
    assert features.nest is not None
    why = refusal(leaving, FusionGroup((0, 1), nest=replace(features.nest, dealt=True)))
    assert "up is an output of the group that every core would compute and store as a whole" in str(
        why
    )
