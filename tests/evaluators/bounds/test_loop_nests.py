"""No loop nest costs less than what is said of all plans."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.ranks import group_ranks
from archloom.evaluators.fusion.nest.rules import depths
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup, FusionPlan
from archloom.space.fusion.running_order import group_order
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload.network import Network

from ...cases.random_nests import NestCase, masked_in_turn, random_case
from ...cases.random_windows import windowed_case
from ...cases.small_designs import three_levels
from ...cases.sweeps import sweep


def design(words: int, rate: float, *, weights: bool = True) -> Hardware:
    """A small chip; ``weights`` says whether its buffer keeps any."""
    spad, buffer, dram = three_levels(words, (64, 64, 64)).levels
    if not weights:
        buffer = replace(buffer, keeps=("inputs", "outputs"))
    return replace(three_levels(), levels=(spad, buffer, replace(dram, bandwidth_words=rate)))


def check(network: Network, groups: list[FusionGroup], chip: Hardware) -> bool:
    """Hold a plan against the bound; returns whether it runs."""
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 3000, seed=1)
    cost = network_cost(
        network,
        FusionPlan(tuple(groups)),
        chip,
        lambda group, residents: group_cost(network, group, chip, mapper, residents),
    )
    if isinstance(cost, Infeasible):
        return False
    assert isinstance(cost, NetworkCost)
    least = any_plan_bound(network, chip)
    assert least.latency_cycles <= cost.latency_cycles
    assert least.energy_pj <= cost.energy_pj
    assert least.edp_js <= cost.edp_js
    return True


def with_weights_streamed(case: NestCase) -> LoopNest:
    """Return the nest as a buffer without weights runs it."""
    passing = {t for some in case.group.weights for t in some}
    depth = (STREAMED if t in passing else d for t, d in enumerate(case.nest.depth))
    return replace(case.nest, depth=tuple(depth))


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_weights_that_come_while_other_layers_run_are_no_wait(rate: float) -> None:
    """Those of Q come while K runs, in the first of eight parts."""
    builder = SequenceBuilder()
    query = builder.linear("Q", builder.input("q", 256, 1), 256, bias=False)
    key = builder.linear("K", builder.input("k", 16, 4096), 256, bias=False)
    builder.scores("scores", Heads(1, 256), query, key)
    network, layers = builder.network("attention"), (0, 1, 2)
    ranks = group_ranks(network, layers)
    assert ranks is not None
    (tokens,) = ranks.dims[1][4]
    group = nest_group(network, layers, frozenset((tokens,)))
    assert group is not None
    depth = tuple(depths(group, (tokens,), t)[-1] for t in range(len(group.operands)))
    nest = LoopNest((NestLoop(tokens, 512),), depth)
    assert check(network, [FusionGroup(layers, nest=nest)], design(1 << 20, rate))


def test_layers_wait_for_weights_that_no_buffer_can_hold_for_them() -> None:
    """Two products, the first with few weights and much work, the second the other way around."""
    builder = SequenceBuilder()
    builder.linear("first", builder.input("in", 16, 4096), 64, bias=False)
    builder.linear("second", builder.input("other", 256, 1), 256, bias=False)
    network = builder.network("two")
    holding, passing = (
        any_plan_bound(network, design(1 << 20, 0.5, weights=keeps)).latency_cycles
        for keeps in (True, False)
    )
    # 4 MACs work on 16 x 64 x 4,096 while weights come; then 256 x 256 words, half a word a cycle
    assert holding < 4096 * 64 * 16 / 4 + 256 * 256 / 0.5 <= passing
    chip = design(1 << 20, 0.5, weights=False)
    assert check(network, [FusionGroup((0,)), FusionGroup((1,))], chip)


# of the first one a layer adds to sums in the buffer, and PEs' reads of these take longest
@pytest.mark.parametrize("seed", sweep([186, *range(1000)], sample=9))
def test_random_nests_cost_no_less(seed: int) -> None:
    check_random(seed, random_case)


@pytest.mark.parametrize("seed", sweep(range(700), sample=12))
def test_random_nests_around_windows_cost_no_less(seed: int) -> None:
    check_random(seed, windowed_case, optional=seed % 3 == 0)


def check_random(
    seed: int, cases: Callable[[np.random.Generator], NestCase], *, optional: bool = False
) -> None:
    rng = np.random.default_rng(seed)
    case, keeps = cases(rng), bool(rng.random() < 0.5)
    rest = [(i,) for i in range(len(case.network.layers)) if i not in case.members]
    nest = case.nest if keeps else with_weights_streamed(case)
    groups = [FusionGroup(case.members, nest=nest), *map(FusionGroup, rest)]
    order = group_order(case.network, [group.layers for group in groups])
    if order is not None:
        chip = design(1 << 14, float(rng.choice([0.03, 0.125, 0.5, 2.0])), weights=keeps)
        spad, buffer, dram = chip.levels
        chip = replace(chip, levels=(spad, replace(buffer, optional=optional), dram))
        check(case.network, [groups[i] for i in order], chip)


@pytest.mark.parametrize("seed", sweep(range(300), sample=9))
def test_cores_that_leave_out_masked_tiles_cost_no_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = masked_in_turn(rng)
    rest = [(i,) for i in range(len(case.network.layers)) if i not in case.members]
    groups = [FusionGroup(case.members, nest=case.nest), *map(FusionGroup, rest)]
    order = group_order(case.network, [group.layers for group in groups])
    plain = design(1 << 14, float(rng.choice([0.03, 0.125, 0.5, 2.0])))
    spad, buffer, dram = plain.levels
    mesh = ((2, 1), (1, 3), (2, 2))[seed % 3]
    pes = mesh[0] * 2, mesh[1]
    levels = replace(spad, mesh=pes), replace(buffer, mesh=mesh), dram
    chip = replace(plain, pe_mesh=pes, levels=levels, vector_lanes=mesh[0] * mesh[1])
    if order is not None:
        assert check(case.network, [groups[i] for i in order], chip)
