"""Bounds of steps and of all paths hold, and a plan is called proven only if nothing is better."""

from math import exp, log

import numpy as np
import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import JointPlanner, group_options
from archloom.search.fusion.joint.proofs import PROVEN
from archloom.search.fusion.joint.proofs.mapped_sizes import mapped_sizes
from archloom.search.fusion.joint.proofs.space_bound import listed_bounds, prove_space
from archloom.search.fusion.joint.proofs.step_bounds import least_of_kinds
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionState
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from .....cases.designs import several
from .....cases.small_designs import chain, cheap_evaluator, graph, three_levels
from .....cases.small_nests import longer_case
from .....oracles.enumerated_steps import least_product


def evaluator(net: Network, design: str, evaluations: int = 20_000) -> MemoizedPlanEvaluator:
    mapper = Mapper(MAPPING_SEARCHES["auto"](), evaluations, seed=1, factors="imperfect")
    return MemoizedPlanEvaluator(net, preset(design), mapper)


def nest_evaluator(seed: int, images: int) -> MemoizedPlanEvaluator:
    case = longer_case(np.random.default_rng(seed))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 4000, seed=1)
    return MemoizedPlanEvaluator(case.network.with_batch(images), case.hardware, mapper)


PRICES = {
    "chain": lambda: cheap_evaluator(chain(3, size=8, channels=4), three_levels(256, (16, 16, 16))),
    "branches": lambda: cheap_evaluator(
        graph([(-1,), (0,), (0, 1), (2,)]).with_batch(3), three_levels(4096, (16, 16, 16))
    ),
    "a buffer to bypass": lambda: cheap_evaluator(
        chain(3, size=8, channels=4), three_levels(256, (16, 16, 16), optional=True)
    ),
    "a buffer that is best bypassed": lambda: cheap_evaluator(
        chain(3, size=8, channels=4), three_levels(1 << 20, (1024,) * 3, optional=True), 3000
    ),
    "products": lambda: nest_evaluator(3, 1),
    "products of a batch": lambda: nest_evaluator(4, 4),
    "strides and pools": lambda: evaluator(network("tiny_cnn"), "eyeriss"),
    "cores": lambda: cheap_evaluator(chain(3, size=8, channels=4), several((2, 2), 1 << 11)),
    "a batch": lambda: evaluator(network("tiny_cnn").with_batch(8), "fast_small"),
}


@pytest.mark.parametrize("case", PRICES)
def test_steps_cost_no_less_than_their_bounds(case: str) -> None:
    """Nor are bounds so low that some twentieth more would go unnoticed."""
    price = PRICES[case]()
    options = group_options(price)
    least = least_of_kinds(price.network, price.hardware, options.whole, options.tiled)
    leakage_pj, nearest, few = access_costs(price.hardware).leakage_pj_per_cycle, np.inf, 0
    for kind in range(len(least)):
        found = listed_bounds(options, kind, least[kind], leakage_pj)
        assert found is not None
        pairs = list(zip(found[0].ways, found[1], strict=True))
        # of many ways every third
        for way, figures in pairs[:: 1 if len(pairs) < 30 else 3]:
            cost = price.group(way.group, way.residents)
            if not isinstance(cost, Infeasible):
                cycles = cost.latency_cycles
                ratios = np.array([cost.dynamic_pj + leakage_pj * cycles, cycles]) / figures
                assert (ratios >= 1 - 1e-9).all()
                nearest, few = min(nearest, ratios.min()), few + 1
    assert few > 5
    assert nearest < 1.05


@pytest.mark.parametrize("case", PRICES)
def test_tilings_cost_no_less_once_sizes_are_mapped(case: str) -> None:
    """Some of the sizes, whichever; nor are bounds then far from what tilings cost."""
    price, rng = PRICES[case](), np.random.default_rng(1)
    options = group_options(price)
    sizes, nearest, rose = mapped_sizes(price, options), np.inf, 0
    for kind in np.flatnonzero(options.edges().members > 1).tolist():
        tilings = options.every_tiling(kind)
        assert tilings is not None
        places, before = tilings.places, tilings.figures()
        for place in np.unique(places[sizes.unknown(places)]).tolist():
            if rng.random() < 0.7:
                sizes.find(place)
        figures = tilings.figures(sizes.at(places))
        assert (figures >= before).all()
        rose += int((figures > before * (1 + 1e-6)).any(axis=0).sum())
        pairs = list(zip(tilings.ways, figures.T, strict=True))
        for way, figure in pairs[:: 1 if len(pairs) < 30 else 3]:
            cost = price.group(way.group, way.residents)
            if not isinstance(cost, Infeasible):
                ratios = np.array([cost.dynamic_pj, cost.latency_cycles]) / figure
                assert (ratios >= 1 - 1e-9).all()
                nearest = min(nearest, ratios.min())
    assert rose > 0
    assert nearest < 1.05


@pytest.mark.parametrize("design", ["edgetpu", "tpu_v3"])
def test_groups_on_cores_cost_no_less_than_their_bounds(design: str) -> None:
    price = evaluator(network("tiny_cnn").with_batch(2), design)
    options, few = group_options(price), 0
    least = least_of_kinds(price.network, price.hardware, options.whole, options.tiled)
    leakage_pj = access_costs(price.hardware).leakage_pj_per_cycle
    for kind, bound in enumerate(least):
        for way in options.all_options(kind).ways:
            cost = price.group(way.group, way.residents)
            if not isinstance(cost, Infeasible):
                cycles = cost.latency_cycles
                assert cost.dynamic_pj + leakage_pj * cycles >= bound[0]
                assert cycles >= bound[1]
                few += 1
    assert few > 10


@pytest.mark.parametrize("case", ["chain", "a buffer to bypass", "products", "cores"])
def test_no_path_is_below_the_bound(case: str) -> None:
    """Whatever is spent on it; the best of all paths is found by enumeration."""
    price = PRICES[case]()
    options = group_options(price)
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 10**6)
    cost = price.plan(state.best)
    assert isinstance(cost, NetworkCost)
    unit = cost.edp_js / (cost.energy_pj * cost.latency_cycles)
    product = cost.edp_js / unit
    best = least_product(price, product) * unit
    bounds = []
    for steps in (0, 3, 30, 3000):
        # as if a plan were known that is a tenth worse
        found = prove_space(price, options, log(1.1 * cost.edp_js), steps)
        bounds.append(exp(found.bound))
        assert exp(found.bound) <= best * (1 + 1e-6)
        assert found.any_mappings <= found.bound
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


def test_better_mappings_lead_below_the_bound_of_those_found_but_not_of_any() -> None:
    """Where the search stops early, other mappings are better."""
    net, hardware = chain(3, size=8, channels=4), three_levels(256, (16, 16, 16))
    poor, good = cheap_evaluator(net, hardware, 1), cheap_evaluator(net, hardware, 3000)
    states = []
    for price in (poor, good):
        planner = JointPlanner(price)
        states.append(planner.prove(planner.advance(planner.start(0), 60), 3000))
    of_poor, of_good = states
    assert of_poor.bound is not None
    assert of_poor.any_mappings is not None
    assert of_good.history[-1] < of_poor.bound
    cost = good.plan(of_good.best)
    assert isinstance(cost, NetworkCost)
    product = cost.energy_pj * cost.latency_cycles
    best = cost.edp_js * least_product(good, product) / product
    assert exp(of_poor.any_mappings) <= best * (1 + 1e-6)


@pytest.mark.parametrize("case", PRICES)
def test_the_gap_is_none_exactly_if_a_plan_is_proven(case: str) -> None:
    price = PRICES[case]()
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 2)
    for steps in (1, 5000):
        found = planner.prove(state, steps)
        assert found.bound is not None
        assert found.bound <= found.history[-1] <= state.history[-1]
        assert (PROVEN in found.notes) == (found.bound == found.history[-1])
        assert FusionState.from_dict(found.to_dict()) == found


def test_steps_raise_the_bound_until_the_plan_is_proven() -> None:
    price = evaluator(network("tiny_cnn"), "eyeriss")
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 2)
    few, many = (planner.prove(state, steps) for steps in (1, 5000))
    assert few.bound is not None
    assert many.bound is not None
    assert few.bound < many.bound
    assert many.notes[-1] == PROVEN
