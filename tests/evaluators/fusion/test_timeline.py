"""What the buffer holds over time, against a simulation of coordinates, however it is folded."""

from dataclasses import replace
from itertools import pairwise

import pytest

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.kept import kept_words
from archloom.evaluators.fusion.buffer.words import buffer_words, streams
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.fusion.timeline import TimelineSegment, buffer_timeline
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer
from archloom.space.networks.registry import network
from archloom.space.workload.dims import TENSORS

from ...cases.designs import edge, tpu_like
from ...cases.pinned_plans import pinned_plan
from ...cases.sweeps import sweep
from ...oracles.group_account import resident_words, run_of
from ...oracles.plan_simulator import placed_shape, run_plan, with_tile
from ...oracles.tile_simulator import in_flight
from .buffer.test_demand import passed_through
from .test_pins import priced

KINDS = ("any", "operators", "wild")
CASES = sweep([(seed, kind) for seed in range(25) for kind in KINDS], 36)


def planned_words(segment: TimelineSegment) -> int:
    """Words at the fullest moment but for what streams, which takes only what is left."""
    return sum(held.words for held in segment.held if held.kind != "streamed")


def searched(net, plan, hardware, evaluations=20):
    mapper = Mapper(LocalMapping(), evaluations, seed=1)
    return network_cost(
        net, plan, hardware, lambda g, residents: group_cost(net, g, hardware, mapper, residents)
    )


def simulated(net, group, price, step):
    """Words at each step of each tile of each image, by a simulation of coordinates."""
    shape = placed_shape(net, group, step)
    layers = tuple(net.layers[i] for i in group.layers)
    run = run_of(with_tile(group, shape), shape, layers)
    flying = in_flight(run, layers[0].n) if price.prefetch else [0] * len(run.steps)
    always = sum(resident_words(net, group).values()) + step.others
    of_image = [w + f + always for words, f in zip(run.steps, flying, strict=True) for w in words]
    return of_image * layers[0].n


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_every_step_of_every_tile_holds_what_a_simulation_counts(seed, kind):
    net, plan = pinned_plan(seed, kind)
    cost = priced(net, plan)
    if not isinstance(cost, NetworkCost):
        return
    found = buffer_timeline(cost, 10**9)
    for g, (group, step) in enumerate(zip(plan.groups, run_plan(net, plan), strict=True)):
        mine = [segment for segment in found if segment.group == g]
        if streams(group):
            assert [planned_words(segment) for segment in mine] == [step.others]
            continue
        assert {segment.steps for segment in mine} == {1}
        expected = simulated(net, group, cost.groups[g], step)
        assert [planned_words(segment) for segment in mine] == expected
        assert [segment.least_words for segment in mine] == expected


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_folding_keeps_peaks_times_and_steps(seed, kind):
    net, plan = pinned_plan(seed, kind)
    cost = priced(net, plan)
    if not isinstance(cost, NetworkCost):
        return
    exact = buffer_timeline(cost, 10**9)
    for most in (1, 7, 60, 10**9):
        found = buffer_timeline(cost, most)
        assert len(found) <= most + 2 * len(net.layers) or most > 60
        assert found[0].start_cycle == 0
        assert found[-1].end_cycle == cost.latency_cycles
        assert all(a.end_cycle == b.start_cycle for a, b in pairwise(found))
        assert all(s.start_cycle <= s.end_cycle for s in found)
        end = 0
        for g, group in enumerate(cost.groups):
            mine = [segment for segment in found if segment.group == g]
            whole = [segment for segment in exact if segment.group == g]
            end += group.latency_cycles
            assert mine[-1].end_cycle == end
            assert max(planned_words(s) for s in mine) == group.peak_words
            assert min(s.least_words for s in mine) == min(s.least_words for s in whole)
            assert sum(s.steps for s in mine) == len(whole)


@pytest.mark.parametrize("name", ["tiny_cnn", "squeezenet_1_1"])
def test_nothing_is_above_the_capacity_and_names_are_those_of_the_network(name):
    net, hardware = network(name), passed_through(edge(glb_bytes=160 << 10))
    layers = len(net.layers)
    plan = FusionPlan(
        (
            FusionGroup((0, 1), (3, 10), "keep_all", (0,)),
            FusionGroup((2, 3), (5, 5), "recompute"),
            *(FusionGroup((i,)) for i in range(4, layers)),
        )
    )
    cost = searched(net, plan, hardware)
    assert isinstance(cost, NetworkCost)
    found = buffer_timeline(cost)
    assert all(0 < segment.words <= buffer_words(hardware) for segment in found if segment.held)
    names = {held.name for segment in found for held in segment.held if held.kind != "in flight"}
    known = {layer.name for layer in net.layers} | {s for reads in net.reads for s in reads}
    known |= {f"weights of {layer.name}" for layer in net.layers}
    assert names <= known | {f"inputs of {layer.name}" for layer in net.layers}
    first = [segment for segment in found if segment.group == 0]
    assert {held.kind for s in first for held in s.held} >= {"map", "weights", "in flight"}
    assert "streamed" in {held.kind for s in found for held in s.held}
    resident = f"weights of {net.layers[0].name}"
    assert all(resident in [held.name for held in segment.held] for segment in first)


@pytest.mark.parametrize("hardware", [passed_through(edge()), tpu_like()], ids=["edge", "tpu"])
def test_a_layer_by_itself_keeps_what_its_mapping_is_checked_for(hardware):
    """One byte less than what is kept, and the mapping no longer fits."""
    net, level = network("tiny_cnn"), len(hardware.levels) - 2
    cost = searched(net, layer_by_layer(net), hardware, 200)
    assert isinstance(cost, NetworkCost)
    tested = 0
    for i, group in enumerate(cost.groups):
        mapping = group.layers[0].evaluations[0][1].mapping
        if mapping is None:
            continue
        layer = net.layers[i]
        words = sum(kept_words(mapping, layer, t, hardware) for t in range(len(TENSORS)))
        buffer = hardware.levels[level]
        problem = MappingProblem.of_layer(layer, hardware)
        held = words * hardware.word_bits / 8
        for size, fits in ((held, True), (held - 1, False)):
            if size <= 0:
                continue
            levels = list(hardware.levels)
            levels[level] = replace(buffer, capacity_bytes=size)
            tight = replace(problem, hardware=replace(hardware, levels=tuple(levels)))
            if fits:
                mapped_cost(tight, mapping)
            else:
                with pytest.raises(ValueError, match="does not fit"):
                    mapped_cost(tight, mapping)
            tested += 1
    assert tested >= 6


def test_images_are_told_apart_until_there_are_too_many():
    net = network("tiny_cnn").with_batch(9)
    hardware = edge(glb_bytes=160 << 10)
    singles = tuple(FusionGroup((i,)) for i in range(2, len(net.layers)))
    plan = FusionPlan((FusionGroup((0, 1), (3, 10), "keep_all"), *singles))
    cost = searched(net, plan, hardware)
    assert isinstance(cost, NetworkCost)
    whole, few = ([s for s in buffer_timeline(cost, n) if s.group == 0] for n in (10**6, 1))
    tiles = cost.groups[0].tiles
    assert len(whole) == 9 * tiles * 2
    assert len(few) == 2
    assert sum(s.steps for s in few) == len(whole)
    assert few[-1].end_cycle == whole[-1].end_cycle
