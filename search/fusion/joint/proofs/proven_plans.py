"""What is proven of the plan that a search ended with."""

from collections.abc import Callable
from dataclasses import replace
from math import expm1, inf, log
from typing import Final

from archloom.evaluators import edp_js
from archloom.evaluators.bounds import any_plan_bound
from archloom.space import Infeasible
from archloom.space.hardware import fusion_cores, pass_batch

from ...plan_evaluator import MemoizedPlanEvaluator, ln_edp
from ...protocol import FusionState
from ..group_options import GroupOptions
from .plan_space import PlanSpaces
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
    best, history = state.best, state.history
    if state.notes == (PROVEN,):
        # all options of a small network were listed
        return replace(state, bound=history[-1], any_mappings=_least(evaluator, history, 0, tell))
    if isinstance(fusion_cores(evaluator.hardware), Infeasible):
        # what there is to say is said of all planners
        return state
    if (why := unbounded(evaluator.network, evaluator.hardware)) is not None:
        return replace(state, notes=(*state.notes, f"no proof: {why}"))
    found = prove_space(evaluator, options(), history[-1], steps, tell)
    if found.better is not None:
        cost = ln_edp(evaluator, found.better)
        if cost < history[-1]:
            best, history = found.better, (*history, cost)
    any_mappings = found.any_mappings
    if any_mappings < history[-1] - _EQUAL:
        any_mappings = max(any_mappings, _least(evaluator, history, found.steps, tell))
    # local search finds plans that are no paths, and may be better than all paths
    bound, any_mappings = (
        history[-1] if least >= history[-1] - _EQUAL else least
        for least in (max(found.bound, any_mappings), any_mappings)
    )
    gap = 100 * expm1(history[-1] - bound)
    note = IN_GRAPH.format(gap) if gap > 0 else PROVEN
    bounded = replace(state, bound=bound, any_mappings=any_mappings)
    return replace(bounded, best=best, history=history, notes=(*state.notes, note))


def _least(
    evaluator: MemoizedPlanEvaluator,
    history: tuple[float, ...],
    steps: int,
    tell: Callable[[int], None],
) -> float:
    """Return a ln EDP that no plan of the cut graph is below with any mappings, the best one's at
    the most; ``steps`` were looked at before."""
    network, hardware = evaluator.network, evaluator.hardware
    known = log(any_plan_bound(network, hardware).edp_js)
    if pass_batch(network, hardware) != network.batch:
        # one image on a hardware that has several by itself
        return known

    def told(paths: int) -> None:
        tell(steps + paths)

    found = PlanSpaces().least(network, hardware, hardware, 0.0, tell=told)
    least = edp_js(found.product, 1.0, hardware, network.batch)
    return min(max(known, log(least)), history[-1])
