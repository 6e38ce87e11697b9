"""Mappings of layers that trade energy against latency: software of one design beside that of the
least EDP.

Where each layer runs by itself, the energy and the latency of a plan are sums over its layers. So
the plans of which none is better in both are sums over the mappings of each layer that are so
themselves. With a price on a cycle, the best plan takes of each layer the mapping of least energy
plus priced cycles (the weighted-sum method; Marler and Arora, "Survey of multi-objective
optimization methods for engineering", 2004). Mappings are searched at few prices. At others each
layer takes the best of those that are known, which needs no search.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from archloom.evaluators.fusion import ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.space import Infeasible

from ..pareto import non_dominated
from .plan_tiles import Tile, plan_tiles
from .prove_mappings import Chosen, ProvenPlan

#: prices of a cycle at which mappings are searched, as shares of the energy per cycle of the plan
#: of least EDP: small enough for nearly the least energy, and not nothing, which would take any
#: number of cycles for the last pJ
_SEARCHED: Final = (0.03,)

#: prices at which layers take the best of the mappings that are known
_PRICES: Final = (0.0, 0.05, 0.2, 0.7, 2.0)

#: relative difference of energies and latencies that is not worth another outcome
_SAME: Final = 1e-3


Improvement = Callable[[MappingProblem, LayerCost], LayerCost]


def _as_it_is(_: MappingProblem, cost: LayerCost) -> LayerCost:
    return cost


class _Choice(NamedTuple):
    """A tile of a plan, and the mappings that are known; the first is that of the plan of least
    EDP."""

    tile: Tile
    known: list[LayerCost]

    def best(self, cycle_pj: float) -> LayerCost:
        """Return the known mapping of least energy (pJ) of all runs plus priced cycles."""
        counted, turns = self.tile.counted, self.tile.run.turns

        def value(cost: LayerCost) -> float:
            return counted * cost.dynamic_pj + cycle_pj * turns * cost.latency_cycles

        return min(self.known, key=value)


class _Plan:
    """A plan of one network, whose layers can take other mappings than those of least EDP."""

    def __init__(
        self, found: ProvenPlan, mapper: ProblemMapper, nearby: Improvement = _as_it_is
    ) -> None:
        self._evaluator, self._plan = found.evaluator, found.cost.plan
        self._per_cycle_pj = found.cost.energy_pj / max(found.cost.latency_cycles, 1)
        whole = plan_tiles(self._evaluator, self._plan)
        self._leakage_pj = whole.parts.leakage_pj_per_cycle
        self._fixed = whole.parts.fixed_pj, whole.parts.fixed_cycles
        self._choices = [
            _Choice(tile, [tile.run.cost, *self._searched(tile, mapper, nearby)])
            for tile in whole.tiles
        ]

    def chosen(self, price: float | None) -> dict[str, LayerCost]:
        """Return the mapping of each problem at a price, as of :data:`_PRICES`; None: least EDP."""
        whole = None if price is None else self._leakage_pj + price * self._per_cycle_pj
        chosen: dict[str, LayerCost] = {}
        for choice in self._choices:
            # one mapping for all layers of a problem
            best = choice.known[0] if whole is None else choice.best(whole)
            chosen.setdefault(choice.tile.problem.key, best)
        return chosen

    def sums(self, chosen: dict[str, LayerCost]) -> tuple[float, float]:
        """Return the energy (pJ) and the latency (cycles) of the plan with these mappings."""
        energy_pj, cycles = self._fixed
        for tile, _ in self._choices:
            cost = chosen[tile.problem.key]
            energy_pj += tile.counted * cost.dynamic_pj
            cycles += tile.run.turns * cost.latency_cycles
        return energy_pj + self._leakage_pj * cycles, float(cycles)

    def found(self, chosen: dict[str, LayerCost]) -> ProvenPlan:
        """Return the plan with these mappings; nothing is proven of its EDP as a whole."""
        other = self._with(Chosen(self._evaluator.mapper, chosen))
        cost = other.plan(self._plan)
        assert not isinstance(cost, Infeasible), "mappings change nothing of what fits"
        return ProvenPlan(other, cost, 0.0)

    def _searched(self, tile: Tile, mapper: ProblemMapper, nearby: Improvement) -> list[LayerCost]:
        found = [nearby(tile.problem, tile.run.cost)]
        for price in _SEARCHED:
            due_pj = tile.due_pj(self._leakage_pj + price * self._per_cycle_pj)
            cycle_pj = tile.price_pj(due_pj)
            priced = replace(tile.problem, weights=(1.0, 0.0), cycle_pj=cycle_pj)
            cost = mapper(priced)
            if isinstance(cost, LayerCost):
                found.append(nearby(priced, cost))
        return found

    def _with(self, mapper: ProblemMapper) -> MemoizedPlanEvaluator:
        return MemoizedPlanEvaluator(self._evaluator.network, self._evaluator.hardware, mapper)


def trade_offs(
    searched: Sequence[ProvenPlan], mapper: ProblemMapper, nearby: Improvement = _as_it_is
) -> list[tuple[ProvenPlan, ...]]:
    """Return other software of a design: the same plans with less energy or fewer cycles.

    Args:
        searched: the plan of each network with the mappings of least EDP, layer by layer.
        mapper: finds mappings of other objectives.
        nearby: makes of the mapping of a problem one that is no worse by the problem's objective.

    Returns:
        Plans of all networks, the fastest first. None is better than another one in the energy
        and the latency of every network, and they differ by a thousandth at least.
    """
    plans = [_Plan(found, mapper, nearby) for found in searched]
    choices = [[plan.chosen(price) for plan in plans] for price in (None, *_PRICES)]
    sums = [
        [figure for plan, chosen in zip(plans, one, strict=True) for figure in plan.sums(chosen)]
        for one in choices
    ]
    best, kept = non_dominated(sums), [0]
    for at in range(1, len(sums)):
        if best[at] and not any(_as_good(sums[other], sums[at]) for other in kept):
            kept.append(at)
    return [
        tuple(plan.found(chosen) for plan, chosen in zip(plans, choices[at], strict=True))
        for at in reversed(kept[1:])
    ]


def _as_good(some: Sequence[float], others: Sequence[float]) -> bool:
    """Whether some energies and latencies are not worse than others by anything that matters."""
    return all(one <= other * (1 + _SAME) for one, other in zip(some, others, strict=True))
