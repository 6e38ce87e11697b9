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

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf
from typing import Final, Literal

import numpy as np

from archloom.evaluators.fusion.buffer import fusion_blocked
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan

from ..counted_work import CountedWork
from ..one_shot import OneShotPlanner
from ..parametric_search import HullVertex, least_product
from ..plan_evaluator import MemoizedPlanEvaluator
from .face_tiling import tiled_face
from .guillotine import regular_faces
from .range_paths import Range, RangePaths
from .range_scores import RangeScores, ScoresAlong
from .ranges import KnownRanges, known_ranges
from .stack import CostWeights, Stack
from .tile_benchmark import TileBenchmark

CostObjective = Literal["edp", "energy", "latency"]

#: ends of ranges in a row for which no tile fits, after which longer ranges are left out
_PATIENCE: Final = 12


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
        work_limit: most figures that may be tabulated, one for each layer of a range and each size
            of its tiles; None for no limit.

    Raises:
        ValueError: a limit below 1.
        WorkLimitError: here, or later, where a network has more.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator, work_limit: int | None = None) -> None:
        self.work = CountedWork("deepfrack", "figures of layers in tiles", work_limit)
        network, hardware = evaluator.network, evaluator.hardware
        self._evaluator = evaluator
        known = known_ranges(network)
        self.benchmark = TileBenchmark(network, hardware, evaluator.mapper, known.numbers)
        found = dict(_ranges_that_fit(known, self.benchmark, self.work))
        stacks = dict(found.values())
        self._scores = RangeScores(list(stacks.values()), self.work.spend)
        number = {kind: n for n, kind in enumerate(stacks)}
        self._paths = RangePaths(
            len(network.layers), {span: number[kind] for span, (kind, _) in found.items()}
        )
        # words that the common cost model asks for beyond DeepFrack's count; None if it never fits
        self._margins: dict[Range, int | None] = {}
        self._alone = [self._layer_alone(i) for i in range(len(network.layers))]

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
        margin = self._margins[span] = None if known is None else known + max(1, missing)
        self._paths.change(span, self._scores.without(self._paths.kind(span), margin))

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

    def _path(self, weights: CostWeights) -> tuple[PlannedRange, ...] | None:
        """The shortest path over ends of ranges, all its tilings worked out."""
        energy, cycles = weights
        alone = np.array(
            [inf if a is None else energy * a.energy_pj + cycles * a.cycles for a in self._alone]
        )
        scores = self._scores.along(weights)
        while True:
            taken = self._paths.shortest(alone, scores.least)
            if taken is None:
                return None
            kinds = dict.fromkeys(kind for _, kind in taken if kind is not None)
            if not scores.raise_some(list(kinds)):
                return tuple(self._planned(span, kind, scores) for span, kind in taken)

    def _layer_alone(self, layer: int) -> PlannedRange | None:
        """A layer that streams all operands, as the layer model evaluates it."""
        group = FusionGroup((layer,))
        cost = self._evaluator.group(group)
        if isinstance(cost, Infeasible):
            return None
        energy = cost.dynamic_pj + self.benchmark.leakage_pj * cost.latency_cycles
        return PlannedRange(group, energy, float(cost.latency_cycles))

    def _planned(self, span: Range, kind: int | None, scores: ScoresAlong) -> PlannedRange:
        if kind is None:
            alone = self._alone[span[0]]
            if alone is None:
                raise AssertionError(f"layer {span[0]} is on the path and cannot run")
            return alone
        stack, tiling = self._scores.stacks[kind], scores.tilings[kind]
        if stack is None or tiling is None:
            raise AssertionError(f"range {span} is on the path and has no tiling")
        done = tiled_face(stack, tiling)
        # the stack may be of another range of the same kind
        shift = span[0] - stack.shape.layers[0]
        resident = tuple(sorted(i + shift for u in tiling.units for i in stack.units[u]))
        layers, first = tuple(range(*span)), done.faces[0]
        tile = (first.rows, first.columns)
        if done.faces == regular_faces(stack.shape.face, tile):
            group = FusionGroup(layers, tile, "recompute", resident)
        else:
            group = FusionGroup(layers, None, "recompute", resident, done.faces)
        return PlannedRange(group, done.energy_pj, done.cycles)


def _ranges_that_fit(
    known: KnownRanges, bench: TileBenchmark, work: CountedWork
) -> Iterator[tuple[Range, tuple[int, Stack]]]:
    """Yield ranges of layers that share data and that some tile fits, with kinds and stacks."""
    network, hardware = bench.network, bench.hardware
    count, stacks = len(network.layers), dict[int, Stack | None]()
    for start in range(count):
        misses = 0
        for end in range(start + 1, count + 1):
            kind = known.kind(start, end)
            if kind is None:
                continue
            if kind not in stacks:
                group = FusionGroup(tuple(range(start, end)))
                held = fusion_blocked(network, group, hardware) is None
                work.spend(known.figures(kind) if held else 0)
                stack = Stack(known.shape(kind), bench) if held else None
                stacks[kind] = stack if stack is not None and stack.fits else None
            found = stacks[kind]
            misses = 0 if found is not None else misses + 1
            if found is not None:
                yield (start, end), (kind, found)
            if misses == _PATIENCE:
                break


class DeepFrackPlanner(OneShotPlanner):
    """DeepFrack's planner as a fusion search, for the least energy x latency.

    Args:
        evaluator: evaluates layers alone, and has the mapper.
        work_limit: as of :class:`DeepFrackSearch`.

    Raises:
        ValueError: a limit below 1.
        WorkLimitError: from ``advance``, where a network has more.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator, work_limit: int | None = None) -> None:
        CountedWork("deepfrack", "", work_limit)  # refuses the limit now
        super().__init__(evaluator, lambda _: DeepFrackSearch(evaluator, work_limit).plan())
