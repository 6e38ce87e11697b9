"""Bounds of the plans of one space on one design: the path of least product.

Steps are bounded as a whole, then by what moves in any of their tilings, then by tiling, then by
what layers and tiles cost with energy and cycles together, each once it lies on that path.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints, access_costs
from archloom.search.fusion.joint.tilings import TilingSums, moved_prices
from archloom.search.fusion.tiling import even_sides
from archloom.space.hardware import Hardware

from ..shortest_path import LeastProductPaths, Path
from .nests import KnownNests

if TYPE_CHECKING:
    from .plan_space import Listed, PlanSpace

Flags: TypeAlias = NDArray[np.bool_]

#: kinds of steps that are listed by tiling for one design; those that follow list more (ours)
_AT_ONCE: Final = 256

#: kinds of steps of which it is found out for one design what moves (ours)
_LOOKED: Final = 2048

#: share that the order of floating-point sums may take off a bound (ours)
_SUMS: Final = 1e-10

#: steps are listed together that lie on paths of at most so much more energy x latency (ours)
_NEAR: Final = 1e-3

#: times that figures on the path are made closer (ours)
_ROUNDS: Final = 200


class LeastOfPlans(NamedTuple):
    """What no plan of the space goes below, with any mappings.

    Attributes:
        energy_pj: of one pass, with leakage.
        latency_cycles: of one pass.
        product: of both, of one plan.
    """

    energy_pj: float
    latency_cycles: float
    product: float


class _Part(NamedTuple):
    """Rows that are tilings.

    Attributes:
        sums: of the tilings.
        counts: as of :class:`.plan_space.Listed`.
        least: float64[B, 2], of the kind of step of each.
        first: the row of the first one.
        twins: another row for each begins here.
    """

    sums: TilingSums
    counts: Ints
    least: Floats
    first: int
    twins: int


class PlansOnDesign:
    """A plan space on one design.

    Args:
        space: its tilings.
        design: one of the designs.
        hardware: what stands for all of them.
        leakage_pj: of the chip in a cycle, besides that of the hardware.
        alone: whether no other designs follow: what moves for nests, which designs with the same
            buffer share, takes as long to find out as what bounds them on this one.
    """

    def __init__(
        self,
        space: "PlanSpace",
        design: Hardware,
        hardware: Hardware,
        leakage_pj: float,
        alone: bool = False,
    ) -> None:
        self._space, self._hardware = space, hardware
        self._alone = alone
        #: by kind of step, what was found out about its nests
        self.known_nests: dict[int, KnownNests] = {}
        self._sides, self._uneven = even_sides(design), space.uneven(design, hardware)
        self._prices = moved_prices(hardware)
        self._added_pj = leakage_pj
        self._leakage_pj = access_costs(hardware).leakage_pj_per_cycle + leakage_pj
        self._inside = space.whole.inside(hardware)
        self._figures = space.whole.least(hardware, self._inside)
        self._figures[:, 0] += leakage_pj * self._figures[:, 1]
        self._least = self._figures.copy()
        self._costs = np.zeros((2, 0))
        #: parts of the sizes that have costs
        self._priced = 0
        edges = space.edges
        starts, ends = edges.edges.starts, edges.edges.ends
        self._paths = LeastProductPaths(edges.cuts, starts, ends, edges.kinds, edges.burdens)
        self._parts: list[_Part] = []
        self._streaming: dict[int, tuple[int, int]] = {}
        #: kinds of steps of rows that stand for all nests, and those that were raised
        self._nests: dict[int, int] = {}
        self._moving = set[int]()
        # kinds of steps of rows for nests, what these take at the least, and all of these rows
        self._cornered: dict[int, tuple[int, Floats, list[int]]] = {}
        # energy plus priced cycles of sizes that are known closely, and the price
        self._sums: dict[int, float] = {}
        self._price_pj = 0.0
        #: paths that were looked at
        self.looks = 0
        space.fill(self._sides, self._uneven)
        self._stream()
        self._nest()
        self._move()
        self._add(space.listed, space.filling[self._sides].listed)
        self._put(space.alone, instead=False)

    def least(
        self, steps: bool = True, tell: Callable[[int], None] = lambda _: None
    ) -> LeastOfPlans:
        """Return its bounds, once no step of the best path may be made closer, or many were.

        Args:
            steps: whether steps are made closer than by tiling.
            tell: hears how many paths were looked at.
        """
        path, rounds = self._listed_path(tell), 0
        while steps and rounds < _ROUNDS and self._closer(path):
            path, rounds = self._listed_path(tell), rounds + 1
        energy_pj, latency_cycles = self._paths.least_sums(self._figures)
        return LeastOfPlans(energy_pj, latency_cycles, path.product)

    def _listed_path(self, tell: Callable[[int], None]) -> Path:
        """Return the best path, once no step of it may be listed, or many were."""
        space, left, looked = self._space, _AT_ONCE, _LOOKED
        while True:
            path = self._paths.least_product(self._figures)
            assert path is not None, "every network runs layer by layer"
            self.looks += 1
            tell(self.looks)
            if any(row in self._nests for row in path.rows):
                self._tell_nests(path)
                continue
            wanted = space.worth_listing & ~space.is_listed
            kinds = [row for row in path.rows if row < len(wanted) and wanted[row]]
            if any(not space.is_moved[kind] for kind in kinds) and looked > 0:
                some = self._some(path, kinds, wanted & ~space.is_moved, looked)
                looked -= len(some)
                space.move(some, self._sides, self._uneven)
                self._move()
                continue
            if not kinds or left <= 0 or space.full:
                return path
            some = self._some(path, kinds, wanted, left)
            left -= len(some)
            new = space.list(some)
            self._add(new, space.fill(self._sides, self._uneven))

    def _some(self, path: Path, kinds: list[int], wanted: Flags, most: int) -> list[int]:
        """Return kinds of steps on the best path, and near it, that are wanted."""
        near = self._paths.near(path, _NEAR)
        return [kind for kind in dict.fromkeys([*kinds, *near]) if wanted[kind]][:most]

    def _move(self) -> None:
        """Raise kinds of steps by what moves for them in any tiles."""
        space = self._space
        kinds, moved = space.least_moved(self._prices, self._sides, self._uneven)
        # no more of those whose tilings are listed
        open_yet = ~space.is_listed[kinds]
        kinds, moved = kinds[open_yet], moved[open_yet]
        cycles = np.maximum(self._inside[kinds, 1], moved[:, 1])
        energy = self._inside[kinds, 0] + moved[:, 0] + self._leakage_pj * cycles
        figures = np.stack([energy, cycles], axis=1) * (1 - _SUMS)
        self._figures[kinds] = np.maximum(self._figures[kinds], figures)
        self._figures[: len(space.bare)][space.filling[self._sides].unfit] = inf

    def _stream(self) -> None:
        """Put layers that stream in the place of their kinds of steps."""
        numbers, figures = self._space.streamed.least(self._hardware)
        order = np.argsort(numbers[0], kind="stable")
        if not len(order):
            return
        (kinds, ways), figures = numbers[:, order], figures[order]
        figures[:, 0] += self._leakage_pj * figures[:, 1]
        first = len(self._figures)
        named = zip(kinds.tolist(), ways.tolist(), strict=True)
        self._streaming = dict(enumerate(named, first))
        # no layer is below its step as a whole
        self._figures = np.concatenate([self._figures, np.maximum(figures, self._least[kinds])])
        some, starts = np.unique(kinds, return_index=True)
        stops = np.append(starts[1:], len(kinds))
        self._paths.put_many(some, first + starts, first + stops, instead=True)

    def _nest(self) -> None:
        """Put a row for all nests beside the tilings of each kind of step that has some."""
        kinds, first = np.flatnonzero(self._space.nested), len(self._figures)
        self._nests = dict(enumerate(kinds.tolist(), first))
        self._figures = np.concatenate([self._figures, self._least[kinds]])
        starts = first + np.arange(len(kinds))
        self._paths.put_many(kinds, starts, starts + 1, instead=False)

    def _tell_nests(self, path: Path) -> None:
        """Raise rows on a path that stand for all nests by what moves for these; those that were,
        replace by rows of which a combination is below each nest."""
        price_pj = path.energy / path.latency
        for row in path.rows:
            kind = self._nests.get(row)
            if kind is None:
                continue
            least = self._figures[row].copy()
            if row not in self._moving and not self._alone:
                self._moving.add(row)
                self._figures[row] = self._space.moving_nests(self._hardware, kind, least)
                continue
            del self._nests[row]
            # what is known of all nests cuts their polygon; corners raised to it would be too high
            found = self._space.nests(self._hardware, kind, least, price_pj, self._added_pj)
            if found is not None:
                self.known_nests[kind] = KnownNests(found, close=False)
                rows = self._instead(row, found)
                self._cornered |= dict.fromkeys(rows, (kind, least, rows))

    def _instead(self, row: int, found: Floats) -> list[int]:
        """Put rows in the place of one, and return which they are."""
        rows = list(range(len(self._figures), len(self._figures) + len(found)))
        self._figures = np.concatenate([self._figures, found])
        if rows:
            self._paths.insert(row, rows)
        self._figures[row] = inf
        return rows

    def _tell_nests_closely(self, row: int) -> None:
        """Put closer figures of nests in the place of those of which a row is one."""
        kind, least, rows = self._cornered[row]
        for one in rows:
            del self._cornered[one]
        found = self._space.nests(
            self._hardware, kind, least, self._price_pj, self._added_pj, close=True
        )
        assert found is not None, "they were known less closely"
        self.known_nests[kind] = KnownNests(found, close=True)
        self._figures[rows] = inf
        self._instead(row, found)

    def _add(self, listed: "Listed", filling: "Listed") -> None:
        """Put tilings in the place of kinds of steps."""
        space = self._space
        never = (space.bare & space.is_listed) | space.filling[self._sides].unfit
        self._figures[: len(never)][never] = inf
        self._put(listed, instead=True)
        self._put(filling, instead=False)

    def _put(self, listed: "Listed", instead: bool) -> None:
        """Put tilings beside other ways to run steps, or instead of them; each has two rows, which
        tell apart plans that take more energy and plans that take more cycles."""
        self._price()
        if listed.sums is None:
            return
        first, total = len(self._figures), int(listed.counts.sum())
        least = np.repeat(self._least[listed.kinds], listed.counts, axis=0)
        part = _Part(listed.sums, listed.counts, least, first, first + total)
        self._parts.append(part)
        self._figures = np.concatenate([self._figures, *self._summed(part.sums, least)])
        stops = np.cumsum(listed.counts)
        starts = stops - listed.counts
        # nests stay beside tilings
        alone = ~self._space.nested[listed.kinds] if instead else np.zeros(len(starts), np.bool_)
        if instead:
            self._figures[listed.kinds[~alone]] = inf
        for some, only in ((alone, True), (~alone, False)):
            kinds, begins, ends = (of[some] for of in (listed.kinds, starts, stops))
            self._paths.put_many(kinds, first + begins, first + ends, only)
        self._paths.put_many(listed.kinds, first + total + starts, first + total + stops, False)

    def _summed(self, sums: TilingSums, least: Floats) -> tuple[Floats, Floats]:
        """Return float64[B, 2], figures of tilings, twice: each mapping is above one of both."""
        price_pj = self._price_pj
        energy, cycles = sums.totals_of(self._costs, self._prices)
        figures = np.stack([energy + self._leakage_pj * cycles, cycles], axis=1)
        # no tiling is below its step as a whole
        figures = np.maximum(figures, least)
        if not price_pj:
            return figures, figures
        whole_pj = self._leakage_pj + price_pj
        priced = np.zeros_like(self._costs)
        priced[0] = self._costs[0] + whole_pj * self._costs[1]
        priced[0, list(self._sums)] = list(self._sums.values())
        both = sums.totals_of(priced, self._prices)[0]
        both += whole_pj * sums.waiting_cycles(self._prices)
        slower, dearer = figures.copy(), figures
        slower[:, 1] = np.maximum(slower[:, 1], (both - slower[:, 0]) / price_pj)
        dearer[:, 0] = np.maximum(dearer[:, 0], both - price_pj * dearer[:, 1])
        return slower, dearer

    def _closer(self, path: Path) -> bool:
        """Make figures of steps on a path closer; whether there were any to do so."""
        before = self._figures[list(path.rows)]
        self._price_pj = self._price_pj or path.energy / path.latency
        for row in path.rows:
            if row in self._streaming:
                self._tell_apart(row)
            if row in self._cornered:
                self._tell_nests_closely(row)
        tiled = [(part, n) for row in path.rows for part, n in self._tilings(row)]
        places = dict.fromkeys(place for part, n in tiled for place in _sizes(part, n))
        whole_pj = self._leakage_pj + self._price_pj
        for place in places:
            if place in self._sums or not self._space.has_corners(place):
                continue
            corners = self._space.corners(self._hardware, place).T
            energy, cycles = np.maximum(corners, self._costs[:, place, None])
            self._costs[:, place] = energy.min(), cycles.min()
            self._sums[place] = float((energy + whole_pj * cycles).min())
        for part, n in tiled:
            self._raise(part, n)
        return bool((self._figures[list(path.rows)] > before).any())

    def _tell_apart(self, row: int) -> None:
        """Put rows in the place of that of a layer which streams."""
        kind, way = self._streaming.pop(row)
        corners = self._space.streamed.corners(self._hardware, kind, way)
        corners[:, 0] += self._leakage_pj * corners[:, 1]
        corners = np.maximum(corners, self._figures[row])
        self._instead(row, corners)

    def _tilings(self, row: int) -> Iterator[tuple[_Part, int]]:
        """Yield the tiling that a row is, if it is one."""
        for part in self._parts:
            count = len(part.least)
            if part.first <= row < part.first + 2 * count:
                yield part, (row - part.first) % count

    def _raise(self, part: _Part, n: int) -> None:
        """Raise the figures of all tilings of the same kind of step as one."""
        ends = np.cumsum(part.counts)
        at = int(np.searchsorted(ends, n, side="right"))
        some = slice(int(ends[at] - part.counts[at]), int(ends[at]))
        starts = part.sums.starts[some.start : some.stop + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        sums = TilingSums(
            starts - starts[0],
            part.sums.places[inside],
            part.sums.times[inside],
            part.sums.rounded[some],
            part.sums.words[:, some],
            part.sums.waiting[some],
        )
        rows = self._summed(sums, part.least[some])
        for first, own in zip((part.first, part.twins), rows, strict=True):
            here = slice(first + some.start, first + some.stop)
            self._figures[here] = np.maximum(self._figures[here], own)

    def _price(self) -> None:
        """Work out what sizes cost that are new."""
        short = self._space.places - self._costs.shape[1]
        if short > 0:
            self._costs = np.concatenate([self._costs, np.zeros((2, short))], axis=1)
        for places, tiles in self._space.sizes[self._priced :]:
            self._costs[:, places] = tiles.costs(self._hardware)
        self._priced = len(self._space.sizes)


def _sizes(part: _Part, n: int) -> list[int]:
    """Return the places of the sizes of a tiling."""
    own: list[int] = part.sums.places[part.sums.starts[n] : part.sums.starts[n + 1]].tolist()
    return own
