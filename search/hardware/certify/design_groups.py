"""Open designs of an enumerated space whose plans are bounded in groups, when a study is over.

Each design has bounds of its own from the start. The smallest box around a group of them has bounds
of plans, which hold for all of the group; designs that the front then dominates leave it. Groups
are cut, those first that could add most to the hypervolume (:mod:`.missing_volume`), down to single
designs.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.space.design_space import Box

from ...pareto import dominated_by, non_dominated
from .box_bounds import BoxBounds
from .missing_volume import counts_of, drawn_points, reached

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

#: Groups that are bounded before all are compared anew.
_AT_ONCE: Final = 16

#: What is known of a group: bounds from before it was cut, those of its box, and of single designs
#: more of the steps of the best plan.
_KNOWN, _CLOSE, _CLOSEST = range(3)

#: Share of the points that still matter, below which others are drawn.
_WORN: Final = 0.5

#: Cuts by a parameter after which what they gained decides whether it is cut.
_TRIALS: Final = 8


class _Group(NamedTuple):
    """Some designs.

    Attributes:
        rows: int64[n], which ones.
        known: of their bounds.
        by: the parameter by which it was cut from another group; -1 for none.
    """

    rows: Ints
    known: int
    by: int


class DesignGroups:
    """Bounds plans of open designs; nothing depends on time.

    Args:
        bounds: of boxes.
        roots: boxes in which the structure is decided; each design is in one of them.
        at: int64[n, parameters], positions of the designs.
        least: float64[n, m], bounds of each.
        front: float64[k, m], costs of its members, none of which dominates bounds of a design.
        corner: of hypervolumes; nothing beyond counts.
    """

    def __init__(
        self,
        bounds: BoxBounds,
        roots: Iterable[Box],
        at: NDArray[np.int64],
        least: Floats,
        front: Floats,
        corner: Sequence[float],
    ) -> None:
        self._bounds, self._at, self._front = bounds, at, front
        #: float64[n, m], bounds of each design, infinite of those that are open no more
        self.least = least.copy()
        self._high = np.log(corner)
        roots = list(roots)
        self._rates = bounds.rates(roots[0]) if roots else []
        self._others = [i for i in range(at.shape[1]) if i not in self._rates]
        self._groups = list(self._alike(roots))
        self._points, self._reached = self._draw()
        #: for each parameter what cuts by it gained, and how many there were
        self._gains: dict[int, tuple[float, int]] = {}

    def bound_plans(self, spaces: "PlanSpaces", most: int, told: Callable[[int], None]) -> int:
        """Bound all plans of the planner's space for up to so many groups; return how many were.

        Args:
            spaces: of the networks.
            most: groups.
            told: hears of each one.
        """
        left = most
        while left > 0 and (places := self._best(left)):
            new: list[_Group] = []
            for place in places:
                group = self._groups[place]
                if group.known != _KNOWN and len(group.rows) > 1:
                    new += self._parts(group)
                    continue
                found = self._bounded(group, spaces)
                new += [] if found is None else [found]
                after = 0 if found is None else len(self._reach(found))
                if group.by >= 0:
                    gain, count = self._gains.get(group.by, (0.0, 0))
                    share = 1.0 - after / max(len(self._reached[place]), 1)
                    self._gains[group.by] = gain + share, count + 1
                left -= 1
                told(1)
            self._replace(places, new)
        return most - max(left, 0)

    def _alike(self, roots: Iterable[Box]) -> Iterable[_Group]:
        """Yield groups of designs with the same tilings: as large ones as have bounds."""
        alike: dict[tuple[int, ...], list[Ints]] = {}
        for root in roots:
            runs = np.array(root)
            inside = ((runs[:, 0] <= self._at) & (self._at < runs[:, 1])).all(axis=1)
            rows, deciding = np.flatnonzero(inside), self._bounds.deciding(root)
            keys, of = np.unique(self._at[rows][:, deciding], axis=0, return_inverse=True)
            for n, key in enumerate(keys.tolist()):
                alike.setdefault((*deciding, *key), []).append(rows[of.ravel() == n])
        for parts in alike.values():
            yield from (_Group(rows, _KNOWN, -1) for rows in self._joined(parts))

    def _joined(self, parts: Sequence[Ints]) -> list[Ints]:
        """Join parts as long as the structure is decided in the box around them."""
        found: list[Ints] = []
        for part in parts:
            for n, rows in enumerate(found):
                together = np.concatenate([rows, part])
                if self._bounds.decided(self._box(together)):
                    found[n] = together
                    break
            else:
                found.append(part)
        return found

    def _box(self, rows: Ints) -> Box:
        """Return the smallest box around some designs."""
        at = self._at[rows]
        starts, stops = at.min(axis=0).tolist(), (at.max(axis=0) + 1).tolist()
        return tuple(zip(starts, stops, strict=True))

    def _best(self, left: int) -> list[int]:
        """Return the groups that count most, none of which is a design with the closest bounds."""
        open_, count = self._to_be_gained()
        if count < len(self._points) * _WORN:
            self._points, self._reached = self._draw()
            open_, _ = self._to_be_gained()
        score = counts_of(open_, len(self._points))
        order = np.argsort(-score, kind="stable")[: min(_AT_ONCE, left)]
        return [int(place) for place in order if score[place] > 0]

    def _draw(self) -> tuple[Floats, list[Ints]]:
        """Return points where something is to be gained, and which of them each group reaches."""
        logs = np.log(self.least[np.isfinite(self.least).all(axis=1)])
        if not len(logs):
            return logs, [np.zeros(0, np.int64) for _ in self._groups]
        single = [group.rows[0] for group in self._groups if group.known == _CLOSEST]
        kept = np.log(np.vstack([self._front, self.least[single]]))
        low, few = logs.min(axis=0), logs[non_dominated(logs)]
        points = drawn_points(low, self._high, kept[non_dominated(kept)], few)
        return points, [reached(points, np.log(self.least[one.rows])) for one in self._groups]

    def _to_be_gained(self) -> tuple[list[Ints], int]:
        """Return the points that each group reaches, and how many some group does, but for those
        that a design with the closest bounds reaches: nothing is to be gained there."""
        places = np.zeros((2, len(self._points)), np.bool_)
        for group, points in zip(self._groups, self._reached, strict=True):
            places[int(group.known == _CLOSEST), points] = True
        some, lost = places
        return [points[~lost[points]] for points in self._reached], int((some & ~lost).sum())

    def _replace(self, places: list[int], new: list[_Group]) -> None:
        gone = set(places)
        kept = [place for place in range(len(self._groups)) if place not in gone]
        self._groups = [self._groups[place] for place in kept] + new
        self._reached = [self._reached[place] for place in kept] + [self._reach(one) for one in new]

    def _bounded(self, group: _Group, spaces: "PlanSpaces") -> _Group | None:
        """Raise the bounds of a group's designs; return those that are still open, if any is."""
        rows = group.rows
        known = _CLOSE if group.known == _KNOWN else _CLOSEST
        for some, box in self._boxes(rows):
            first = self._bounds.first(box)
            steps = known == _CLOSEST
            close = None if first is None else self._bounds.planned(first, spaces, steps)
            # None: no design of the box keeps rules, caps and limits
            least = inf if close is None else close.bounds.min(axis=0)
            self.least[some] = np.maximum(self.least[some], least)
        within = np.isfinite(self.least[rows]).all(axis=1)
        open_ = np.asarray(within & ~dominated_by(self._front, self.least[rows]), np.bool_)
        self.least[rows[~open_]] = inf
        return _Group(rows[open_], known, group.by) if open_.any() else None

    def _boxes(self, rows: Ints) -> Iterable[tuple[Ints, Box]]:
        """Yield designs with the same clock and rate of DRAM, each with the smallest box of these
        rates that is around all of the group: what runs costs inside the chip is the same there."""
        at = self._at[rows]
        starts, stops = at.min(axis=0), at.max(axis=0) + 1
        rates = self._rates
        keys, of = np.unique(at[:, rates], axis=0, return_inverse=True)
        for n, key in enumerate(keys):
            starts[rates], stops[rates] = key, key + 1
            yield (
                rows[of.ravel() == n],
                tuple(zip(starts.tolist(), stops.tolist(), strict=True)),
            )

    def _parts(self, group: _Group) -> list[_Group]:
        """Cut a group in two by one parameter; into its designs if rates alone tell them apart."""
        at = self._at[group.rows]
        spread = [i for i in self._others if at[:, i].min() < at[:, i].max()]
        if not spread:
            return [_Group(group.rows[n : n + 1], _CLOSE, -1) for n in range(len(group.rows))]
        worth = [self._worth(i) for i in spread]
        parameter = spread[worth.index(max(worth))]
        values = np.unique(at[:, parameter])
        below = at[:, parameter] < values[len(values) // 2]
        return [_Group(group.rows[some], _KNOWN, parameter) for some in (below, ~below)]

    def _worth(self, parameter: int) -> float:
        """Return what cuts by a parameter gained so far (pseudo-costs, as while the study runs)."""
        gain, count = self._gains.get(parameter, (0.0, 0))
        return gain / count if count >= _TRIALS else inf

    def _reach(self, group: _Group) -> Ints:
        return reached(self._points, np.log(self.least[group.rows]))
