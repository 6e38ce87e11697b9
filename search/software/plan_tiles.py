"""The mapped tiles of a plan, and what lines say of the EDP that they add up to.

Energy and latency of a plan are sums over its tiles. With a price on a cycle, the least of energy
plus priced cycles is a sum over tiles too, each of which is bounded alone: a line that no mappings
of the plan are below. Lines of some prices bound the product of energy and latency
(docs/explanation/bounds.md, "A plan's mappings together").
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from archloom.evaluators.bounds import PlanParts, TileRuns, plan_parts
from archloom.evaluators.fusion import NetworkCost, ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan


class Tile(NamedTuple):
    """A tile of a plan.

    Attributes:
        problem: of its mapping.
        run: how often it runs, and what it costs.
    """

    problem: MappingProblem
    run: TileRuns

    @property
    def counted(self) -> int:
        """How many runs surely take its energy.

        Weights that stream come once for all cores: then that is one of those side by side.
        """
        return self.run.times if self.problem.staged[0] else self.run.turns

    def due_pj(self, whole_pj: float) -> float:
        """Return the energy (pJ) that a cycle of one run is worth, if one of the plan is worth
        ``whole_pj``: tiles that run side by side share it."""
        return whole_pj * self.run.turns / self.counted

    def price_pj(self, due_pj: float) -> float:
        """Return the price of a cycle for a mapping search, which counts the leakage besides."""
        return max(0.0, due_pj - self.problem.setup.leakage_pj)

    def part(self, due_pj: float) -> float:
        """Return how much of the energy and priced cycles at :meth:`price_pj` counts: a price
        cannot be negative, and energy for less than a cycle is worth is less by no more."""
        leaking = self.problem.setup.leakage_pj
        return min(1.0, due_pj / leaking) if leaking > 0 else 1.0


class Vertex(NamedTuple):
    """The least product that lines allow, the cycles there, and the energy over cycles."""

    edp: float
    cycles: float
    ratio: float


@dataclass(frozen=True)
class PlanTiles:
    """A plan taken apart.

    Attributes:
        parts: what mappings change, and the rest.
        tiles: those with mappings, in the order of the plan.
    """

    parts: PlanParts
    tiles: tuple[Tile, ...]

    def line(self, price: float, bound: Callable[[Tile, float], float]) -> float:
        """Return energy plus priced cycles that no mappings of the plan are below.

        Args:
            price: of a cycle (pJ), besides leakage.
            bound: returns energy plus cycles of a tile at a price (pJ) of a cycle, with leakage,
                that none of its mappings is below.
        """
        parts, whole = self.parts, self.parts.leakage_pj_per_cycle + price
        least = parts.fixed_pj + whole * parts.fixed_cycles
        for tile in self.tiles:
            least += tile.counted * bound(tile, tile.due_pj(whole))
        return least

    def least(self, lines: Sequence[tuple[float, float]]) -> Vertex:
        """Return where the product of energy and latency is least above all lines.

        The border of what is above all lines is a convex polygon, and on each of its sides the
        product is least at an end.

        Args:
            lines: prices, and :meth:`line` there.
        """
        parts = self.parts
        slopes = [(0.0, parts.least_pj), *lines]
        found = []
        for cycles in {parts.least_cycles, *_crossings(slopes)}:
            if cycles >= parts.least_cycles:
                energy_pj = max(least - price * cycles for price, least in slopes)
                found.append(Vertex(energy_pj * cycles, cycles, energy_pj / max(cycles, 1.0)))
        return min(found)


def _crossings(slopes: list[tuple[float, float]]) -> Iterator[float]:
    """Yield the cycles at which two lines cross."""
    for i, (price, least) in enumerate(slopes):
        for other, above in slopes[i + 1 :]:
            if other > price:
                yield (above - least) / (other - price)


def plan_tiles(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> PlanTiles:
    """Return the tiles of a plan with the mappings that an evaluator finds.

    Raises:
        ValueError: the plan has no cost.
    """
    listed = _Listed(evaluator.mapper)
    same = MemoizedPlanEvaluator(evaluator.network, evaluator.hardware, listed)
    parts = plan_parts(cost_of(same, plan))
    problems = (listed.problems[id(run.cost.mapping)] for run in parts.tiles)
    return PlanTiles(parts, tuple(map(Tile, problems, parts.tiles)))


def cost_of(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> NetworkCost:
    """Return the cost of a plan.

    Raises:
        ValueError: it has none.
    """
    cost = evaluator.plan(plan)
    if isinstance(cost, Infeasible):
        raise ValueError(f"the plan cannot be evaluated: {cost}")
    return cost


class _Listed:
    """Passes problems on, and keeps which problem a mapping is of."""

    def __init__(self, mapper: ProblemMapper) -> None:
        self._mapper = mapper
        self.problems: dict[int, MappingProblem] = {}
        self._alive: list[LayerCost] = []

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return what the mapper returns."""
        cost = self._mapper(problem)
        if isinstance(cost, LayerCost):
            self.problems[id(cost.mapping)] = problem
            self._alive.append(cost)
        return cost
