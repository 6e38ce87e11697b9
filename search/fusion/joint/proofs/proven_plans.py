"""What is proven of the plan that a search ended with."""

from collections.abc import Callable, Mapping as Dict
from dataclasses import replace
from math import expm1, inf, log
from typing import Final, NamedTuple

from archloom.evaluators import edp_js
from archloom.evaluators.bounds import any_plan_bound
from archloom.space import Infeasible
from archloom.space.hardware import fusion_cores

from ...plan_evaluator import MemoizedPlanEvaluator, ln_edp
from ...protocol import FusionState
from ..group_options import GroupOptions
from .nests import KnownNests
from .plan_space import PlanSpace, shares_one_buffer
from .plans_on_design import PlansOnDesign
from .space_bound import prove_space
from .step_bounds import unbounded

#: ln EDPs that differ by no more are the same: the order of sums makes as much
_EQUAL: Final = 1e-9

#: what the state of a search says of a plan that is proven
PROVEN: Final = (
    "proven: with these mappings, no plan of the search space has a lower EDP "
    "(docs/explanation/joint.md)"
)

#: the same of one for which a gap is left, in percent
IN_GRAPH: Final = (
    "with these mappings, its EDP is at most {:.2g}% above that of any plan of the search space "
    "(docs/explanation/joint.md)"
)


class _Closest(NamedTuple):
    """What no plan of the cut graph is below with any mappings.

    Attributes:
        least: ln EDP (J s).
        nests: what was found out about nests, by kind of step.
        looks: paths that were looked at.
    """

    least: float
    nests: Dict[int, KnownNests]
    looks: int


def bounded_state(
    evaluator: MemoizedPlanEvaluator,
    options: Callable[[], GroupOptions],
    state: FusionState,
    steps: int,
    tell: Callable[[int], None],
) -> FusionState:
    """Return a state whose bounds hold for the plans of the cut graph, with the mappings that the
    evaluator finds and with any, and whose plan is the best of those that were priced for it.

    Args:
        evaluator: of the plans.
        options: makes those of the network's steps.
        state: of a search that has come to its end.
        steps: kinds of steps that are listed, and twice the sizes and tilings that are priced.
        tell: hears how many were looked at.
    """
    if not state.history or state.history[-1] == inf:
        return state
    if isinstance(fusion_cores(evaluator.hardware), Infeasible):
        # what there is to say is said of all planners
        return state
    small = state.notes == (PROVEN,)
    why = unbounded(evaluator.network, evaluator.hardware)
    if why is not None and not small:
        return replace(state, notes=(*state.notes, f"no proof: {why}"))
    closest = _closest(evaluator, why is None, tell)
    if small:
        # all options of a small network were listed
        least = min(closest.least, state.history[-1])
        return replace(state, bound=state.history[-1], any_mappings=least)
    return _with_proof(evaluator, options(), state, closest, (steps, tell))


def _with_proof(
    evaluator: MemoizedPlanEvaluator,
    options: GroupOptions,
    state: FusionState,
    closest: _Closest,
    effort: tuple[int, Callable[[int], None]],
) -> FusionState:
    """Return a state with what is proven of its plan, which is a better one if one was found."""
    best, history, (steps, tell) = state.best, state.history, effort

    def told(spent: int) -> None:
        tell(closest.looks + spent)

    found = prove_space(evaluator, options, history[-1], steps, told, closest.nests)
    if found.better is not None:
        cost = ln_edp(evaluator, found.better)
        if cost < history[-1]:
            best, history = found.better, (*history, cost)
    any_mappings = max(found.any_mappings, closest.least)
    # local search finds plans that are no paths, and may be better than all paths
    bound, any_mappings = (
        history[-1] if least >= history[-1] - _EQUAL else least
        for least in (max(found.bound, any_mappings), any_mappings)
    )
    gap = 100 * expm1(history[-1] - bound)
    note = IN_GRAPH.format(gap) if gap > 0 else PROVEN
    bounded = replace(state, bound=bound, any_mappings=any_mappings)
    return replace(bounded, best=best, history=history, notes=(*state.notes, note))


def _closest(
    evaluator: MemoizedPlanEvaluator, bounded: bool, tell: Callable[[int], None]
) -> _Closest:
    """Return what is known with any mappings; ``bounded``: whether steps have bounds."""
    network, hardware = evaluator.network, evaluator.hardware
    least = log(any_plan_bound(network, hardware).edp_js)
    if not bounded or not shares_one_buffer(hardware):
        return _Closest(least, {}, 0)
    plans = PlansOnDesign(PlanSpace(network, hardware), hardware, hardware, 0.0, alone=True)
    found = edp_js(plans.least(tell=tell).product, 1.0, hardware, network.batch)
    return _Closest(max(least, log(found)), plans.known_nests, plans.looks)
