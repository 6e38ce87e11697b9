"""The fusion search that fuses nothing: the baseline of HASCO and of every comparison."""

from .fusion_state import FusionState
from .partition import singletons
from .protocols import PlanPrices


class LayerByLayer:
    """Prices the one plan that it knows, and then has nothing left to spend a budget on."""

    def __init__(self, price: PlanPrices) -> None:
        self._price = price

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price the plan if that was not done."""
        if state.history or budget < 1:
            return state
        plan, cost = self._price(singletons(self._price.network))
        return FusionState(state.seed, best=self._price.plan_of(plan), history=(cost,))
