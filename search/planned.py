"""A fusion search that works out one plan instead of trying many."""

from collections.abc import Callable
from math import inf, log

from ..space.fusion import FusionPlan, layer_by_layer
from ..space.infeasible import Infeasible
from .fusion_state import FusionState
from .protocols import PlanPrices


class Planned:
    """Prices layer by layer, then the plan that is worked out; the better one stays.

    Args:
        price: prices plans of the network that is fused.
        work_out: returns the plan, or None if there is none but layer by layer.
        notes: returns what to know of the plan, a sentence each; asked once it is worked out.
    """

    def __init__(
        self,
        price: PlanPrices,
        work_out: Callable[[], FusionPlan | None],
        notes: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._price = price
        self._work_out = work_out
        self._notes = notes

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price the plans that were not priced yet."""
        best, history, notes = state.best, list(state.history), state.notes
        if budget > 0 and not history:
            best, budget = layer_by_layer(self._price.network), budget - 1
            history.append(ln_edp(self._price, best))
        if budget > 0 and len(history) == 1:
            plan = self._work_out()
            cost = inf if plan is None else ln_edp(self._price, plan)
            best = plan if plan is not None and cost < history[0] else best
            history.append(min(cost, history[0]))
            notes = self._notes()
        return FusionState(state.seed, best=best, history=tuple(history), notes=notes)


def ln_edp(price: PlanPrices, plan: FusionPlan) -> float:
    """Return ln EDP (J s) of a plan; inf if it has no price."""
    cost = price.plan(plan)
    return inf if isinstance(cost, Infeasible) else log(cost.edp_js)
