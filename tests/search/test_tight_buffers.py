"""Plans with pins in buffers that are too small for many of them: prices or reasons, no errors."""

from collections import Counter
from dataclasses import replace

import pytest

from archloom.evaluators.group_cost import GroupCost, buffer_words, group_cost
from archloom.evaluators.network_cost import NetworkCost, network_cost
from archloom.search.mapper import Mapper
from archloom.search.mapping_search import RandomMapping
from archloom.search.pricing import PlanPricer
from archloom.space.cores import Cores, fusion_cores
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Hardware
from archloom.space.infeasible import Infeasible
from archloom.space.network import Network
from archloom.space.presets import preset
from archloom.space.surroundings import Surroundings, surroundings

from ..evaluators.designs import edge
from ..evaluators.pinned_plans import pinned_plan

KINDS = ("any", "operators", "wild", "dense")
SIZES = (150, 250, 350, 500, 700, 1000)
SEEDS = range(160)


def design(glb_bytes: int, seed: int) -> Hardware:
    """A buffer for so many bytes, some of them with two copies of all, some to be bypassed."""
    copies = 1 + (seed % 5 == 0)
    pe, glb, dram = edge(glb_bytes * copies).levels
    glb = replace(glb, optional=seed % 3 > 0, multiple_buffering=copies)
    return replace(edge(), levels=(pe, glb, dram))


def case(seed: int) -> tuple[Network, FusionPlan, Hardware]:
    network, plan = pinned_plan(seed, KINDS[seed % 4])
    return network, plan, design(SIZES[seed // 4 % 6], seed)


def mapper() -> Mapper:
    return Mapper(RandomMapping(), 4, 1)


def priced_one_by_one(
    network: Network, plan: FusionPlan, hardware: Hardware
) -> NetworkCost | Infeasible:
    fresh = mapper()
    return network_cost(
        network, plan, hardware, lambda g, around: group_cost(network, g, hardware, fresh, around)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_memos_change_no_price_and_no_reason(seed: int) -> None:
    same(*case(seed))


@pytest.mark.parametrize("name", ["tpu_v3", "eyeriss", "simba"])
@pytest.mark.parametrize("seed", range(12))
def test_memos_change_nothing_where_buffers_keep_not_all_or_nothing(name: str, seed: int) -> None:
    network, plan, _ = case(seed)
    same(network, plan, preset(name))


def same(network: Network, plan: FusionPlan, hardware: Hardware) -> None:
    found = PlanPricer(network, hardware, mapper()).plan(plan)
    slow = priced_one_by_one(network, plan, hardware)
    if isinstance(slow, Infeasible):
        assert found == slow
        return
    assert isinstance(found, NetworkCost)
    assert (found.energy_pj, found.latency_cycles) == (slow.energy_pj, slow.latency_cycles)
    assert found.dram_bytes == slow.dram_bytes
    cores = fusion_cores(hardware)
    room = buffer_words(cores.one) if isinstance(cores, Cores) else 0
    assert max(group.peak_words for group in found.groups) <= room


def first_refused(
    seed: int,
) -> tuple[Network, FusionGroup, Surroundings, Infeasible] | None:
    """The first group of a plan that does not fit, with its surroundings and the reason."""
    network, plan, hardware = case(seed)
    for group, around in zip(plan.groups, surroundings(network, plan), strict=True):
        why = group_cost(network, group, hardware, mapper(), around)
        if isinstance(why, Infeasible):
            return network, group, around, why
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bytes_that_are_missing_are_just_enough(seed: int) -> None:
    refused = first_refused(seed)
    if refused is None or refused[3].unit != "bytes":
        return
    network, group, around, why = refused

    def fits(glb_bytes: int) -> bool:
        hardware = design(glb_bytes, seed)
        return isinstance(group_cost(network, group, hardware, mapper(), around), GroupCost)

    needed = int(why.needed) + (around.words if why.reason == "glb_overflow" else 0)
    assert fits(needed)
    assert not fits(needed - 1)


def test_some_of_those_plans_fit_and_others_break_each_rule() -> None:
    reasons = Counter(
        "fits" if (refused := first_refused(seed)) is None else refused[3].reason for seed in SEEDS
    )
    assert reasons["fits"] >= 60
    assert reasons["pinned_overflow"] >= 5
    assert reasons["glb_overflow"] >= 5
