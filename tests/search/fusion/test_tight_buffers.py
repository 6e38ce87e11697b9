"""Plans with pins in buffers that are too small for many of them: prices or reasons, no errors."""

from collections import Counter
from dataclasses import replace

import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan
from archloom.space.fusion.residency import Residents, plan_residents
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.network import Network

from ...cases.designs import edge
from ...cases.pinned_plans import pinned_plan
from ...cases.sweeps import sweep

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
        network,
        plan,
        hardware,
        lambda g, residents: group_cost(network, g, hardware, fresh, residents),
    )


@pytest.mark.parametrize("seed", sweep(SEEDS, 48))
def test_memos_change_no_price_and_no_reason(seed: int) -> None:
    same(*case(seed))


@pytest.mark.parametrize("name", ["tpu_v3", "eyeriss", "simba"])
@pytest.mark.parametrize("seed", range(12))
def test_memos_change_nothing_where_buffers_keep_not_all_or_nothing(name: str, seed: int) -> None:
    network, plan, _ = case(seed)
    same(network, plan, preset(name))


def same(network: Network, plan: FusionPlan, hardware: Hardware) -> None:
    found = MemoizedPlanEvaluator(network, hardware, mapper()).plan(plan)
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
) -> tuple[Network, FusionGroup, Residents, Infeasible] | None:
    """The first group of a plan that does not fit, with its residents and the reason."""
    network, plan, hardware = case(seed)
    for group, residents in zip(plan.groups, plan_residents(network, plan), strict=True):
        why = group_cost(network, group, hardware, mapper(), residents)
        if isinstance(why, Infeasible):
            return network, group, residents, why
    return None


@pytest.mark.parametrize("seed", sweep(SEEDS, 48))
def test_the_bytes_that_are_missing_are_just_enough(seed: int) -> None:
    refused = first_refused(seed)
    if refused is None or refused[3].unit != "bytes":
        return
    network, group, residents, why = refused

    def fits(glb_bytes: int) -> bool:
        hardware = design(glb_bytes, seed)
        return isinstance(group_cost(network, group, hardware, mapper(), residents), GroupCost)

    needed = int(why.needed) + (residents.words if why.reason == "glb_overflow" else 0)
    assert fits(needed)
    assert not fits(needed - 1)


def test_some_of_those_plans_fit_and_others_break_each_rule() -> None:
    reasons = Counter(
        "fits" if (refused := first_refused(seed)) is None else refused[3].reason for seed in SEEDS
    )
    assert reasons["fits"] >= 60
    assert reasons["pinned_overflow"] >= 5
    assert reasons["glb_overflow"] >= 5
