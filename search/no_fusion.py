"""The fusion search that fuses nothing: the baseline of HASCO and of every comparison."""

from ..space.network import Network
from .fusion_state import FusionState
from .genetic import Pricer
from .partition import singletons


class LayerByLayer:
    """Prices the one plan that it knows, and then has nothing left to spend a budget on."""

    name = "none"

    def __init__(self, network: Network, price: Pricer) -> None:
        self._network = network
        self._price = price

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed, (), (), ())

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price the plan if that was not done."""
        if state.history or budget < 1:
            return state
        plan, cost = self._price(singletons(self._network))
        return FusionState(state.seed, ((plan, cost),), plan, (cost,))
