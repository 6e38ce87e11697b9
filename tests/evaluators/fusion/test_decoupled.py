"""Rounds with DRAM apart: the group's words, and its cycles where DRAM is infinitely fast."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.decoupled import decoupled_rounds
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE
from archloom.space.workload.dims import WEIGHTS

from ...cases.designs import edge, several
from ...cases.mappers import BufferMapper
from ...cases.pinned_plans import pinned_plan
from ...cases.sweeps import sweep
from .test_core_rounds import case as cores_case
from .test_group import account_case
from .test_pins import ROOMY, priced
from .tiling.test_sweep import two_convolutions

KINDS = ("any", "operators", "wild")


def instant(hardware):
    dram = replace(hardware.levels[-1], bandwidth_words=inf)
    return replace(hardware, levels=(*hardware.levels[:-1], dram))


def without_dram(network, group, hardware, mapper, residents=ALONE):
    """Cycles of the same group with the same mappings where DRAM needs no time at all."""
    dram = hardware.levels[-1]

    def mapped(problem):
        levels = (*problem.hardware.levels[:-1], dram)
        found = mapper(replace(problem, hardware=replace(problem.hardware, levels=levels)))
        return found if isinstance(found, Infeasible) else replace(found, dram_cycles=0)

    return group_cost(network, group, instant(hardware), mapped, residents).latency_cycles


def agrees(network, cost, hardware, mapper):
    """Check one evaluated group."""
    found = decoupled_rounds(network, hardware, cost)
    rounds, first = found.rounds, found.first
    size = hardware.word_bits / 8
    words = sum(int(share.words[-1].sum()) for share in cost.layers)
    assert words == cost.dram_reads + cost.dram_writes
    assert rounds.weight_bytes.sum() + rounds.map_bytes.sum() == words * size
    weights = sum(
        int(share.words[-1, WEIGHTS])
        for share in cost.layers
        if not network.layers[share.layer].multiplies_maps
    )
    assert rounds.weight_bytes.sum() == weights * size
    expected = without_dram(network, cost.group, hardware, mapper, cost.residents)
    assert rounds.cycles.sum() == expected <= cost.latency_cycles
    assert len(rounds.cycles) == len(rounds.weight_bytes) == len(rounds.map_bytes)
    # the layers of the first round make up what it is
    assert len(first.cycles) == len(first.weight_bytes) == len(first.map_bytes) == len(cost.layers)
    for layers, whole in ((first.cycles, rounds.cycles), (first.map_bytes, rounds.map_bytes)):
        assert (layers >= 0).all()
        assert layers.sum() == whole[0]
    assert first.weight_bytes.sum() == rounds.weight_bytes[0]
    return found


@pytest.mark.parametrize(
    ("seed", "kind"), sweep([(s, kind) for s in range(60) for kind in KINDS], 60)
)
def test_rounds_move_the_words_of_their_group_and_take_its_cycles_without_dram(seed, kind):
    network, group, hardware, mapper = account_case(seed, kind)
    cost = group_cost(network, group, hardware, mapper)
    if not isinstance(cost, Infeasible):
        agrees(network, cost, hardware, mapper)


@pytest.mark.parametrize(("seed", "kind"), sweep([(s, k) for s in range(60) for k in KINDS], 40))
def test_rounds_of_several_cores(seed, kind):
    network, group, hardware, mapper = cores_case(seed, kind)
    cost = group_cost(network, group, hardware, mapper)
    if not isinstance(cost, Infeasible):
        agrees(network, cost, hardware, mapper)


@pytest.mark.parametrize(("seed", "kind"), sweep([(s, k) for s in range(40) for k in KINDS], 40))
def test_rounds_of_plans_with_pinned_maps_and_steady_weights(seed, kind):
    network, plan = pinned_plan(seed, kind)
    cost = priced(network, plan)
    if isinstance(cost, NetworkCost):
        mapper = BufferMapper()
        for group in cost.groups:
            agrees(network, group, ROOMY, mapper)


def test_the_rounds_of_two_convolutions_by_hand():
    """Golden case A of the fusion model in four tiles of 4x4, the weights of one layer resident."""
    network, hardware = two_convolutions().with_batch(2), edge(glb_bytes=1 << 20)
    fast = [replace(level, bandwidth_words=1e9) for level in hardware.levels[:2]]
    hardware = replace(hardware, levels=(*fast, hardware.levels[2]))
    group = FusionGroup((0, 1), (4, 4), "keep_all", (0,))
    cost = group_cost(network, group, hardware, BufferMapper())
    found = agrees(network, cost, hardware, BufferMapper())
    rounds, size = found.rounds, hardware.word_bits // 8
    # two images of four tiles; layer b reads its 144 weights for each of them
    assert rounds.weight_bytes.tolist() == [(144 + 144) * size, *[144 * size] * 7]
    # every word of the input is fetched once, 4 channels of 8x8, and every result is stored
    assert rounds.map_bytes.sum() == 2 * (256 + 256) * size
    assert found.resident_bytes == 144 * size
    assert found.first.weight_bytes.tolist() == [144 * size, 144 * size]
    assert found.first.cycles.tolist() == [25 * 144, 16 * 144]
    # the first tile fetches 6x6 words of 4 channels, and stores 4x4
    assert found.first.map_bytes.tolist() == [144 * size, 64 * size]
    # both images are alike, word by word: 4 x 4 x 9 steps for each of the positions of a layer
    of_image = rounds.cycles.reshape(2, 4)
    assert np.array_equal(of_image[0], of_image[1])
    # rows and columns of the first layer run ahead by one for those of the second
    assert of_image[0].tolist() == [(a + 16) * 144 for a in (25, 15, 15, 9)]
    assert rounds.cycles.sum() == 2 * 2 * 64 * 144


def test_cores_that_get_no_weights_together_read_them_each():
    network, chip = two_convolutions(), several((2, 2))
    dram = replace(chip.levels[2], multicast=("inputs", "outputs"))
    apart = replace(chip, levels=(*chip.levels[:2], dram))
    for hardware, copies in ((chip, 1), (apart, 4)):
        for resident, held in (((0, 1), 288), ((), 0)):
            group = FusionGroup((0, 1), (4, 4), "recompute", resident)
            cost = group_cost(network, group, hardware, BufferMapper())
            found = decoupled_rounds(network, hardware, cost)
            size = hardware.word_bits // 8
            assert found.rounds.weight_bytes.tolist() == [288 * copies * size]
            assert found.first.weight_bytes.tolist() == [144 * copies * size] * 2
            assert found.resident_bytes == held * size
