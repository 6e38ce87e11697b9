"""Which design of a front is picked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .pareto import nearest_to_ideal, non_dominated, scaled_logs

RuleName = Literal["ideal", "knee", "lexicographic"]


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

    name: RuleName = "ideal"
    order: tuple[int, ...] = ()
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in (known := get_args(RuleName)):
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
        scaled, on_front = scaled_logs(costs)
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
