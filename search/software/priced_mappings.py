"""Mappings of least energy where cycles have a price, at many prices.

The least of energy plus price times cycles is a concave function of the price, as it is the least
of linear functions. So between two prices it is not below the chord. Where some known mapping is
on the chord, it is the best one at all prices between, and nothing is searched.
"""

from bisect import insort
from dataclasses import dataclass, replace
from math import inf
from typing import Final, NamedTuple

from archloom.evaluators.fusion import ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem

#: relative difference of numbers that are the same but for rounding
_SAME: Final = 1e-12


@dataclass(frozen=True)
class Priced:
    """The best mapping that is known at a price, and a bound on all.

    Attributes:
        cost: of the mapping.
        bound: energy (pJ) plus cycles at their price, leakage included, that no mapping is below.
    """

    cost: LayerCost
    bound: float


class _Known(NamedTuple):
    price: float
    bound: float


class PricedMappings:
    """Searches mappings at prices, and remembers what that proved.

    Args:
        mapper: that finds the mappings.
    """

    def __init__(self, mapper: ProblemMapper) -> None:
        self._mapper = mapper
        self._costs: dict[str, list[LayerCost]] = {}
        self._known: dict[str, list[_Known]] = {}

    def suggest(self, problem: MappingProblem, cost: LayerCost) -> None:
        """Take a mapping of a problem that may be the best one at some prices."""
        costs = self._costs.setdefault(problem.key, [])
        point = (cost.dynamic_pj, cost.latency_cycles)
        if point not in [(one.dynamic_pj, one.latency_cycles) for one in costs]:
            costs.append(cost)

    def at(self, problem: MappingProblem, price: float) -> Priced:
        """Return the best mapping with a price (pJ) on a cycle, besides leakage.

        Raises:
            ValueError: the problem has no mapping.
        """
        known = self._known.setdefault(problem.key, [])
        whole = price + problem.setup.leakage_pj
        chord, best = _chord(known, price), self._best(problem, whole)
        if best is not None and chord >= _value(best, whole) * (1 - _SAME):
            return Priced(best, chord)
        found = self._mapper(replace(problem, weights=(1.0, 0.0), cycle_pj=price))
        if not isinstance(found, LayerCost):
            raise ValueError(f"no mapping for {problem.key}: {found}")
        bound = max(chord, _value(found, whole) / (1 + found.gap_percent / 100))
        self.suggest(problem, found)
        insort(known, _Known(price, bound))
        best = self._best(problem, whole)
        assert best is not None
        return Priced(best, bound)

    def _best(self, problem: MappingProblem, whole: float) -> LayerCost | None:
        costs = self._costs.get(problem.key, [])
        return min(costs, key=lambda cost: _value(cost, whole), default=None)


def _value(cost: LayerCost, whole: float) -> float:
    return cost.dynamic_pj + whole * cost.latency_cycles


def _chord(known: list[_Known], price: float) -> float:
    """Return what concavity proves at a price from bounds at others: minus infinity if nothing."""
    below = [one for one in known if one.price <= price]
    above = [one for one in known if one.price >= price]
    if not below or not above:
        return -inf
    low, high = below[-1], above[0]
    if low.price == high.price:
        return max(low.bound, high.bound)
    part = (price - low.price) / (high.price - low.price)
    return (1 - part) * low.bound + part * high.bound
