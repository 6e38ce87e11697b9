"""Fusion searches that evaluate one or two plans: layer by layer, and a plan worked out at once.

Layer by layer, nothing fused, is the baseline of HASCO (Xiao et al., ISCA 2021) and of every
comparison.
"""

from collections.abc import Callable
from math import inf
from typing import ClassVar

from archloom.space.fusion import FusionPlan, layer_by_layer

from .plan_evaluator import ln_edp
from .protocol import Abilities, FusionState, PlanEvaluator


class LayerByLayer:
    """Evaluates the plan that fuses nothing, and then has nothing left to spend a budget on."""

    abilities: ClassVar[Abilities] = Abilities(plans="layer_by_layer", folds=True)

    def __init__(self, evaluator: PlanEvaluator) -> None:
        self._evaluator = evaluator

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate the plan if that was not done."""
        if state.history or budget < 1:
            return state
        plan = layer_by_layer(self._evaluator.network)
        return FusionState(state.seed, best=plan, history=(ln_edp(self._evaluator, plan),))


class OneShotPlanner:
    """Evaluates layer by layer, then the plan that is worked out; the better one stays.

    Args:
        evaluator: evaluates plans of the network that is fused.
        work_out: returns the plan, or None if there is none but layer by layer.
        notes: returns what to know of the plan, a sentence each; asked once it is worked out.
    """

    def __init__(
        self,
        evaluator: PlanEvaluator,
        work_out: Callable[[], FusionPlan | None],
        notes: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._evaluator = evaluator
        self._work_out = work_out
        self._notes = notes

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate the plans that were not evaluated yet."""
        best, history, notes = state.best, list(state.history), state.notes
        if budget > 0 and not history:
            best, budget = layer_by_layer(self._evaluator.network), budget - 1
            history.append(ln_edp(self._evaluator, best))
        if budget > 0 and len(history) == 1:
            plan = self._work_out()
            cost = inf if plan is None else ln_edp(self._evaluator, plan)
            best = plan if plan is not None and cost < history[0] else best
            history.append(min(cost, history[0]))
            notes = self._notes()
        return FusionState(state.seed, best=best, history=tuple(history), notes=notes)
