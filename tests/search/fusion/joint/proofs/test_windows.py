"""Plans of small networks with depthwise layers: none is below their bounds, and none is better
than one that is called proven."""

from functools import partial
from math import exp, log

import numpy as np
import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.group_options import GroupOptions
from archloom.search.fusion.joint.planner import JointPlanner, group_options
from archloom.search.fusion.joint.proofs import PROVEN
from archloom.search.fusion.joint.proofs.plan_space import PlanSpaces
from archloom.search.fusion.joint.proofs.space_bound import prove_space
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.fusion.loop_nest import LoopNest
from archloom.space.fusion.plan import FusionPlan
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv2d
from archloom.space.workload.network_builder import Builder

from .....cases.random_windows import small_windows
from .....cases.small_designs import three_levels
from .....cases.small_nests import SmallCase, small_case
from .....cases.sweeps import sweep
from .....oracles.enumerated_steps import least_product

#: relative difference that is none: the leakage of a plan is rounded
_EQUAL = 1e-6


def examined(case: SmallCase, plans: int) -> bool:
    """Hold the best of so many plans, and the best of all steps one by one, against bounds of the
    planner's space; returns whether the plan is proven."""
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 2000, seed=1)
    price = MemoizedPlanEvaluator(case.network, case.hardware, mapper)
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), plans)
    assert state.best is not None
    cost = price.plan(state.best)
    assert isinstance(cost, NetworkCost)
    leakage_pj = access_costs(case.hardware).leakage_pj_per_cycle * cost.latency_cycles
    product = (sum(x.dynamic_pj for x in cost.groups) + leakage_pj) * cost.latency_cycles
    # 1.1 times the product if the plan is outside of the space, and nothing inside is near it
    least = least_product(price, 1.1 * product)
    proven = PROVEN in state.notes
    assert not proven or least >= product * (1 - _EQUAL)
    options, spaces = group_options(price), PlanSpaces()
    # what one design asks for is known at the next one
    bounds = [spaces.least(case.network, case.hardware, case.hardware, 0.0) for _ in range(2)]
    if inside(state.best, options):
        least = min(least, product)
        assert all(bound.energy_pj <= cost.energy_pj * (1 + _EQUAL) for bound in bounds)
        assert all(bound.latency_cycles <= cost.latency_cycles for bound in bounds)
    assert all(bound.product <= least * (1 + _EQUAL) for bound in bounds)
    proof = prove_space(price, options, log(1.2 * cost.edp_js), 4000)
    unit = product / cost.edp_js
    assert exp(proof.any_mappings) * unit <= least * (1 + _EQUAL)
    assert exp(proof.bound) * unit <= least * (1 + _EQUAL)
    return proven


def inside(plan: FusionPlan, options: GroupOptions) -> bool:
    """Whether a plan is of the space that is bounded: a path in tilings and nests of two loops."""
    kinds = options.edges()
    of = {edge.layers: kind for edge, kind in zip(kinds.edges, kinds.kinds.tolist(), strict=True)}
    return all(
        group.layers in of
        and (group.nest is None or (options.nestable[of[group.layers]] and few_loops(group.nest)))
        for group in plan.groups
    )


def few_loops(nest: LoopNest) -> bool:
    return len(nest.loops) <= 2


CASES = [(seed, optional) for seed in range(150) for optional in (False, True)]


@pytest.mark.parametrize(("seed", "optional"), sweep(CASES, sample=6))
def test_no_plan_is_below_the_bounds_of_its_space(seed: int, optional: bool) -> None:
    """On buffers that operands may bypass, and on others, where it is also known what is best."""
    case = small_case(np.random.default_rng(seed), small_windows, optional=optional)
    examined(case, 200 if optional else 10**6)


# of the first ones plans are below the bounds that count all of a map that streams
SKIPPING = [(131, True), (135, False), (135, True), (142, True), *CASES]


@pytest.mark.parametrize(("seed", "optional"), sweep(SKIPPING, sample=5))
def test_nor_where_windows_skip_words(seed: int, optional: bool) -> None:
    networks = partial(small_windows, skipping=True)
    case = small_case(np.random.default_rng(seed), networks, optional=optional)
    examined(case, 200 if optional else 10**6)


def test_blocks_with_depthwise_layers_are_proven() -> None:
    cases = [small_case(np.random.default_rng(seed), small_windows) for seed in range(4)]
    assert sum(examined(case, 10**6) for case in cases) >= 2


# of the first one all rows but one lie in the padding or between taps; taps of the second one meet,
# and the last one does not reach the last row
UNTOUCHED = [
    conv2d("window", 2, 6, (3, 4), 3, padding=1, dilation=2, groups=2),
    conv2d("window", 5, 5, 4, 2, stride=2, padding=1, dilation=2, groups=5),
    conv2d("window", 3, 3, (3, 6), 3, stride=3, padding=1, groups=3),
]


@pytest.mark.parametrize("words", [41, 100, 213])
@pytest.mark.parametrize("layer", UNTOUCHED)
def test_rows_that_no_window_touches_are_no_part_of_a_bound(layer: Layer, words: int) -> None:
    builder = Builder((layer.input_channels, *layer.input_size))
    builder.conv("project", builder.append(layer, "input"), 4)
    examined(SmallCase(builder.network("dilated"), three_levels(words, (8, 8, 8))), 10**6)
