"""FAST's planner: from prices of layers to the program, from its answer to a plan and its price."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.fast.coefficients import pinning_problem
from archloom.search.fusion.fast.ilp import IntegerProgram
from archloom.search.fusion.fast.model import PinnedData, PinningProblem, linear_cost
from archloom.search.fusion.fast.planner import (
    FastPlanner,
    PinningPlan,
    fitted_plan,
    live_plan,
    plan_of,
    printed_plan,
)
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.planners import fusion_search
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import layer_by_layer, plan_violations
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.layer_builders import linear, matmul
from archloom.space.workload.network import Network
from archloom.space.workload.vector_layer_builders import softmax

from ....cases.designs import edge
from ....cases.pinning_problems import broken_alive, broken_in_print
from ....cases.small_designs import casco_edge, chain, cheap_evaluator, graph, two_levels
from ....contracts.fusion_search import FusionSearchContract


class TestInteger(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return FastPlanner(price)


class TestSteadyWeights(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return FastPlanner(price, steady_weights=True)


class TestIntegerPrinted(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return FastPlanner(price, "printed")


def random_graph(seed: int) -> Network:
    """Return up to ten layers, convolutions and adds, that read any of the last four maps."""
    rng = np.random.default_rng(seed)
    reads: list[tuple[int, ...]] = [(-1,)]
    for i in range(1, int(rng.integers(3, 11))):
        near = range(max(-1, i - 4), i)
        two = i > 1 and rng.random() < 0.4
        reads.append(tuple(map(int, rng.choice(near, 2 if two else 1, replace=False))))
    return graph(reads, size=int(rng.integers(4, 9)), channels=int(rng.integers(2, 9)))


def good_pricer(net: Network, hardware: Hardware) -> MemoizedPlanEvaluator:
    return MemoizedPlanEvaluator(net, hardware, Mapper(MAPPING_SEARCHES["auto"](), 3000, seed=1))


def problem_of(evaluator: MemoizedPlanEvaluator) -> PinningProblem:
    problem = pinning_problem(evaluator)
    assert isinstance(problem, PinningProblem)
    return problem


def priced(evaluator: MemoizedPlanEvaluator, pinned: PinnedData) -> NetworkCost:
    cost = evaluator.plan(plan_of(evaluator.network, evaluator.hardware, pinned))
    assert isinstance(cost, NetworkCost)
    return cost


@pytest.mark.parametrize("glb_bytes", [1 << 10, 2 << 10, 1 << 16])
def test_words_over_dram_are_those_of_the_program(glb_bytes: int) -> None:
    """Each streamed word moves once here, whatever stays: the linear count is exact."""
    kept = 0
    for seed in range(8):
        evaluator = good_pricer(random_graph(seed), edge(glb_bytes))
        for steady in (False, True):
            found = live_plan(evaluator, steady)
            assert isinstance(found, PinningPlan)
            assert found.dropped == ()
            cost = evaluator.plan(found.plan)
            assert isinstance(cost, NetworkCost)
            words = cost.dram_reads + cost.dram_writes
            assert words == found.own.dram_words == found.solved.cost.dram_words
            kept += len(found.solved.pinned.reads)
    assert kept > 60


def test_the_ends_of_the_linear_model_are_prices() -> None:
    evaluator = good_pricer(random_graph(3), casco_edge(1024, pe_x=4, pe_y=4))
    problem, net = problem_of(evaluator), evaluator.network
    streamed = priced(evaluator, PinnedData())
    linear = linear_cost(problem, PinnedData(), "live")
    assert linear.cycles == pytest.approx(streamed.latency_cycles)
    assert linear.energy_pj == pytest.approx(streamed.energy_pj, rel=1e-8)
    reads = frozenset((r.producer, i) for i, la in enumerate(problem.layers) for r in la.reads)
    everything = PinnedData(reads, frozenset(problem.owners))
    cost, linear = priced(evaluator, everything), linear_cost(problem, everything, "live")
    assert linear.energy_pj == pytest.approx(cost.energy_pj, rel=1e-8)
    assert sum(la.shortest_cycles for la in problem.layers) == pytest.approx(cost.latency_cycles)
    # what is left are the input, for each of its readers, and the results that leave
    inputs = sum(sources.count("input") for sources in net.reads) * net.layers[0].input_words
    results = sum(la.output_words for la in net.layers if la.name in net.leaving)
    assert cost.dram_reads + cost.dram_writes == linear.dram_words == inputs + results


def attention() -> Network:
    """Return softmax(Q K) V of two heads, all maps made by layers."""
    layers = (
        *(linear(name, 8, 16, positions=6) for name in "qkv"),
        matmul("scores", 2, 6, 8, 6),
        softmax("softmax", 6, positions=6, heads=2),
        matmul("mixed", 2, 6, 6, 8),
    )
    reads = (*[("input",)] * 3, ("q", "k"), ("scores",), ("softmax", "v"))
    return Network("attention", layers, reads)


SMALL = {"attention": attention(), "tiny_cnn": network("tiny_cnn"), "graph": random_graph(5)}


@pytest.mark.parametrize("name", SMALL)
def test_what_the_program_is_told_of_a_network(name: str) -> None:
    evaluator = cheap_evaluator(SMALL[name], casco_edge(64, pe_x=4, pe_y=4))
    problem = problem_of(evaluator)
    for i, layer in enumerate(problem.layers):
        assert 0 < layer.shortest_cycles <= layer.longest_cycles
        assert 0 <= layer.own_words <= problem.capacity_words
        assert {r.producer for r in layer.reads} == set(evaluator.network.producers[i])
        saved = [*(r.saving for r in layer.reads), layer.weights]
        saved += [layer.write] * (not layer.leaves)
        assert sum(s.dram_words for s in saved) <= layer.dram_words + len(saved)
        assert sum(s.cycles for s in saved) <= layer.longest_cycles * (1 + 1e-9)
        assert sum(s.energy_pj for s in saved) < layer.energy_pj


@pytest.mark.parametrize("name", ["tiny_cnn", "tiny_mobile", "mobilenetv2"])
def test_plans_of_networks_are_valid_and_pay(name: str) -> None:
    evaluator = cheap_evaluator(network(name), casco_edge(256))
    problem, alone = problem_of(evaluator), evaluator.plan(layer_by_layer(evaluator.network))
    assert isinstance(alone, NetworkCost)
    for found, broken in (
        (printed_plan(evaluator), broken_in_print),
        (live_plan(evaluator), broken_alive),
        (live_plan(evaluator, steady_weights=True), broken_alive),
    ):
        assert isinstance(found, PinningPlan)
        assert found.solved.gap_percent < 1e-4
        assert broken(problem, found.solved.pinned) == []
        assert plan_violations(evaluator.network, found.plan) == []
        cost = evaluator.plan(found.plan)
        assert isinstance(cost, NetworkCost)
        assert cost.dram_bytes < alone.dram_bytes
        assert cost.edp_js < alone.edp_js


def test_layers_that_find_no_room_get_it() -> None:
    """The program believes in a larger buffer; maps that save least go until all layers run."""
    for seed in range(6):
        evaluator = cheap_evaluator(random_graph(seed), edge(256))
        problem = replace(problem_of(evaluator), capacity_words=1 << 20)
        solved = IntegerProgram(problem, "live", steady_weights=True).solve(1.0, 0.0)
        assert isinstance(
            evaluator.plan(plan_of(evaluator.network, evaluator.hardware, solved.pinned)),
            Infeasible,
        )
        found = fitted_plan(evaluator, problem, solved, "live")
        assert isinstance(evaluator.plan(found.plan), NetworkCost)
        assert plan_violations(evaluator.network, found.plan) == []
        assert found.dropped
        assert found.own.energy_pj >= solved.cost.energy_pj
        notes = found.notes(evaluator.network)
        assert len(notes) == 1 + len(found.dropped)
        assert all("found no room" in note for note in notes[1:])


def test_without_a_shared_buffer_nothing_stays() -> None:
    evaluator = cheap_evaluator(chain(4), two_levels(64))
    assert isinstance(pinning_problem(evaluator), Infeasible)
    assert isinstance(live_plan(evaluator), Infeasible)
    assert isinstance(printed_plan(evaluator), Infeasible)
    search = FastPlanner(evaluator)
    state = search.advance(search.start(0), 9)
    assert state.best == layer_by_layer(evaluator.network)
    assert "no_shared_buffer" in state.notes[0]


def test_a_buffer_without_weights_keeps_maps_alone() -> None:
    evaluator = cheap_evaluator(attention(), preset("eyeriss"))
    problem = problem_of(evaluator)
    assert problem.owners == ()
    second = [
        (evaluator.network.producers[i][1], i)
        for i, layer in enumerate(evaluator.network.layers)
        if layer.multiplies_maps
    ]
    possible = {
        (r.producer, i): r.possible for i, la in enumerate(problem.layers) for r in la.reads
    }
    assert second
    assert not any(possible[pair] for pair in second)
    assert any(possible.values())


def test_it_has_its_names() -> None:
    evaluator = cheap_evaluator(network("tiny_cnn"), casco_edge(256))
    for name in ("fast", "fast_printed"):
        search = fusion_search(name, evaluator)
        state = search.advance(search.start(1), 5)
        assert state.evaluations == 2
        assert state.history[1] < state.history[0]
        assert state.notes[0].startswith("the integer program (gap 0.0000%) expects ")
