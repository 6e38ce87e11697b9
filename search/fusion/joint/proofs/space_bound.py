"""The least EDP of all paths through the cut graph: a bound of every plan of the planner's space.

Energy and latency of a path are sums over its steps. With figures that no way to run a step goes
below, the path of least product bounds every path. It is found again and again; its steps are first
bounded as a whole, then by tiling and by nests, then priced, each only once it lies on that path,
so that the bound rises until it meets the best plan or the effort is spent. Nests are not priced:
once they lie on that path, they are bounded by energy and cycles of their tiles together.
"""

from collections.abc import Callable, Mapping as Dict
from math import exp, inf, log
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, access_costs
from archloom.evaluators.fusion.buffer import streams
from archloom.search.fusion.joint.tilings import BoundedTilings
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan

from ...plan_evaluator import MemoizedPlanEvaluator
from ..group_options import GroupOptions
from ..option_batch import GroupWay
from ..shortest_path import LeastProductPaths, Path
from .mapped_sizes import mapped_sizes
from .nests import KnownNests, NestRows, nest_corners
from .step_bounds import least_of_kinds

#: relative difference of energy x latency that is none: the order of sums makes as much
_EQUAL: Final = 1e-9

#: nothing is known
_NO_NESTS: Final[Dict[int, KnownNests]] = {}

#: steps for which finding a mapping, or evaluating a tiling, counts: listing the tilings of a group
#: takes about half as long (ours)
_PRICED: Final = 2


class SpaceProof(NamedTuple):
    """What is known of all plans of the space.

    Attributes:
        bound: ln of an EDP (J s) that none of them is below, with the mappings that the search
            finds.
        any_mappings: the same with any mappings.
        better: a plan that is better than the best one known, if there is one.
        steps: kinds of steps that were listed, and twice the sizes and tilings that were priced.
    """

    bound: float
    any_mappings: float
    better: FusionPlan | None
    steps: int


def prove_space(
    evaluator: MemoizedPlanEvaluator,
    options: GroupOptions,
    best: float,
    most: int,
    tell: Callable[[int], None] = lambda _: None,
    nests: Dict[int, KnownNests] = _NO_NESTS,
) -> SpaceProof:
    """Bound the EDP of all paths, until no better one is left or the effort is spent.

    Args:
        evaluator, options: of the plans; :func:`.step_bounds.unbounded` has nothing against them.
        best: ln EDP (J s) of the best plan that is known.
        most: kinds of steps that are listed by tiling, and twice the sizes and tilings that are
            priced.
        tell: hears how many were looked at.
        nests: what is known of those of kinds of steps.
    """
    hardware = evaluator.hardware
    # energy of all images in pJ x cycles, from J s of one
    unit = 1e-12 / (evaluator.network.batch * hardware.frequency_mhz * 1e6)
    search = _Steps(evaluator, options, nests)
    known = exp(best) / unit
    least = search.raise_bound(known * (1 - _EQUAL), most, tell)
    better = search.plan_below(known * (1 - _EQUAL))
    bound, any_mappings = (
        log(of * unit) if of < inf else best for of in (least, search.any_mappings)
    )
    return SpaceProof(bound, any_mappings, better, search.spent)


def listed_bounds(
    options: GroupOptions, kind: int, least: Floats, leakage_pj: float
) -> tuple[BoundedTilings, Floats] | None:
    """Return the ways to run a kind of step besides nests, and float64[n, 2], energy with leakage
    and cycles that no mapping of each goes below; None if they are not listed.

    Args:
        options, kind: of the step.
        least: float64[2], of any way.
        leakage_pj: of the chip, in a cycle.
    """
    tilings = options.every_tiling(kind)
    if tilings is None:
        return None
    figures = _with_leakage(tilings.figures(), least, leakage_pj)
    if options.edges().members[kind] == 1:
        # a layer by itself reuses weights over images and reads no padding, what tiles do not
        figures[[streams(way.group) for way in tilings.ways]] = least
    return tilings, figures


def _with_leakage(figures: Floats, least: Floats, leakage_pj: float) -> Floats:
    """Return float64[n, 2], energy with leakage and cycles, from those without leakage."""
    energy, cycles = figures
    with_leakage = np.stack([energy + leakage_pj * cycles, cycles], axis=1)
    at_least: Floats = np.maximum(with_leakage, least)
    return at_least


class _Listed:
    """The tilings of a kind of step, as rows from a first one on, and how many sizes had been
    mapped when their figures were worked out last."""

    def __init__(self, tilings: BoundedTilings, first: int, least: Floats) -> None:
        self.tilings, self.first, self.least = tilings, first, least
        self.mapped = 0


class _Steps:
    """Rows of all steps: the first K bound kinds of steps as a whole, others are ways to run one.

    Args:
        evaluator, options, nests: as of :func:`prove_space`.
    """

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, options: GroupOptions, nests: Dict[int, KnownNests]
    ) -> None:
        self._evaluator, self._options, self._known_nests = evaluator, options, nests
        self._kinds = options.edges()
        self._leakage_pj = access_costs(evaluator.hardware).leakage_pj_per_cycle
        self._figures = least_of_kinds(
            evaluator.network, evaluator.hardware, options.whole, options.tiled
        )
        self._count = len(self._figures)
        self._ways: list[GroupWay | None] = [None] * self._count
        # of rows that are tilings, whose figures rise with what is known of their sizes
        self._tiled: dict[int, _Listed] = {}
        self._sizes = mapped_sizes(evaluator, options)
        # rows about which nothing more can be found out, and those that were priced
        self._done, self._exact = set[int](), set[int]()
        # of rows for nests that may be made closer: the kind of step, and all of its rows
        self._cornered: dict[int, tuple[int, list[int]]] = {}
        self._nest_rows = NestRows()
        self._nestable: NDArray[np.bool_] = options.nestable
        self._paths = self._new_paths()
        # energy that a cycle is worth on the least path
        self._price_pj = 0.0
        #: kinds of steps that were listed, and twice the sizes and tilings that were priced
        self.spent = 0
        #: energy x latency that no path is below with any mappings
        self.any_mappings = 0.0

    def _new_paths(self) -> LeastProductPaths:
        kinds = self._kinds
        starts, ends = kinds.edges.starts, kinds.edges.ends
        return LeastProductPaths(kinds.cuts, starts, ends, kinds.kinds, kinds.burdens)

    def raise_bound(self, known: float, most: int, tell: Callable[[int], None]) -> float:
        """Return energy x latency that no path is below, at most ``known``."""
        priced = False
        while True:
            path = self._paths.least_product(self._figures)
            least = inf if path is None or path.product >= known else path.product
            if not priced:
                self.any_mappings = least
            if path is None or least == inf:
                return inf
            self._price_pj = path.energy / path.latency
            if self._raise_tilings(path.rows):
                continue
            rows = [row for row in dict.fromkeys(path.rows) if row not in self._done]
            if not rows or self.spent >= most:
                return path.product
            unlisted = [row for row in rows if row < self._count]
            nests = [] if unlisted else [row for row in rows if row in self._cornered]
            priced |= not (unlisted or nests)
            for row in unlisted or nests or rows:
                self.spent += 1 if unlisted or nests else _PRICED
                tell(self.spent)
                if unlisted:
                    self._list(row)
                elif nests:
                    self._tell_nests_closely(row)
                elif not self._map_size(row):
                    self._price(row)

    def _raise_tilings(self, rows: tuple[int, ...]) -> bool:
        """Raise figures of tilings to what is known of their sizes; whether any of ``rows`` did."""
        rose = False
        for row in rows:
            listed = self._tiled.get(row)
            if listed is None or listed.mapped == self._sizes.count:
                continue
            listed.mapped = self._sizes.count
            tilings, before = listed.tilings, self._figures[row].copy()
            found = tilings.figures(self._sizes.at(tilings.places))
            figures = _with_leakage(found, listed.least, self._leakage_pj)
            open_rows = [n for n in range(len(tilings)) if listed.first + n not in self._done]
            places = listed.first + np.array(open_rows, np.int64)
            self._figures[places] = np.maximum(self._figures[places], figures[open_rows])
            rose |= bool((self._figures[row] > before * (1 + _EQUAL)).any())
        return rose

    def _map_size(self, row: int) -> bool:
        """Find the mapping of the size of a tiling that matters most; whether there is one of which
        it is not known."""
        listed = self._tiled.get(row)
        if listed is None:
            return False
        tilings, n = listed.tilings, row - listed.first
        part = slice(tilings.starts[n], tilings.starts[n + 1])
        places = tilings.places[part]
        unknown = self._sizes.unknown(places)
        if not unknown.any():
            return False
        weights = tilings.times[part] * ((1.0, self._price_pj) @ tilings.costs[:, part])
        self._sizes.find(int(places[np.where(unknown, weights, -1.0).argmax()]))
        return True

    def _list(self, kind: int) -> None:
        """Put the ways to run a kind of step in the place of its bound."""
        self._done.add(kind)
        found = listed_bounds(self._options, kind, self._figures[kind], self._leakage_pj)
        if found is None:
            return
        tilings, figures = found
        first = len(self._figures)
        rows = list(range(first, first + len(figures)))
        # a layer by itself may reuse weights over images, what its tiles do not
        if self._kinds.members[kind] > 1:
            listed = _Listed(tilings, first, self._figures[kind].copy())
            self._tiled |= dict.fromkeys(rows, listed)
        self._figures = np.concatenate([self._figures, figures])
        self._ways += tilings.ways
        if self._nestable[kind]:
            rows += self._nests(kind)
        self._paths.replace(kind, rows)
        if not rows:
            self._drop_larger(kind)

    def _nests(self, kind: int) -> list[int]:
        """Return rows of which some combination is below each nest of a kind of step: its bound as
        a whole where nothing nearer is known."""
        known = self._known_nests.get(kind)
        found = self._nest_corners(kind) if known is None else known.corners
        if found is None:
            return [kind]
        rows = self._new_rows(found)
        if known is not None and known.close:
            self._done.update(rows)
        else:
            self._cornered |= dict.fromkeys(rows, (kind, rows))
        return rows

    def _nest_corners(self, kind: int, rows: NestRows | None = None) -> Floats | None:
        network, hardware = self._evaluator.network, self._evaluator.hardware
        layers, whole = self._kinds.firsts.layers(kind), self._figures[kind]
        return nest_corners(network, hardware, layers, whole, self._price_pj, rows=rows)

    def _new_rows(self, figures: Floats) -> list[int]:
        """Add rows that are no single way to run a step, and return which they are."""
        rows = list(range(len(self._figures), len(self._figures) + len(figures)))
        self._figures = np.concatenate([self._figures, figures])
        self._ways += [None] * len(rows)
        return rows

    def _tell_nests_closely(self, row: int) -> None:
        """Put closer figures of nests in the place of those of which a row is one."""
        if row not in self._cornered:
            return  # it was another row of the same nests
        kind, before = self._cornered[row]
        for one in before:
            del self._cornered[one]
        found = self._nest_corners(kind, self._nest_rows)
        assert found is not None, "they were known less closely"
        self._figures[before] = inf
        rows = self._new_rows(found)
        self._done.update(before, rows)
        if rows:
            self._paths.insert(row, rows)

    def _drop_larger(self, small: int) -> None:
        """Leave out groups that contain one that fits nowhere: they hold its maps too, and more."""
        larger = self._kinds.containing(small) & ~self._nestable
        for kind in np.flatnonzero(larger).tolist():
            self._figures[kind] = inf

    def _price(self, row: int) -> None:
        self._done.add(row)
        way = self._ways[row]
        assert way is not None, "whole kinds of steps are listed"
        cost = self._evaluator.group(way.group, way.residents)
        if isinstance(cost, Infeasible):
            self._figures[row] = inf
            return
        cycles = cost.latency_cycles
        self._figures[row] = cost.dynamic_pj + self._leakage_pj * cycles, cycles
        self._exact.add(row)

    def plan_below(self, known: float) -> FusionPlan | None:
        """Return the best plan of steps that were priced, if it is below what is known."""
        figures = np.full_like(self._figures, inf)
        exact = sorted(self._exact)
        figures[exact] = self._figures[exact]
        self._paths.reconsider()
        path: Path | None = self._paths.least_product(figures)
        if path is None or path.product >= known:
            return None
        ways = [way for row in path.rows if (way := self._ways[row]) is not None]
        return self._options.plan(ways, [self._kinds.edges[edge] for edge in path.edges])
