"""Pareto fronts: non-dominated rows, hypervolume, and rules that pick one design.

Hypervolume: Zitzler and Thiele, "Multiobjective evolutionary algorithms" (1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Rows that are compared in pairs, and those of which each member drops what it dominates: within a
#: millisecond and some ten, and a library's import takes fifty.
_FEW: Final = 200
_SOME: Final = 2000


def non_dominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Return which rows of ``values`` [n, m] no other row dominates; equal rows all stay.

    Every objective is minimised.
    """
    rows = _rows(values)
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    if len(rows) <= _FEW:
        below = (rows[:, None] <= rows).all(axis=2) & (rows[:, None] < rows).any(axis=2)
        return np.asarray(~below.any(axis=0))
    if len(rows) <= _SOME:
        return _not_dropped(rows)
    import moocore

    return np.asarray(moocore.is_nondominated(rows, keep_weakly=True), dtype=np.bool_)


def _not_dropped(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return :func:`non_dominated` by dropping what one row after the other dominates."""
    # what is small in all objectives drops most
    left, i = np.argsort(rows.sum(axis=1), kind="stable"), 0
    while i < len(left):
        others, member = rows[left], rows[left[i]]
        stays = (others < member).any(axis=1) | (others == member).all(axis=1)
        left, i = left[stays], int(stays[:i].sum()) + 1
    found = np.zeros(len(rows), dtype=np.bool_)
    found[left] = True
    return found


class Undominated:
    """Rows that no other one dominates, of rows that come one after the other; equal rows all stay.

    What :func:`non_dominated` leaves of all of them, in the order in which they came. A row is
    compared with those that are left, so that nothing is compared anew.

    Args:
        objectives: values of a row; each is minimised.
    """

    def __init__(self, objectives: int) -> None:
        #: [m, room], a column a row: comparisons then run along memory
        self._columns = np.empty((objectives, 64))
        self._count = 0

    @property
    def rows(self) -> NDArray[np.float64]:
        """The rows that are left, [n, m]."""
        return np.ascontiguousarray(self._columns[:, : self._count].T)

    def dominates(self, row: Sequence[float]) -> bool:
        """Whether some row is better than ``row``: equal ones are not."""
        left = self._columns[:, : self._count]
        mine = np.asarray(row, np.float64)[:, None]
        below = (left <= mine).all(axis=0)
        return bool(below.any()) and bool((left[:, below] < mine).any())

    def add(self, row: Sequence[float]) -> NDArray[np.bool_] | None:
        """Add a row; return which of the rows before it stay, or None if it is dominated itself."""
        if self.dominates(row):
            return None
        left = self._columns[:, : self._count]
        mine = np.asarray(row, np.float64)[:, None]
        stays: NDArray[np.bool_] = ~(mine <= left).all(axis=0) | (mine == left).all(axis=0)
        self._count = int(np.count_nonzero(stays))
        if not stays.all():
            self._columns[:, : self._count] = left[:, stays]
        if self._count == self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)], axis=1)
        self._columns[:, self._count] = mine[:, 0]
        self._count += 1
        return stays


def dominated_by(front: ArrayLike, values: ArrayLike) -> NDArray[np.bool_]:
    """Return which rows of ``values`` [n, m] some row of ``front`` [k, m] is at least as good as,
    in every objective; equal rows count as dominated.
    """
    members, rows = np.asarray(front, np.float64), np.asarray(values, np.float64)
    dominated = np.zeros(len(rows), dtype=np.bool_)
    for member in members if len(rows) else ():
        dominated |= (member <= rows).all(axis=1)
    return dominated


def hypervolume(values: ArrayLike, reference: Sequence[float]) -> float:
    """Return the volume that the rows dominate below ``reference``, in decades cubed.

    The volume is measured between the base-10 logarithms, so that halving an objective is
    worth the same anywhere. A row that is not below the reference in every objective adds
    nothing. Volumes compare only under one reference: take the caps of the study where it has
    them, else a little above the worst value that any of the compared methods has seen.

    Raises:
        ValueError: a value that is not positive, or a reference of another length.
    """
    rows = _rows(values)
    corner = np.asarray(reference, dtype=np.float64)
    if len(rows) and rows.shape[1:] != corner.shape:
        raise ValueError(f"reference has {corner.size} values, the rows have {rows.shape[1]}")
    if (rows <= 0).any() or (corner <= 0).any():
        raise ValueError("hypervolume takes logarithms: values and reference must be positive")
    rows = rows[(rows < corner).all(axis=1)] if len(rows) else rows
    if not len(rows):
        return 0.0
    import moocore

    return float(moocore.hypervolume(np.log10(rows), ref=np.log10(corner)))


def hypervolume_percent(volume: float, ideal: Sequence[float], reference: Sequence[float]) -> float:
    """Return a :func:`hypervolume` in percent of the box between two points.

    Args:
        volume: below ``reference``, in decades to the power of the objectives.
        ideal: the best value of each objective.
        reference: the corner that the volume is measured from.
    """
    box = float(np.prod(np.log10(np.divide(reference, ideal)).clip(0.0)))
    return 100.0 * volume / box if box > 0 else 0.0


def hypervolume_after(values: ArrayLike, reference: Sequence[float]) -> list[float]:
    """Return the :func:`hypervolume` of the first row, of the first two, and so on to all rows.

    A volume is measured anew only where a row joins the front.
    """
    rows = _rows(values)
    front, volume, history = rows[:0], 0.0, []
    for row in rows:
        if not (front <= row).all(axis=1).any():
            front = np.concatenate([front[(front < row).any(axis=1)], row[None]])
            volume = hypervolume(front, reference)
        history.append(volume)
    return history


def nearest_to_ideal(values: ArrayLike) -> int:
    """Return the row that CASCO picks: the front member nearest to the ideal.

    Each objective of the front is scaled to [0, 1]; the ideal is the origin; the distance is
    Euclidean (CASCO, section IV). The scale is logarithmic, which is ours: an EDP spans decades,
    and on a linear scale one bad extreme of the front makes all other EDPs look alike. Rows off
    the front are never picked; the first of equals is.

    Raises:
        ValueError: no rows, or a value that is not positive.
    """
    scaled, on_front = _scaled_logs(values)
    distance = np.where(on_front, np.linalg.norm(scaled, axis=1), np.inf)
    return int(np.argmin(distance))


def _scaled_logs(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the logarithms of each objective scaled to [0, 1] over the front, and who is on it.

    Raises:
        ValueError: no rows, or a value that is not positive.
    """
    rows = _rows(values)
    if not len(rows):
        raise ValueError("a pick needs at least one row")
    if (rows <= 0).any():
        raise ValueError("a pick takes logarithms: values must be positive")
    on_front = non_dominated(rows)
    logs = np.log(rows)
    low = logs[on_front].min(axis=0)
    span = logs[on_front].max(axis=0) - low
    return (logs - low) / np.where(span > 0, span, 1.0), on_front


def _rows(values: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(values, dtype=np.float64)
    if rows.size == 0:
        return rows.reshape(0, rows.shape[1] if rows.ndim == 2 else 0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"need finite values [n, objectives], got shape {rows.shape}")
    return rows


_RuleName = Literal["ideal", "knee", "lexicographic"]


@dataclass(frozen=True, slots=True)
class PickRule:
    """How one design of a front is picked.

    Attributes:
        name: ``ideal``: nearest to the best of each objective (CASCO section IV); ``knee``: where
            giving up a little of one objective no longer gains much of the others;
            ``lexicographic``: the best in the first objective, among these the best in the second,
            and so on.
        order: of ``lexicographic``: positions of the objectives; empty for their own order.
        tolerance: of ``lexicographic``: designs within this share above the best of an objective
            are as good as the best.

    Raises:
        ValueError: an unknown name, a position twice, or a tolerance below 0.
    """

    name: _RuleName = "ideal"
    order: tuple[int, ...] = ()
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in (known := get_args(_RuleName)):
            raise ValueError(f"pick rule {self.name!r} is unknown; known: {', '.join(known)}")
        if len(set(self.order)) < len(self.order):
            raise ValueError(f"order {self.order} has an objective twice")
        if not (isfinite(self.tolerance) and self.tolerance >= 0):
            raise ValueError(f"tolerance is {self.tolerance}, must be at least 0")

    def choose(self, costs: Sequence[Sequence[float]]) -> int:
        """Return the picked row of ``costs`` [n, m]; the first of equals, never a dominated one.

        Raises:
            ValueError: no rows, or a cost that is not positive.
        """
        if self.name == "ideal":
            return nearest_to_ideal(costs)
        return self._knee(costs) if self.name == "knee" else self._lexicographic(costs)

    def _knee(self, costs: ArrayLike) -> int:
        """Return the row farthest below the plane through the ends of the front.

        Das, "On characterizing the 'knee' of the Pareto curve based on Normal-Boundary
        Intersection" (1999), on logarithms of each objective scaled to [0, 1] over the front: for
        two objectives the line from (0, 1) to (1, 0) through both ends, for more the plane on
        which they sum to 1. The distance from it falls with the sum.
        """
        scaled, on_front = _scaled_logs(costs)
        return int(np.argmin(np.where(on_front, scaled.sum(axis=1), np.inf)))

    def _lexicographic(self, costs: Sequence[Sequence[float]]) -> int:
        """Return the row that is left when each objective in turn keeps its best.

        With tolerances: Marler and Arora, "Survey of multi-objective optimization methods for
        engineering" (2004), section 3.3.
        """
        rows = np.asarray(costs, dtype=np.float64)
        left = np.flatnonzero(non_dominated(rows))
        if not len(left):
            raise ValueError("a pick needs at least one row")
        for j in self.order or range(rows.shape[1]):
            best = rows[left, j].min()
            left = left[rows[left, j] <= best * (1 + self.tolerance)]
        return int(left[0])
