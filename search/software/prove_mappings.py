"""Mappings of a plan that give it the least EDP together, and the proof of that.

A mapping search minimises the EDP of one layer or tile. The EDP of a plan is the product of two
sums, energy and latency. With a price on a cycle, the least of energy plus priced cycles is a sum
over mappings, each of which is searched alone; at every price it bounds both sums by a line, and
the lines of some prices bound their product (docs/explanation/bounds.md, "A plan's mappings
together").
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Final, NamedTuple

from archloom.evaluators.bounds import mapping_gaps, up_to_rounding
from archloom.evaluators.fusion import NetworkCost, ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.mapping import objective
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan

from .plan_bound import least_edp_of
from .plan_tiles import Tile, Vertex, cost_of, plan_tiles
from .priced_mappings import PricedMappings

#: prices that are tried at most; a dozen are common
_PRICES: Final = 40

#: prices beyond all that were tried are this many times further
_FURTHER: Final = 4.0

#: relative difference of numbers that are the same but for rounding
_SAME: Final = 1e-12


@dataclass(frozen=True)
class ProvenPlan:
    """A plan with the best mappings that were found for it.

    Attributes:
        evaluator: knows the mappings.
        cost: of the plan.
        least: an EDP (pJ cycles) that no mappings go below; the plan's own where that is proven,
            up to rounding.
    """

    evaluator: MemoizedPlanEvaluator
    cost: NetworkCost
    least: float


def proven_plan(
    evaluator: MemoizedPlanEvaluator, plan: FusionPlan, mapper: ProblemMapper
) -> ProvenPlan:
    """Search mappings that give a plan the least EDP, beginning with those that it has.

    Args:
        evaluator: of the plan, with mappings that each have the least EDP of their own.
        plan: one that can be evaluated.
        mapper: that finds the mappings of other objectives.

    Raises:
        ValueError: the plan has no cost.
    """
    first = cost_of(evaluator, plan)
    if _edp(first) <= 0:
        return ProvenPlan(evaluator, first, 0.0)
    lines = _Lines(evaluator, plan, mapper)
    best, found = first, evaluator
    price, vertex = first.energy_pj / first.latency_cycles, Vertex(0.0, 0.0, 0.0)
    for _ in range(_PRICES):
        line = lines.add(price)
        if line.energy_pj * line.cycles < _edp(best) * (1 - _SAME):
            chosen = Chosen(evaluator.mapper, line.chosen)
            other = MemoizedPlanEvaluator(evaluator.network, evaluator.hardware, chosen)
            cost = cost_of(other, plan)
            if _edp(cost) < _edp(best):
                best, found = cost, other
        before, vertex = vertex, lines.least()
        if up_to_rounding(best, vertex.edp) == _edp(best) or vertex == before:
            break
        price = lines.next_price(vertex)
    least = up_to_rounding(best, vertex.edp)
    if least < _edp(best):
        # what mappings say one by one, and lines of more prices
        gaps = mapping_gaps(first, least_edp_of(evaluator, plan, closely=True))
        least = up_to_rounding(best, max(least, _edp(first) / (1 + gaps.plan_percent / 100)))
    return ProvenPlan(found, best, least)


class _Line(NamedTuple):
    """Energy plus a price times cycles is at least ``least``; and where the best mappings lie."""

    price: float
    least: float
    energy_pj: float
    cycles: float
    chosen: dict[str, LayerCost]


class _Lines:
    """Lines that no mappings of a plan bring its energy and latency below."""

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, plan: FusionPlan, mapper: ProblemMapper
    ) -> None:
        self._whole = plan_tiles(evaluator, plan)
        self._mappings = PricedMappings(mapper)
        for tile in self._whole.tiles:
            self._mappings.suggest(tile.problem, tile.run.cost)
        self._lines: list[_Line] = []

    def add(self, price: float) -> _Line:
        """Search all mappings with a price (pJ) on a cycle of the plan."""
        chosen: dict[str, LayerCost] = {}

        def bound(tile: Tile, due_pj: float) -> float:
            found = self._mappings.at(tile.problem, tile.price_pj(due_pj))
            # one mapping for all tiles of a problem
            chosen.setdefault(tile.problem.key, found.cost)
            return found.bound * tile.part(due_pj)

        least, parts = self._whole.line(price, bound), self._whole.parts
        energy_pj, cycles = parts.fixed_pj, float(parts.fixed_cycles)
        for tile in self._whole.tiles:
            cost = chosen[tile.problem.key]
            energy_pj += tile.counted * cost.dynamic_pj
            cycles += tile.run.turns * cost.latency_cycles
        line = _Line(price, least, energy_pj + parts.leakage_pj_per_cycle * cycles, cycles, chosen)
        self._lines = sorted([*self._lines, line], key=lambda one: one.price)
        return line

    def least(self) -> Vertex:
        """Return where the product of energy and latency is least above all lines."""
        return self._whole.least([(one.price, one.least) for one in self._lines])

    def next_price(self, vertex: Vertex) -> float:
        """Return a price whose line may cut a vertex off."""
        energy_pj = vertex.ratio * max(vertex.cycles, 1.0)
        through = [
            one
            for one in self._lines
            if one.least - one.price * vertex.cycles >= energy_pj * (1 - _SAME)
        ]
        if not through:
            # at the least energy of all plans, to which no line comes down
            return min(vertex.ratio, min(one.price for one in self._lines) / _FURTHER)
        low = min(through, key=lambda one: one.price)
        high = max(through, key=lambda one: one.price)
        if vertex.cycles <= self._whole.parts.least_cycles:
            return max(vertex.ratio, high.price * _FURTHER)
        if energy_pj <= self._whole.parts.least_pj * (1 + _SAME):
            return min(vertex.ratio, low.price / _FURTHER)
        return _between(low, high)


def _between(low: _Line, high: _Line) -> float:
    """Return the price at which the mappings of two lines are worth the same."""
    slower, dearer = low.cycles - high.cycles, high.energy_pj - low.energy_pj
    price = dearer / slower if slower > 0 else 0.0
    inside = low.price < price < high.price
    return price if inside else sqrt(low.price * high.price)


class Chosen:
    """Gives back mappings that were chosen, with the gaps of their own EDP; and others' besides."""

    def __init__(self, mapper: ProblemMapper, chosen: dict[str, LayerCost]) -> None:
        self._mapper, self._chosen = mapper, chosen

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the chosen mapping, or what the mapper returns where none was chosen."""
        own, chosen = self._mapper(problem), self._chosen.get(problem.key)
        if chosen is None or isinstance(own, Infeasible):
            return own
        above = objective(problem, chosen) / objective(problem, own)
        gap_percent = 100 * max(0.0, above * (1 + own.gap_percent / 100) - 1)
        return replace(chosen, gap_percent=gap_percent)


def _edp(cost: NetworkCost) -> float:
    return cost.energy_pj * cost.latency_cycles
