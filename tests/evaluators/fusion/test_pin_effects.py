"""What one pin or one steady weight changes in the price of a plan (fusion model, invariant 18)."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import demand
from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.words import streams
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin
from archloom.space.workload.dims import WEIGHTS
from archloom.space.workload.network import Network

from ...cases.mappers import BufferMapper
from ...cases.pinned_plans import pinned_plan
from ...cases.sweeps import sweep
from ...oracles.group_account import run_of
from ...oracles.plan_simulator import outside, with_tile
from .test_pins import ROOMY, priced

PLANS = 60


def unpinned(plan):
    return FusionPlan(tuple(replace(group, pins=(), steady=()) for group in plan.groups))


@dataclass
class Case:
    """A plan without pins, the same with one, and the groups from which to which it holds."""

    network: Network
    plain: FusionPlan
    pinned: FusionPlan
    layer: int
    first: int
    last: int

    @property
    def name(self):
        return self.network.layers[self.layer].name


def one_pin(seed):
    rng = np.random.default_rng(seed + 10**6)
    network, plan = pinned_plan(seed)
    plan = unpinned(plan)
    home = {i: g for g, group in enumerate(plan.groups) for i in group.layers}
    edges = [Pin(i, c) for i in home for c in network.consumers[i] if home[c] > home[i]]
    if not edges:
        return None
    pin = edges[rng.integers(len(edges))]
    groups = list(plan.groups)
    groups[home[pin.layer]] = replace(groups[home[pin.layer]], pins=(pin,))
    pinned = FusionPlan(tuple(groups))
    return Case(network, plan, pinned, pin.layer, home[pin.layer], home[pin.reader])


CASES = [case for case in map(one_pin, range(PLANS)) if case is not None]


def fetched(case, group: FusionGroup):
    """Words of the pinned map that a group fetches while there is no pin."""
    shape = group_shape(case.network, group.layers)
    layers = tuple(case.network.layers[i] for i in group.layers)
    made = run_of(with_tile(group, shape), shape, layers).made
    sources = zip(shape.externals, outside(case.network, group), strict=True)
    return case.network.batch * sum(made[u] for u, (name, _) in sources if name == case.name)


@pytest.mark.parametrize("case", CASES)
def test_a_pin_saves_its_write_and_the_fetches_of_its_readers(case):
    before, after = priced(case.network, case.plain), priced(case.network, case.pinned)
    words, readers = case.network.layers[case.layer].output_words, case.network.consumers
    rest = (i for group in case.plain.groups[case.last + 1 :] for i in group.layers)
    stays = case.name in case.network.leaving or set(rest) & set(readers[case.layer])
    assert before.dram_writes - after.dram_writes == (0 if stays else words)
    for g, (one, other) in enumerate(zip(before.groups, after.groups, strict=True)):
        reads = fetched(case, one.group) if case.first < g <= case.last else 0
        assert one.dram_reads - other.dram_reads == reads
        assert other.dynamic_pj <= one.dynamic_pj
        assert other.latency_cycles <= one.latency_cycles


@pytest.mark.parametrize("case", CASES)
def test_a_pin_takes_its_words_in_every_group_of_its_interval(case):
    before, after = priced(case.network, case.plain), priced(case.network, case.pinned)
    words = case.network.layers[case.layer].output_words
    for g, (one, other) in enumerate(zip(before.groups, after.groups, strict=True)):
        inside = case.first <= g <= case.last
        held = inside and (g == case.first or fetched(case, one.group) > 0)
        more = other.peak_words - one.peak_words
        # groups that make or read the map held a part of it before
        assert more <= words if held else more == words * inside


@pytest.mark.parametrize("seed", sweep(range(PLANS), 25))
def test_steady_weights_leave_dram_and_take_their_words_in_every_group(seed):
    network, plan = pinned_plan(seed)
    rng = np.random.default_rng(seed)
    steady = {i for i, la in enumerate(network.layers) if la.weight_words and rng.random() < 0.5}
    plain = unpinned(plan)
    groups = tuple(
        replace(
            group,
            steady=tuple(i for i in group.layers if i in steady),
            resident=tuple(i for i in group.resident if i not in steady),
        )
        for group in plain.groups
    )
    before, after = priced(network, plain), priced(network, FusionPlan(groups))
    words = sum(network.layers[i].weight_words for i in steady)
    for one, other in zip(before.groups, after.groups, strict=True):
        for share, less in zip(one.layers, other.layers, strict=True):
            left = 0 if share.layer in steady else share.words[-1, WEIGHTS]
            assert less.words[-1, WEIGHTS] == left
        loads = () if streams(one.group) else set(one.group.resident) & steady
        loaded = sum(network.layers[i].weight_words for i in loads)
        assert other.peak_words == one.peak_words - loaded + words
        assert other.dynamic_pj <= one.dynamic_pj
        assert other.latency_cycles <= one.latency_cycles
    assert after.dram_writes == before.dram_writes


@pytest.mark.parametrize("seed", sweep(range(PLANS), 25))
def test_no_plan_moves_less_than_all_in_one_tile(seed):
    """Invariant 17, where windows leave no holes and weights are not there before."""
    network, plan = pinned_plan(seed, "dense")
    plan = FusionPlan(tuple(replace(group, steady=()) for group in plan.groups))
    cost, least = priced(network, plan), demand(network).dram_words
    assert cost.dram_reads + cost.dram_writes >= least
    weighty = tuple(i for i, layer in enumerate(network.layers) if layer.weight_words)
    whole = FusionGroup(tuple(range(len(network.layers))), resident=weighty)
    one = group_cost(network, whole, ROOMY, BufferMapper())
    # several readers of a map may need parts of it that lie apart
    sources = [name for names in network.reads for name in set(names)]
    apart = len(set(sources)) < len(sources)
    assert one.dram_reads + one.dram_writes == least or apart


def test_those_cases_are_of_every_kind():
    spans = [case.last - case.first for case in CASES]
    assert spans.count(1) >= 10
    assert sum(span > 1 for span in spans) >= 10
    groups = [case.plain.groups[g] for case in CASES for g in (case.first, case.last)]
    assert sum(map(streams, groups)) >= 10
    assert sum(not streams(group) for group in groups) >= 10
