"""Boxes cut once more when a study is over, those first that could add most to the hypervolume.

While a study runs, boxes that are furthest from being dominated are cut, which finds designs. In
the end the certificate asks something else: how much hypervolume open boxes leave together
(:mod:`.missing_volume`). Boxes get the closest bounds there are.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space.design_space import Box, cut, size

from .box_bounds import BoundedBox, BoxBounds
from .missing_volume import counts_of, drawn_points, reached

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

#: Boxes that are cut before all are compared anew.
_AT_ONCE: Final = 16

#: What is known of a box: what its bounds were while the study ran, the closest ones, and of single
#: designs, where plans are bounded, more of the steps of the best plan.
_KNOWN, _CLOSE, _CLOSEST = range(3)

#: Cuts of a parameter after which what they gained decides whether it is cut.
_TRIALS: Final = 8


@dataclass(frozen=True, eq=False)
class Sharpened:
    """What is left of open boxes.

    Attributes:
        boxes: how many.
        points: in them, those aside that were measured.
        bounds: float64[k, m], lower bounds of all designs there.
        infeasible: points that turned out to keep not all rules, caps and limits.
        cuts: how many boxes were cut.
        plans: of how many boxes plans were bounded.
    """

    boxes: int
    points: int
    bounds: Floats
    infeasible: int
    cuts: int
    plans: int


class Sharpener:
    """Cuts boxes; nothing depends on time.

    Args:
        bounds: of boxes.
        boxes: that are open.
        settled: int64[n, parameters], positions of the designs that were measured.
        front: float64[k, m], costs of its members.
        corner: of hypervolumes; nothing beyond counts.
    """

    def __init__(
        self,
        bounds: BoxBounds,
        boxes: Sequence[BoundedBox],
        settled: NDArray[np.int64],
        front: Floats,
        corner: Sequence[float],
    ) -> None:
        self._bounds, self._front, self._settled = bounds, front, settled
        self._boxes = [left for box in boxes if (left := self._left(box)) is not None]
        self._close = np.full(len(self._boxes), _KNOWN)
        self._points = self._draw(corner)
        self._reached = [self._reach(box) for box in self._boxes]
        #: for each parameter what cuts of it gained, and how many there were
        self._gains: dict[int, tuple[float, int]] = {}
        self._infeasible = self._cuts = self._plans = 0
        self._spaces: PlanSpaces | None = None

    def run(self, cuts: int, told: Callable[[int], None]) -> None:
        """Cut up to so many boxes; ``told`` hears of steps of the work, of which there are as many
        as cuts at the most.
        """
        # two parts of a box take as long as two boxes
        self._follow(2 * cuts, 2, told)

    def bound_plans(self, spaces: "PlanSpaces", most: int, told: Callable[[int], None]) -> None:
        """Bound all plans of the planner's space for up to so many boxes, and cut these further.

        Args:
            spaces: of the networks.
            most: boxes.
            told: hears of steps of the work, of which there are as many at the most.
        """
        self._spaces = spaces
        self._close[:] = _KNOWN
        self._gains.clear()
        self._plans = most - self._follow(most, 1, told)

    def _follow(self, left: int, step: int, told: Callable[[int], None]) -> int:
        """Give the closest bounds to the best boxes, so many, and cut those that have them; return
        how many were not given. So many make a ``step`` of which ``told`` hears."""
        while left > 0 and (rows := self._best(left)):
            new: list[tuple[BoundedBox, int]] = []
            before = left
            for row in rows:
                box = self._boxes[row]
                unlike = self._bounds.deciding(box.box) if self._spaces else []
                if unlike:
                    new += [
                        (part, _KNOWN) for part in self._cut(box, self._parameter(box.box, unlike))
                    ]
                elif self._close[row] == _CLOSE and size(box.box) > 1:
                    new += [(part, _CLOSE) for part in self._parts(row)]
                    self._cuts += 1
                    left -= 2
                else:
                    further = int(self._close[row]) + 1
                    close = self._closest(box, further)
                    new += [] if close is None else [(close, further)]
                    left -= 1
            self._replace(rows, new)
            told(before // step - max(left, 0) // step)
        return max(left, 0)

    def _best(self, left: int) -> list[int]:
        """Return the boxes that count most, none of which is a design with the closest bounds."""
        score = counts_of(self._reached, len(self._points))
        single = np.array([size(box.box) == 1 for box in self._boxes], np.bool_)
        score[single & (self._close == (_CLOSE if self._spaces is None else _CLOSEST))] = 0
        order = np.argsort(-score, kind="stable")[: min(_AT_ONCE, -(-left // 2))]
        return [int(row) for row in order if score[row] > 0]

    def _replace(self, rows: list[int], new: list[tuple[BoundedBox, int]]) -> None:
        """Put boxes in the place of others, each with what is known of it."""
        kept = np.setdiff1d(np.arange(len(self._boxes)), rows)
        self._boxes = [self._boxes[row] for row in kept] + [box for box, _ in new]
        self._close = np.append(self._close[kept], np.array([close for _, close in new], np.int64))
        self._reached = [self._reached[row] for row in kept] + [self._reach(box) for box, _ in new]

    def _closest(self, box: BoundedBox, known: int = _CLOSE) -> BoundedBox | None:
        """Return a box with closer bounds, None if nothing of it is left."""
        if self._spaces is None:
            close = self._bounds.closest(box)
        else:
            close = self._bounds.planned(box, self._spaces, known == _CLOSEST)
        if close is None:
            self._infeasible += size(box.box)
            return None
        return self._left(close)

    def _parts(self, row: int) -> list[BoundedBox]:
        """Cut a box; return what is left of its parts, with the closest bounds."""
        found, before = self._boxes[row], len(self._reached[row])
        parameter = self._parameter(found.box)
        close = [self._closest(part) for part in self._cut(found, parameter)]
        parts = [part for part in close if part is not None]
        after = sum(len(self._reach(part)) for part in parts)
        gain, count = self._gains.get(parameter, (0.0, 0))
        self._gains[parameter] = gain + 2.0 - after / max(before, 1), count + 1
        return parts

    def _cut(self, found: BoundedBox, parameter: int) -> list[BoundedBox]:
        """Cut a box in the middle of one parameter; return what is left of its parts."""
        start, stop = found.box[parameter]
        parts = []
        for box in cut(found.box, parameter, (start + stop) // 2):
            part = self._bounds.first(box)
            if part is None:
                self._infeasible += size(box)
                continue
            left = self._left(part.raised(found))
            parts += [] if left is None else [left]
        return parts

    def _parameter(self, box: Box, some: Collection[int] | None = None) -> int:
        """Return the parameter to cut: that which gained most per cut so far (pseudo-costs, as
        while the study runs); one of ``some`` if they are given.
        """
        best, most = -1, -inf
        for i, (start, stop) in enumerate(box):
            gain, count = self._gains.get(i, (0.0, 0))
            worth = gain / count if count >= _TRIALS else inf
            if stop - start > 1 and worth > most and (some is None or i in some):
                best, most = i, worth
        return best

    def _left(self, box: BoundedBox) -> BoundedBox | None:
        """Return what the front leaves of a box, None if that is nothing or was measured."""
        beaten = (self._front[:, None] <= box.bounds).all(axis=2).any(axis=0)
        open_ = np.asarray(~beaten, np.bool_)
        if not open_.any() or self._measured(box.box) == size(box.box):
            return None
        return box.only(open_)

    def _measured(self, box: Box) -> int:
        if not len(self._settled):
            return 0
        runs = np.array(box)
        inside = (runs[:, 0] <= self._settled) & (self._settled < runs[:, 1])
        return int(inside.all(axis=1).sum())

    def _draw(self, corner: Sequence[float]) -> Floats:
        """Draw points between all bounds and the corner that the front does not dominate."""
        high, front = np.log(corner), np.log(self._front)
        if not self._boxes:
            return high[:0].reshape(0, len(high))
        low = np.min([box.logs.min(axis=0) for box in self._boxes], axis=0)
        return drawn_points(low, high, front)

    def _reach(self, box: BoundedBox) -> NDArray[np.int64]:
        """Return which points the bounds of a box dominate."""
        return reached(self._points, box.logs)

    def left(self) -> Sharpened:
        """Return what is left of the boxes."""
        boxes = self._boxes
        points = sum(size(box.box) - self._measured(box.box) for box in boxes)
        rows = [box.bounds for box in boxes]
        bounds = np.vstack(rows) if rows else self._front[:0]
        return Sharpened(len(boxes), points, bounds, self._infeasible, self._cuts, self._plans)
