"""Branch and bound over boxes of a space that is too large to be enumerated.

Multiobjective branch and bound: boxes whose lower bounds the front dominates are pruned; of the
others the one furthest from being dominated is cut in two, again and again. What is dropped is
counted, so at any time every point of the space is measured, in an open box, excluded by bounds, or
no feasible design.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space.design_space import Box, BoxedSpace, BoxStructure, Point, cut, size

from ..problem import DesignProblem
from .box_bounds import BoundedBox, BoxBounds
from .design_groups import DesignGroups
from .open_boxes import BoxTable, OpenBox
from .sharpening import Sharpener

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

#: Boxes in which the structure of designs is decided; a space with more is not covered.
_MOST_ROOTS: Final = 4096

#: Beyond any sum of logarithms of costs.
_NO_FRONT: Final = 1e6

#: Cuts of a parameter after which what they gained decides whether it is cut.
TRIALS: Final = 8

#: Boxes whose margins are worked out at a time.
_LOOKED_AT: Final = 64

#: Boxes that are followed down to a single design, for each design that is asked for.
_DIVES: Final = 16


@dataclass(frozen=True, eq=False)
class OpenBoxes:
    """The boxes that are still open.

    Attributes:
        boxes: how many.
        points: in them, those aside that were measured.
        bounds: float64[k, m], lower bounds of all designs there.
    """

    boxes: int
    points: int
    bounds: Floats


class BoxBranchAndBound:
    """Open boxes of a space, the one furthest from being dominated first.

    Nothing here depends on time: the same calls end in the same boxes.

    Args:
        problem: the space and its objectives.

    Attributes:
        infeasible: points that keep not all rules, caps and limits.
        possible: whether the space can be covered by boxes; if not, it has none.
    """

    def __init__(self, problem: DesignProblem) -> None:
        structure = BoxStructure(BoxedSpace(problem.space))
        self._boxed = structure.boxed
        self._bounds = BoxBounds(problem, structure)
        self._front: Floats = np.empty((0, len(problem.objective_set.objectives)))
        self._settled: list[tuple[int, ...]] = []
        #: the same as an array, while nothing was settled since
        self._settled_at: NDArray[np.int64] | None = None
        self._table = BoxTable(len(self._boxed.whole), self._front.shape[1])
        #: for each parameter what cuts of it gained, and how many there were
        self._gains: dict[int, tuple[float, int]] = {}
        #: points that :meth:`open_boxes` found, while nothing has changed since
        self._points: int | None = None
        self.infeasible = 0
        roots = structure.decided_boxes(_MOST_ROOTS)
        self.possible = roots is not None
        self._roots = roots or []
        for box in self._roots:
            self._open(box)

    def settle(self, point: Point) -> None:
        """Record that a design was measured: it is open no more."""
        positions = self._boxed.positions(self._boxed.space.canonical(point))
        self._settled.append(positions)
        self._points = self._settled_at = None
        self._table.settle(np.array(positions, np.int32))

    def hold_against(self, front: Floats) -> None:
        """Take the costs of the front's members, [k, m]; later fronts dominate earlier ones."""
        self._front, self._points = np.log(front), None

    def refine(self, cuts: int) -> None:
        """Cut the best boxes, so many of them, each after its tightest bounds."""
        self._points = None
        while cuts and (best := self._table.pop()) is not None:
            found, measured = self._bounds.known(best), best.measured
            if self._margins(found).max() < best.priority:
                # the front has grown since
                self._push(found, measured)
            elif not found.tight:
                tight = self._tightened(found)
                if tight is not None:
                    self._push(tight, measured)
            elif size(found.box) == 1:
                self._keep(found, measured)
            else:
                cuts -= 1
                for part in self._parts(found):
                    self._push(part, self._measured_in(part.box, measured))

    def open_boxes(self) -> OpenBoxes:
        """Drop the boxes that the front excludes by now, and return what is left."""
        left = OpenBoxes(*self._table.drop(np.exp(self._front)))
        self._points = left.points
        return left

    @property
    def open_points(self) -> int:
        """Points in open boxes, those aside that were measured."""
        return self.open_boxes().points if self._points is None else self._points

    def designs(self, n: int, known: Collection[str]) -> list[Point]:
        """Return up to ``n`` designs that may add to the front and are not in ``known``, by key.

        Each is found by following the box that is furthest from being dominated down to a single
        design, as if the designs before it came out at their bounds.
        """
        self._points, taken, expected = None, set(known), self._front[:0]
        points: list[Point] = []
        for _ in range(_DIVES * n):
            if len(points) == n:
                break
            found = self._dive(expected, taken)
            if found is not None and found.design is not None:
                taken.add(found.design.key)
                points.append(found.design.point)
                expected = np.vstack([expected, np.log(found.bounds)])
        return points

    def sharpener(self, corner: Sequence[float]) -> Sharpener:
        """Return what cuts the open boxes further, of its own: nothing changes here."""
        boxes = [self._bounds.known(self._table.box(int(row))) for row in self._table.rows()]
        settled = np.array(self._settled, np.int64).reshape(-1, len(self._boxed.whole))
        return Sharpener(self._bounds, boxes, settled, np.exp(self._front), corner)

    def groups(
        self, points: Sequence[Point], least: Floats, corner: Sequence[float]
    ) -> DesignGroups:
        """Return what bounds plans of open designs, with bounds ``least[n, m]`` of their own."""
        at = np.array([self._bounds.positions(point) for point in points], np.int64)
        at = at.reshape(-1, len(self._boxed.whole))
        return DesignGroups(self._bounds, self._roots, at, least, np.exp(self._front), corner)

    def settled(self) -> list[tuple[str, Point]]:
        """Return the designs that were measured, by key, each once."""
        points = [self._boxed.point(tuple((at, at + 1) for at in one)) for one in self._settled]
        return list({self._boxed.space.point_key(point): point for point in points}.items())

    def closest(
        self, point: Point, spaces: "PlanSpaces | None" = None, steps: bool = False
    ) -> Floats | None:
        """Return float64[m], the closest bounds of a design; None if it keeps not all limits.

        With ``spaces`` they hold for the plans of the planner's space, with ``steps`` as
        :meth:`.box_bounds.BoxBounds.planned` has them.
        """
        positions = self._boxed.positions(self._boxed.space.canonical(point))
        found = self._bounds.first(tuple((at, at + 1) for at in positions))
        if found is None:
            return None
        bounds = self._bounds
        close = bounds.closest(found) if spaces is None else bounds.planned(found, spaces, steps)
        return None if close is None else close.bounds[0]

    def state(self) -> dict[str, Any]:
        """Return what is open and what was learned, as JSON has it, without the front."""
        return {
            "open": self._table.state(),
            "settled": list(self._settled),
            "gains": list(self._gains.items()),
            "infeasible": self.infeasible,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            KeyError, ValueError, TypeError, IndexError: it is no such state; nothing was changed.
        """
        settled = [tuple(map(int, positions)) for positions in state["settled"]]
        gains = {int(i): (float(gain), int(count)) for i, (gain, count) in state["gains"]}
        infeasible = int(state["infeasible"])
        self._table.restore(state["open"])
        self._points = self._settled_at = None
        self.infeasible, self._settled, self._gains = infeasible, settled, gains

    def _dive(self, expected: Floats, known: Collection[str]) -> BoundedBox | None:
        """Follow the best box; return a design that may add to the front and is not known."""
        row = self._foremost(expected, known)
        if row is None:
            return None
        if self._table.leaves(np.array([row]))[0]:
            return self._bounds.known(self._table.box(row))
        best = self._table.take(row)
        found, measured = self._bounds.known(best), best.measured
        while found.design is None:
            parts = self._parts(found)
            if not parts:
                return None
            parts.sort(key=lambda part: float(self._margins(part, expected).max()))
            found = parts.pop()
            for part in parts:
                self._push(part, self._measured_in(part.box, measured))
            measured = self._measured_in(found.box, measured)
        kept = found if found.tight else self._tightened(found)
        if kept is None or kept.design is None:
            return None
        self._keep(kept, measured)
        return kept if kept.design.key not in known else None

    def _foremost(self, expected: Floats, known: Collection[str]) -> int | None:
        """Return the row of the box with the largest margin, none of a design that is known.

        Margins only fall as the front grows, so those of before tell where to stop looking.
        """
        rows, most = self._table.by_margin()
        found, best = None, -inf
        for start in range(0, len(rows), _LOOKED_AT):
            if most[start] <= best:
                break
            some = rows[start : start + _LOOKED_AT]
            bounds, starts = self._table.bounds(some)
            logs = np.log(bounds)
            alone = _margins_to(self._front, logs)
            self._table.lower(some, np.maximum.reduceat(alone, starts))
            margins = np.minimum(alone, _margins_to(expected, logs)) if len(expected) else alone
            margins, leaves = np.maximum.reduceat(margins, starts), self._table.leaves(some)
            for i in np.argsort(-margins, kind="stable"):
                if margins[i] <= best:
                    break
                if not leaves[i] or self._unknown(int(some[i]), known):
                    found, best = int(some[i]), float(margins[i])
                    break
        return found

    def _unknown(self, row: int, known: Collection[str]) -> bool:
        """Whether the design of a leaf is not known."""
        return self._boxed.space.point_key(self._boxed.point(self._table.box(row).box)) not in known

    def _open(self, box: Box) -> None:
        found = self._bounds.first(box)
        if found is None:
            self.infeasible += size(box)
        else:
            self._push(found, 0)

    def _push(self, found: BoundedBox, measured: int) -> None:
        """Queue a box that may add to the front."""
        margins = self._margins(found)
        most = float(margins.max(initial=0.0))
        if most > 0:
            left = found.only(margins > 0)
            self._table.push(
                OpenBox(left.box, left.slices, left.bounds, left.tight, measured, most)
            )

    def _keep(self, leaf: BoundedBox, measured: int) -> None:
        """Keep the tight bounds of a single design."""
        margin = float(self._margins(leaf).max())
        kept = OpenBox(leaf.box, leaf.slices, leaf.bounds, leaf.tight, measured, margin)
        self._table.push(kept, leaf=True)

    def _measured_in(self, part: Box, whole: int) -> int:
        """Return how many measured designs a part of a box has that has ``whole``."""
        if not whole:
            return 0
        if self._settled_at is None:
            self._settled_at = np.array(self._settled)
        at, runs = self._settled_at, np.array(part)
        return int(((runs[:, 0] <= at) & (at < runs[:, 1])).all(axis=1).sum())

    def _tightened(self, found: BoundedBox) -> BoundedBox | None:
        """Return a box with its tightest bounds; None if it is excluded."""
        tight = self._bounds.tightened(found)
        if tight is None:
            self.infeasible += size(found.box)
            return None
        return tight if self._margins(tight).max(initial=0.0) > 0 else None

    def _parts(self, found: BoundedBox) -> list[BoundedBox]:
        """Cut a box in the middle of one parameter; return the parts that are not excluded."""
        parameter = self._parameter(found.box)
        start, stop = found.box[parameter]
        before = float(self._margins(found).max())
        parts, gained = [], 0.0
        for box in cut(found.box, parameter, (start + stop) // 2):
            part = self._bounds.first(box)
            if part is None:
                self.infeasible += size(box)
                gained += before
                continue
            part = part.raised(found)
            margin = float(self._margins(part).max(initial=0.0))
            gained += before - margin
            if margin > 0:
                parts.append(part)
        gain, count = self._gains.get(parameter, (0.0, 0))
        self._gains[parameter] = gain + gained, count + 1
        return parts

    def _parameter(self, box: Box) -> int:
        """Return the parameter to cut: that which gained most per cut so far.

        Gains by the margin to the front of both parts (a pseudo-cost: Achterberg, Koch and
        Martin, "Branching rules revisited", 2005); each parameter is tried a few times first.
        """
        best, most = -1, -inf
        for i, (start, stop) in enumerate(box):
            if stop - start < 2:
                continue
            gain, count = self._gains.get(i, (0.0, 0))
            worth = gain / count if count >= TRIALS else inf
            if worth > most:
                best, most = i, worth
        return best

    def _margins(self, found: BoundedBox, expected: Floats | None = None) -> Floats:
        """Return by how much each slice of a box is from being dominated: [k].

        In the objective in which it is better than a member of the front by most (logarithms),
        for the member for which that is least. Without a front the sum of all objectives counts.
        """
        return self._margins_of(found.logs, expected)

    def _margins_of(self, logs: Floats, expected: Floats | None) -> Floats:
        margins = _margins_to(self._front, logs)
        if expected is None or not len(expected):
            return margins
        return np.minimum(margins, _margins_to(expected, logs))


def _margins_to(front: Floats, logs: Floats) -> Floats:
    if not len(front):
        return np.asarray(_NO_FRONT - logs.sum(axis=1))
    ahead = (front[:, None] - logs).max(axis=2)
    return np.asarray(ahead.min(axis=0))
