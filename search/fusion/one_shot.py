"""Fusion searches that evaluate one or two plans: layer by layer, and a plan worked out at once.

Layer by layer, nothing fused, is the baseline of HASCO (Xiao et al., ISCA 2021) and of every
comparison.
"""

from collections.abc import Callable
from dataclasses import replace
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
    """Evaluates layer by layer, then the plans that are worked out; the best one stays.

    Args:
        evaluator: evaluates plans of the network that is fused.
        work_out: returns the plan of a number, or None if there is none but layer by layer.
        notes: returns what to know of it, a sentence each; asked once it is worked out.
        count: plans that are worked out.
    """

    def __init__(
        self,
        evaluator: PlanEvaluator,
        work_out: Callable[[int], FusionPlan | None],
        notes: Callable[[int], tuple[str, ...]] = lambda _: (),
        count: int = 1,
    ) -> None:
        self._evaluator = evaluator
        self._work_out = work_out
        self._notes = notes
        self._count = count

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate up to ``budget`` of the plans that were not evaluated yet."""
        if budget > 0 and not state.history:
            plan, budget = layer_by_layer(self._evaluator.network), budget - 1
            state = replace(state, best=plan, history=(ln_edp(self._evaluator, plan),))
        done = len(state.history) - 1
        for number in range(max(done, 0), min(done + budget, self._count)):
            state = self._with(state, number)
        return state

    def _with(self, state: FusionState, number: int) -> FusionState:
        """Return the state after a plan was evaluated; notes are of the best one."""
        plan, known = self._work_out(number), state.history[-1]
        cost = inf if plan is None else ln_edp(self._evaluator, plan)
        if plan is not None and cost < known:
            state = replace(state, best=plan)
        if cost < known or not state.notes:
            state = replace(state, notes=self._notes(number))
        return replace(state, history=(*state.history, min(cost, known)))
