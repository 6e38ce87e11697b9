"""Fused groups on several cores against a slow account of every core's tiles."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.group_cost import GroupCost, buffer_words, group_cost
from archloom.evaluators.group_shape import group_shape
from archloom.search.mapper import Mapper
from archloom.search.mapping_search import LocalMapping
from archloom.space.cores import Cores, fusion_cores
from archloom.space.fusion import FusionGroup
from archloom.space.infeasible import Infeasible

from .core_account import core_account
from .designs import several
from .groups import POLICIES, any_tile, random_group
from .mappers import BufferMapper

MESHES = ((2, 1), (1, 2), (2, 2), (4, 1), (4, 4))


def case(seed, kind):
    """Return network, group, hardware and mapper; buffers from too small to roomy."""
    rng = np.random.default_rng(seed)
    network, members = random_group(rng, kind)
    network = network.with_batch((1, 2, 3, 4)[seed // 5 % 4])
    shape, halo = group_shape(network, members), POLICIES[seed % 3]
    weighty = [i for i in members if network.layers[i].weight_words]
    resident = tuple(i for i in weighty if rng.random() < 0.5)
    group = FusionGroup(members, any_tile(shape, rng), halo, resident)
    mesh = MESHES[seed % 5]
    peak = group_cost(network, group, several(mesh), BufferMapper()).peak_words
    size = (peak - 1, peak, max(1, peak // 2), 600, 1 << 18)[seed // 3 % 5]
    chip = several(mesh, size)
    register, buffer, dram = chip.levels
    buffer = replace(buffer, optional=seed % 4 < 2, bandwidth_words=(16, 0.5)[seed // 7 % 2])
    multicast = ("weights", "inputs", "outputs") if seed % 7 < 4 else ("inputs",)
    dram = replace(dram, bandwidth_words=(8, 0.1, 1.3)[seed // 2 % 3], multicast=multicast)
    mapper = BufferMapper() if size > 1 << 15 else Mapper(LocalMapping(), 5, seed)
    return network, group, replace(chip, levels=(register, buffer, dram)), mapper


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *((i, "any") for i in range(150)),
        *((i, "operators") for i in range(80)),
        *((i, "wild") for i in range(150)),
    ],
)
def test_a_group_costs_what_its_cores_do_one_by_one(seed, kind):
    check_cores(seed, kind)


def check_cores(seed, kind):
    network, group, hardware, mapper = case(seed, kind)
    cores = fusion_cores(hardware)
    assert isinstance(cores, Cores)
    assert cores.count == hardware.levels[1].instances
    cost = group_cost(network, group, hardware, mapper)
    if isinstance(cost, Infeasible):
        assert cost.reason == "glb_overflow"
        assert cost.needed > cost.available == hardware.levels[1].capacity_bytes
        return
    words = buffer_words(cores.one)
    slow = core_account(network, group, hardware, cores.one, cores.count, mapper, words)
    assert (cost.dram_reads, cost.dram_writes) == (slow.reads, slow.writes)
    assert (cost.peak_words, cost.prefetch) == (slow.peak, slow.prefetch)
    assert sum(share.operations for share in cost.layers) == slow.operations
    assert cost.latency_cycles == slow.latency
    # whole transfers are rounded to 2**-8 pJ, at most two an external map and layer
    assert cost.dynamic_pj == pytest.approx(slow.energy_pj, abs=0.1)


def test_those_groups_are_of_every_kind():
    cases = [case(seed, "any") for seed in range(150)]
    costs = [group_cost(*one) for one in cases]
    priced = [c for c in costs if isinstance(c, GroupCost)]
    assert len(costs) - len(priced) >= 10
    assert sum(c.prefetch for c in priced) >= 50
    assert sum(not c.prefetch for c in priced) >= 10
    assert sum(c.cores == 1 for c in priced) >= 5
    assert sum(c.cores > 3 and c.tiles > c.cores for c in priced) >= 10
