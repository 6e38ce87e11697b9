"""DeepFrack's planner: ranges of consecutive layers, their tiles and their cached weights.

DeepFrack (Glint et al.), as the paper says (section IV): a benchmark of single tiles, the best
tiling of the face and the best weights to cache for every consecutive range of layers, then the
best partition into ranges. What the paper enumerates is exact here: a shortest path over range ends
instead of partitions (O(n^2) ranges), a knapsack instead of caching patterns. Ours: a layer alone
that streams all operands is a choice too (the layer model); ranges are of layers that share data;
ranges from one start are no longer looked at after :data:`_PATIENCE` ends in a row for which no
tile fits. Tilings are worked out where a path that takes what they cost at least goes along, until
the best path has nothing but tilings that are worked out.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final, Literal, TypeAlias

from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.workload import connected

from ..group_equivalence import group_kind
from ..one_shot import OneShotPlanner
from ..parametric_search import HullVertex, least_product
from ..plan_evaluator import MemoizedPlanEvaluator
from .face_tiling import CostWeights, FaceTiling, best_tiling, fits, least_score, tiled_face
from .guillotine import regular_faces
from .stack import Stack, stack_of
from .tile_benchmark import TileBenchmark

CostObjective = Literal["edp", "energy", "latency"]

#: ends of ranges in a row for which no tile fits, after which longer ranges are left out
_PATIENCE: Final = 12

Range = tuple[int, int]

#: kind of range, words of the buffer that it must do without, weights of energy and cycles
_Key: TypeAlias = tuple[int, int, CostWeights]


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """A range of layers in a plan.

    Attributes:
        group: how it runs.
        energy_pj, cycles: in DeepFrack's cost, leakage included.
    """

    group: FusionGroup
    energy_pj: float
    cycles: float


class DeepFrackSearch:
    """Works out DeepFrack's plan of one network on one hardware.

    Args:
        evaluator: evaluates layers alone, and has the mapper.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        self._evaluator = evaluator
        self._network = evaluator.network
        self.benchmark = TileBenchmark(evaluator.network, evaluator.hardware, evaluator.mapper)
        # by kind of range
        self._stacks: list[Stack | None] = []
        self._tilings: dict[_Key, FaceTiling | None] = {}
        # what no tiling costs less than
        self._bounds: dict[_Key, float] = {}
        # words that the common cost model asks for beyond DeepFrack's count; None if it never fits
        self._margins: dict[Range, int | None] = {}
        self._ranges = list(self._find_ranges())

    def plan(self, objective: CostObjective = "edp") -> FusionPlan | None:
        """Return the plan with the least cost that fits under the common cost model; None if none
        does.

        The common cost model counts words layer by layer and where tiles stand. A range that does
        not fit there gets as much less of the buffer as is missing, and the plan is made anew.
        """
        while True:
            ranges = self.planned_ranges(objective)
            if ranges is None:
                return None
            groups = tuple(planned.group for planned in ranges)
            costs = [(group, self._evaluator.group(group)) for group in groups]
            wrong = [(g, cost) for g, cost in costs if isinstance(cost, Infeasible)]
            if not wrong:
                return FusionPlan(groups)
            for group, why in wrong:
                self._refuse(group, why)

    def _refuse(self, group: FusionGroup, why: Infeasible) -> None:
        span = (group.layers[0], group.layers[-1] + 1)
        before = self._margins.get(span, 0)
        missing = ceil((why.needed - why.available) * 8 / self._evaluator.hardware.word_bits)
        known = None if why.reason != "glb_overflow" else before
        self._margins[span] = None if known is None else known + max(1, missing)

    def planned_ranges(self, objective: CostObjective = "edp") -> tuple[PlannedRange, ...] | None:
        """Return the ranges with the least cost, in order; None if a layer cannot run."""
        if objective == "energy":
            return self._path((1.0, 0.0))
        if objective == "latency":
            return self._path((0.0, 1.0))
        if self._path((1.0, 0.0)) is None:
            return None
        # energy and cycles add up over ranges, so their least product is at a vertex of the hull
        return least_product(self._hull_vertex).answer

    def _hull_vertex(self, energy: float, cycles: float) -> HullVertex[tuple[PlannedRange, ...]]:
        ranges = self._path((energy, cycles))
        if ranges is None:
            raise AssertionError("a path for some weights is a path for all")
        return HullVertex(ranges, sum(s.energy_pj for s in ranges), sum(s.cycles for s in ranges))

    def _find_ranges(self) -> Iterator[tuple[Range, int]]:
        """Ranges of layers that share data and that some tile fits, with their kinds."""
        count = len(self._network.layers)
        numbers: dict[Hashable, int] = {}
        for start in range(count):
            misses = 0
            for end in range(start + 1, count + 1):
                layers = tuple(range(start, end))
                if not connected(self._network, layers):
                    continue
                kind = numbers.setdefault(group_kind(self._network, layers), len(numbers))
                if kind == len(self._stacks):
                    stack = stack_of(self.benchmark, layers)
                    self._stacks.append(stack if stack is not None and fits(stack) else None)
                misses = misses + 1 if self._stacks[kind] is None else 0
                if self._stacks[kind] is not None:
                    yield (start, end), kind
                if misses == _PATIENCE:
                    break

    def _path(self, weights: CostWeights) -> tuple[PlannedRange, ...] | None:
        """The shortest path over ends of ranges, all its tilings worked out."""
        while True:
            taken = self._shortest(weights)
            if taken is None:
                return None
            fresh = [
                (span, kind)
                for span, kind in taken
                if kind is not None and self._key(span, kind, weights) not in self._tilings
            ]
            if not fresh:
                return tuple(self._planned(span, kind, weights) for span, kind in taken)
            for span, kind in fresh:
                self._tiling(span, kind, weights)

    def _shortest(self, weights: CostWeights) -> list[tuple[Range, int | None]] | None:
        """The shortest path, of ranges as far as they are known; None stands for a layer alone."""
        count = len(self._network.layers)
        ways: list[list[tuple[float, int, int | None]]] = [[] for _ in range(count + 1)]
        for i in range(count):
            alone = self._alone(i)
            if alone is not None:
                score = weights[0] * alone.energy_pj + weights[1] * alone.cycles
                ways[i + 1].append((score, i, None))
        for (start, end), kind in self._ranges:
            ways[end].append((self._score((start, end), kind, weights), start, kind))
        least = [0.0] + [inf] * count
        taken: list[tuple[int, int | None]] = [(0, None)] * (count + 1)
        for end in range(1, count + 1):
            for score, start, way in ways[end]:
                if least[start] + score < least[end]:
                    least[end], taken[end] = least[start] + score, (start, way)
        if least[count] == inf:
            return None
        found: list[tuple[Range, int | None]] = []
        end = count
        while end:
            start, way = taken[end]
            found.append(((start, end), way))
            end = start
        return found[::-1]

    def _score(self, span: Range, kind: int, weights: CostWeights) -> float:
        """What a range costs, or at least if its tiling is not worked out; inf if it cannot be."""
        key = self._key(span, kind, weights)
        if key in self._tilings:
            tiling = self._tilings[key]
            return inf if tiling is None else tiling.score
        if key not in self._bounds:
            stack = self._stack(span, kind)
            self._bounds[key] = inf if stack is None else least_score(stack, weights)
        return self._bounds[key]

    def _key(self, span: Range, kind: int, weights: CostWeights) -> _Key:
        margin = self._margins.get(span, 0)
        return kind, -1 if margin is None else margin, weights

    def _alone(self, layer: int) -> PlannedRange | None:
        """A layer that streams all operands, as the layer model evaluates it."""
        group = FusionGroup((layer,))
        cost = self._evaluator.group(group)
        if isinstance(cost, Infeasible):
            return None
        energy = cost.dynamic_pj + self.benchmark.leakage_pj * cost.latency_cycles
        return PlannedRange(group, energy, float(cost.latency_cycles))

    def _stack(self, span: Range, kind: int) -> Stack | None:
        margin, stack = self._margins.get(span, 0), self._stacks[kind]
        if margin is None or stack is None:
            return None
        return replace(stack, margin=margin) if margin else stack

    def _tiling(self, span: Range, kind: int, weights: CostWeights) -> FaceTiling | None:
        key = self._key(span, kind, weights)
        if key not in self._tilings:
            stack = self._stack(span, kind)
            self._tilings[key] = None if stack is None else best_tiling(stack, weights)
        return self._tilings[key]

    def _planned(self, span: Range, kind: int | None, weights: CostWeights) -> PlannedRange:
        if kind is None:
            alone = self._alone(span[0])
            if alone is None:
                raise AssertionError(f"layer {span[0]} is on the path and cannot run")
            return alone
        stack, tiling = self._stack(span, kind), self._tiling(span, kind, weights)
        if stack is None or tiling is None:
            raise AssertionError(f"range {span} is on the path and has no tiling")
        done = tiled_face(stack, weights, tiling)
        # the stack may be of another range of the same kind
        shift = span[0] - stack.layers[0]
        resident = tuple(sorted(i + shift for u in tiling.units for i in stack.units[u]))
        layers, first = tuple(range(*span)), done.faces[0]
        tile = (first.rows, first.columns)
        if done.faces == regular_faces(stack.face, tile):
            group = FusionGroup(layers, tile, "recompute", resident)
        else:
            group = FusionGroup(layers, None, "recompute", resident, done.faces)
        return PlannedRange(group, done.energy_pj, done.cycles)


class DeepFrackPlanner(OneShotPlanner):
    """DeepFrack's planner as a fusion search, for the least energy x latency."""

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        super().__init__(evaluator, lambda: DeepFrackSearch(evaluator).plan())
