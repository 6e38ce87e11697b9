"""FAST's planner with sub-batches, against every choice of what stays and of how many there are."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from archloom.evaluators.fusion import NetworkCost
from archloom.search.fusion.fast.ilp import IntegerProgram
from archloom.search.fusion.fast.model import Saving, linear_cost
from archloom.search.fusion.fast.planner import (
    FastPlanner,
    LiveFastPlanner,
    PinningPlan,
    live_plan,
    printed_plan,
)
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.planners import fusion_search
from archloom.space.fusion.folding import fold
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, plan_violations
from archloom.space.networks.registry import network

from ....cases.designs import edge
from ....cases.pinning_problems import best_of_all, small_problem
from ....cases.small_designs import casco_edge, chain, cheap_evaluator
from ....contracts.fusion_search import FusionSearchContract


class TestSubBatches(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return FastPlanner(price, sub_batches="auto")


def in_parts(seed: int, form: str):
    """A small problem of several sub-batches; every other one loads its weights."""
    rng = np.random.default_rng([4, seed])
    problem = small_problem(400 + seed, form, "branching")
    loads = form == "live" and seed % 2 == 0
    layers = tuple(
        replace(
            layer,
            weight_load=Saving(*map(float, rng.integers(0, 30, 2)), int(rng.integers(30)))
            if layer.weight_words
            else Saving(),
        )
        for layer in problem.layers
    )
    return replace(problem, layers=layers, sub_batches=int(rng.integers(2, 6)), loads_weights=loads)


@pytest.mark.parametrize("form", ["live", "printed"])
def test_the_program_finds_the_best_of_all_choices(form):
    kept = 0
    for seed in range(30):
        problem = in_parts(seed, form)
        energy, latency = ((0.0, 1.0), (1.0, 0.0), (0.3, 0.7))[seed % 3]
        solved = IntegerProgram(problem, form, True).solve(energy, latency)
        value = energy * solved.cost.energy_pj + latency * solved.cost.cycles
        assert value == pytest.approx(best_of_all(problem, form, True, energy, latency), rel=1e-7)
        kept += len(solved.pinned.steady)
    assert kept > 20


def test_the_linear_cost_of_parts_is_that_of_one_and_of_what_is_loaded():
    problem = in_parts(0, "live")
    solved = IntegerProgram(problem, "live", True).solve(1.0, 1.0)
    one = linear_cost(replace(problem, sub_batches=1, loads_weights=False), solved.pinned, "live")
    whole = linear_cost(problem, solved.pinned, "live")
    loads = [problem.layers[i].weight_load for i in solved.pinned.steady]
    assert whole.dram_words == problem.sub_batches * one.dram_words + sum(
        load.dram_words for load in loads
    )


def every_plan(layers: int, batch: int):
    """Every plan of a chain in groups of one layer: what stays, whose weights, how many parts."""
    flags = (False, True)
    for parts in (d for d in range(1, batch + 1) if batch % d == 0):
        for pins in product(flags, repeat=layers - 1):
            for once in product(flags, repeat=layers):
                yield FusionPlan(
                    tuple(
                        FusionGroup(
                            (i,),
                            pins=(Pin(i, i + 1),) if i < layers - 1 and pins[i] else (),
                            sub_batches=parts,
                            loaded_once=(i,) if once[i] else (),
                        )
                        for i in range(layers)
                    )
                )


@pytest.mark.parametrize("kib", [2, 3, 5, 8])
def test_auto_finds_the_best_of_all_placements_and_parts(kib):
    """Maps of 2 KiB an image in buffers of which halves serve two transfers at once."""
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 3000, seed=1)
    evaluator = MemoizedPlanEvaluator(chain(3).with_batch(4), edge(kib << 10), mapper)
    search = FastPlanner(evaluator, sub_batches="auto")
    cost = evaluator.plan(search.advance(search.start(0), 9).best)
    assert isinstance(cost, NetworkCost)
    print(kib, cost.plan.sub_batches)
    costs = [evaluator.plan(plan) for plan in every_plan(3, 4)]
    best = min(one.edp_js for one in costs if isinstance(one, NetworkCost))
    assert cost.edp_js == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("folds", [False, True])
def test_auto_is_never_worse_than_any_number(folds):
    net = network("tiny_mobile").with_batch(4)
    for kib in (32, 128):
        evaluator = cheap_evaluator(fold(net) if folds else net, casco_edge(kib))
        for form in ("live", "printed"):
            edp = {}
            for parts in (1, 2, 4, "auto"):
                search = FastPlanner(evaluator, form, sub_batches=parts)
                state = search.advance(search.start(0), 9)
                assert plan_violations(evaluator.network, state.best) == []
                edp[parts] = state.history[-1]
            assert edp["auto"] == min(edp.values()), (kib, form)


def test_one_part_is_the_plan_of_the_whole_batch():
    evaluator = cheap_evaluator(network("tiny_cnn").with_batch(4), casco_edge(64))
    assert live_plan(evaluator, False, 1) == live_plan(evaluator)
    assert printed_plan(evaluator, 1) == printed_plan(evaluator)
    plans = []
    for search in (LiveFastPlanner(evaluator), LiveFastPlanner(evaluator, sub_batches=1)):
        state = search.advance(search.start(0), 9)
        plans.append((state.best.to_list(), state.notes))
    assert plans[0] == plans[1]


def test_a_number_that_does_not_divide_the_batch_is_said():
    evaluator = cheap_evaluator(network("tiny_cnn").with_batch(4), casco_edge(64))
    search = fusion_search("fast", evaluator, options={"sub_batches": 3})
    state = search.advance(search.start(0), 9)
    assert state.best.sub_batches == 1
    assert "uneven_sub_batches" in state.notes[0]
    with pytest.raises(ValueError, match="must be at least 1"):
        FastPlanner(evaluator, sub_batches=0)


def test_notes_say_how_many_parts_there_are():
    evaluator = cheap_evaluator(network("tiny_cnn").with_batch(4), casco_edge(64))
    found = live_plan(evaluator, False, 2)
    assert isinstance(found, PinningPlan)
    assert found.notes(evaluator.network)[0].endswith("in 2 sub-batches of 2 images")
    assert any(group.loaded_once for group in found.plan.groups)
