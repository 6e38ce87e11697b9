"""Small networks: no plan is better than one that is proven, and bounds of steps hold."""

import numpy as np
import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import JointPlanner
from archloom.search.fusion.joint.proofs import PROVEN, small_networks
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES

from .....cases.small_designs import chain, cheap_evaluator, three_levels
from .....cases.small_nests import longer_case
from .....cases.sweeps import sweep
from .....oracles.enumerated_steps import least_product


def evaluator(seed: int) -> MemoizedPlanEvaluator:
    case = longer_case(np.random.default_rng(seed))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 4000, seed=1)
    return MemoizedPlanEvaluator(case.network, case.hardware, mapper)


# all 300 with benchmarks/agreement/plan_by_enumeration.py
@pytest.mark.parametrize("seed", sweep([8, 12, 1, *range(13, 40)], sample=1))
def test_no_plan_is_better_than_one_that_is_proven(seed: int) -> None:
    price = evaluator(seed)
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 10**6)
    cost = price.plan(state.best)
    assert isinstance(cost, NetworkCost)
    leakage_pj = access_costs(price.hardware).leakage_pj_per_cycle * cost.latency_cycles
    product = (sum(x.dynamic_pj for x in cost.groups) + leakage_pj) * cost.latency_cycles
    if state.notes:
        assert state.notes == (PROVEN,)
        # the leakage of a plan is rounded
        assert least_product(price, product) >= product * (1 - 1e-6)


@pytest.mark.parametrize("seed", [97, 107])
def test_batches_are_proven_as_wholes(seed: int) -> None:
    """The EDP of a plan is that of one of its images."""
    price = evaluator(seed)
    assert price.network.batch == 2
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 10**6)
    assert state.notes == (PROVEN,)
    cost = price.plan(state.best)
    assert isinstance(cost, NetworkCost)
    leakage_pj = access_costs(price.hardware).leakage_pj_per_cycle * cost.latency_cycles
    product = (sum(x.dynamic_pj for x in cost.groups) + leakage_pj) * cost.latency_cycles
    assert least_product(price, product) >= product * (1 - 1e-6)


def test_nests_are_mapped_where_their_bounds_do_not_tell_them_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without, 512 steps are priced and more are left."""
    ends = []
    for first in (32, 512):
        monkeypatch.setattr(small_networks, "_FIRST_PRICED", first)
        planner = JointPlanner(evaluator(6))
        ends.append(planner.advance(planner.start(0), 10**6))
    assert [state.notes for state in ends] == [(PROVEN,), ()]
    assert ends[0].history[-1] <= ends[1].history[-1]


def test_nothing_is_said_where_bounds_would_not_hold() -> None:
    """What passes a buffer by takes less than what goes through it."""
    net, spads = chain(2, size=8, channels=4), (16, 16, 16)
    notes = []
    for optional in (False, True):
        planner = JointPlanner(cheap_evaluator(net, three_levels(256, spads, optional)))
        notes.append(planner.advance(planner.start(0), 10**6).notes)
    assert notes == [(PROVEN,), ()]


def test_large_networks_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_networks, "_MOST_LAYERS", 2)
    hardware = three_levels(256, (16, 16, 16))
    for layers, said in ((2, (PROVEN,)), (3, ())):
        planner = JointPlanner(cheap_evaluator(chain(layers, size=8, channels=4), hardware))
        assert planner.advance(planner.start(0), 10**6).notes == said


def test_what_is_not_all_priced_is_not_called_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plan is none the worse than before."""
    ends = []
    for most in (512, 1):
        monkeypatch.setattr(small_networks, "_MOST_PRICED", most)
        planner = JointPlanner(evaluator(12))
        ends.append(planner.advance(planner.start(0), 10**6))
    assert [state.notes for state in ends] == [(PROVEN,), ()]
    assert ends[0].history[-1] <= ends[1].history[-1]
