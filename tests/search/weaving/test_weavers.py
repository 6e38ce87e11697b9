"""All registered weavers: the contract, and what each is for."""

import numpy as np
import pytest

from archloom.evaluators.weaving import Ticks, makespan, simulated
from archloom.search.registry import WEAVERS
from archloom.search.weaving.applied import ByStrings, ByThresholds, WithinMaps
from archloom.search.weaving.offline import Beam, Exact
from archloom.search.weaving.online import AiMt, Strings
from archloom.search.weaving.plan import counts_in_proportion, planned
from archloom.search.weaving.result import stream_limits

from ...cases.woven import random_ticks, ticks_of
from ...cases.woven_pairs import COMPUTE, MEMORY, pair
from ...contracts.weaver import WeaverContract


class TestAiMt(WeaverContract):
    name = "ai_mt"


class TestBeam(WeaverContract):
    name = "beam"


class TestComputeOnly(WeaverContract):
    name = "compute_only"


class TestExact(WeaverContract):
    name = "exact"


class TestFair(WeaverContract):
    name = "fair"


class TestLayerweaver(WeaverContract):
    name = "layerweaver"


class TestMemoryOnly(WeaverContract):
    name = "memory_only"


class TestStrings(WeaverContract):
    name = "strings"


def test_every_weaver_keeps_the_contract() -> None:
    kept = {test.name for test in WeaverContract.__subclasses__()}
    assert kept == set(WEAVERS.built_in)


@pytest.mark.parametrize("npu", ["memory_centric", "compute_centric"])
def test_gains_at_sequence_length_16(npu: str) -> None:
    """STP over one network at a time, mean of 16 pairs (docs/explanation/weaving.md, "Streams")."""
    # of our own model; the paper has 60.1 and 53.9
    greedy = {"memory_centric": 59.8, "compute_centric": 54.2}[npu]
    works = [pair((one, other), npu) for one in COMPUTE for other in MEMORY]
    streams = [WEAVERS["layerweaver"]().stream(work) for work in works]
    assert 100 * np.mean([s.metrics.stp - 1 for s in streams]) == pytest.approx(greedy, abs=1)
    streams = [WEAVERS["strings"]().stream(work) for work in works]
    assert min(s.share for s in streams) >= 0.999
    assert {s.rule for s in streams} == {"strings, target 0.5"}


@pytest.mark.parametrize("npu", ["memory_centric", "compute_centric"])
@pytest.mark.parametrize("buffer_mib", [48, 16, 4])
def test_one_query_each_of_real_pairs_is_proven(npu: str, buffer_mib: int) -> None:
    for other in MEMORY:
        woven = Exact().weave(pair(("mobilenetv2", other), npu, buffer_mib=buffer_mib))
        assert woven.proven
        assert woven.effort < 5_000_000


def test_one_network_at_a_time_gains_nothing() -> None:
    work = pair(("resnet50", "bert_base"), "memory_centric")
    for name, served in (("fair", [0, 1]), ("compute_only", [0]), ("memory_only", [1])):
        stream = WEAVERS[name]().stream(work)
        assert stream.metrics.stp == pytest.approx(1, abs=0.01)
        assert np.flatnonzero(stream.metrics.completed).tolist() == served
    # if no network is on a side, the nearest one is served
    work = ticks_of([[(9, 8)], [(9, 2)]], buffer=30)
    stream = WEAVERS["compute_only"]().stream(work)
    assert np.flatnonzero(stream.metrics.completed).tolist() == [0]


def test_strings_look_through_a_layer_that_fetches_much() -> None:
    """The greedy step to the least fetch would start (2, 1); the string behind 9 is worth it."""
    work = ticks_of([[(9, 1), (1, 99)], [(2, 1)] * 6], buffer=20)
    _, order = ByStrings(0.5)(work, 0)
    assert order.chain.tolist()[:2] == [0, 0]


def test_a_rule_that_falls_short_is_replaced_and_named() -> None:
    work = pair(("vgg16", "bert_base"), "memory_centric", buffer_mib=16)
    plain, best = Strings(fallback=False).stream(work), Strings().stream(work)
    assert plain.rule == "strings, target 0.5"
    assert plain.share < 0.99
    assert best.rule != plain.rule
    assert best.metrics.stp > plain.metrics.stp


def test_settings_are_swept_or_given() -> None:
    work = random_ticks(np.random.default_rng(0), [12, 12], largest=30)
    given = AiMt(free=0.1, lead=0.3).weave(work)
    assert given.rule == "ai_mt, free 0.1, lead 0.3"
    assert AiMt().weave(work).upper_ticks <= given.upper_ticks
    assert Strings().weave(work).upper_ticks <= Strings(fallback=False).weave(work).upper_ticks
    assert Beam(width=64).weave(work).upper_ticks <= Strings().weave(work).upper_ticks


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Strings(target=1.5),
            "target must be a fraction of the buffer, from 0 to 1, got 1.5",
        ),
        (lambda: AiMt(free=2), "free must be a fraction of the buffer, at most 1, got 2"),
        (lambda: Beam(width=0), "width must be at least 1, got 0"),
        (lambda: Exact(effort=0), "effort must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_be_are_named(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()


def test_random_choices_depend_on_the_seed() -> None:
    work = ticks_of([[(5, 1)] * 20, [(4, 1)] * 20], buffer=40)
    orders = {tuple(ByThresholds(0, 0, seed)(work, 0)[1].chain.tolist()) for seed in range(5)}
    assert len(orders) > 1


def test_a_plan_serves_networks_in_the_proportion_of_the_bound() -> None:
    work = pair(("resnet50", "bert_base"), "memory_centric")
    limits = stream_limits(work)
    counts = counts_in_proportion(work, limits)
    rates = limits.bound.rates
    assert counts[0] / counts[1] == pytest.approx(rates[0] / rates[1], rel=0.05)
    stream = planned(work, limits, (4, 32), seed=0)
    assert stream.rule.startswith(f"plan of {counts[0]} + {counts[1]} queries, ")
    assert stream.share > 0.99
    period = int((counts * np.diff(work.first)).sum())
    chain = stream.order.chain
    assert np.array_equal(chain[:period], chain[period : 2 * period])
    # a network that the bound does not serve has no queries
    three = pair(("resnet50", "bert_base", "inception_v3"), "memory_centric")
    assert np.count_nonzero(counts_in_proportion(three, stream_limits(three))) == 2


def test_four_networks_are_woven() -> None:
    work = pair(("resnet50", "bert_base", "mobilenetv2", "ncf"), "memory_centric")
    woven = Strings().weave(work)
    assert makespan(work, woven.order) == woven.upper_ticks
    assert woven.gap < 0.05
    assert WEAVERS["exact"](effort=1000).weave(work).upper_ticks <= woven.upper_ticks


def maps_of_two_thirds() -> Ticks:
    """Two networks whose layers hold 40 bytes of maps, in a buffer of 60: no two can be open."""
    work = ticks_of([[(1, 30)] * 8, [(20, 1)] * 8], buffer=60)
    live = np.full(16, 40)
    live[work.first[1:] - 1] = 0
    footprint = np.full(16, 40)
    return work._replace(footprint=footprint, live=live, map_buffer=60, maps_bounded=True)


def test_where_maps_are_a_limit_orders_that_write_none_out_are_tried() -> None:
    work = maps_of_two_thirds()
    plain, best = Strings(fallback=False).stream(work), Strings().stream(work)
    assert plain.metrics.spilled_bytes > 0
    assert best.metrics.spilled_bytes == 0
    assert best.rule.startswith("strings within maps, target ")
    assert best.metrics.stp > 2 * plain.metrics.stp
    assert best.metrics.stp <= best.bound.value
    woven = Strings().weave(work)
    assert simulated(work, woven.order).spilled_bytes == 0
    assert woven.upper_ticks <= Exact().weave(work).upper_ticks * 1.05


def test_orders_within_maps_run_every_layer_and_write_nothing_out() -> None:
    rng = np.random.default_rng(8)
    for number in range(60):
        work = random_ticks(rng, rng.integers(1, 7, 1 + number % 3).tolist(), maps=number % 2 == 1)
        footprint = rng.integers(0, 12, int(work.first[-1]))
        live = np.minimum(footprint, rng.integers(0, 12, len(footprint)))
        live[work.first[1:] - 1] = 0
        room = int(footprint.max()) + int(rng.integers(0, 5))
        tight = work._replace(
            footprint=footprint, live=live, map_buffer=max(1, room), maps_bounded=True
        )
        _, order = WithinMaps(0.5, ())(tight, 0)
        assert np.bincount(order.chain).tolist() == np.diff(work.first).tolist()
        assert simulated(tight, order).spilled_bytes == 0


def test_networks_that_the_bound_leaves_out_are_left_out() -> None:
    work = pair(("resnet50", "inception_v3", "bert_base"), "memory_centric")
    plain, best = Strings(fallback=False).stream(work), Strings().stream(work)
    assert plain.share < 0.99
    assert best.rule == "strings, target 0.5, networks of the bound alone"
    assert best.share > 0.999
    assert np.count_nonzero(best.metrics.completed) == 2
