"""Intervals of the costs of measured designs: from a lower bound to what was measured.

:mod:`.certificate` says what they prove.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats

from ...pareto import dominated_by

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

    from .branch_and_bound import BoxBranchAndBound


@dataclass(frozen=True, eq=False)
class Undecided:
    """What measured designs may still do to a front with a larger budget.

    Attributes:
        bounds: [r, m] lower bounds of those that may change it.
        members: designs on the front.
        settled_members: of them, those whose costs are their lower bounds.
    """

    bounds: Floats
    members: int
    settled_members: int


class _Interval(NamedTuple):
    """Lower bounds of a design, its measured costs, none of which dominates another one (none that
    count: empty), and whether it counts as measured."""

    least: tuple[float, ...]
    costs: tuple[tuple[float, ...], ...]
    measured: bool


class CostIntervals:
    """The costs of designs that were measured or begun, as far as they are known for any budget.

    Args:
        objectives: costs of a design.
    """

    def __init__(self, objectives: int) -> None:
        self._objectives = objectives
        self._known: dict[str, _Interval] = {}

    def add(
        self, key: str, least: Sequence[float], cost: Sequence[float] | None, measured: bool
    ) -> None:
        """Add a design, or what else became of it: all that was proven and found holds.

        Args:
            key: of the design.
            least: lower bounds of its costs with any software.
            cost: measured; None if there is none, or if it breaks a limit.
            measured: False for a design that still counts as open: its search was cut short.
        """
        found: tuple[tuple[float, ...], ...] = () if cost is None else (tuple(cost),)
        before = self._known.get(key)
        if before is not None:
            least = tuple(map(max, least, before.least))
            measured = measured or before.measured
            # what is worse is no news, and what it is worse than is gone
            new = [one for one in found if not any(all(map(le, b, one)) for b in before.costs)]
            old = [b for b in before.costs if not any(all(map(le, one, b)) for one in new)]
            found = (*old, *new)
        self._known[key] = _Interval(tuple(least), found, measured)

    def knows(self, key: str) -> bool:
        """Whether anything is known of a design."""
        return key in self._known

    def measured(self) -> list[str]:
        """Return the keys of the designs that count as measured."""
        return [key for key, one in self._known.items() if one.measured]

    def raise_least(self, key: str, least: Sequence[float]) -> None:
        """Add lower bounds of a known design; what was measured is attained, whatever they say."""
        self.add(key, tuple(map(min, least, *self._known[key].costs)), None, True)

    def undecided_designs(self, front: Floats) -> tuple[list[str], Floats]:
        """Return the keys of measured designs that may still change a front, and their bounds."""
        least = self._rows([one.least for one in self._known.values()])
        rows = np.flatnonzero(self._may_change(front, least))
        keys = list(self._known)
        return [keys[row] for row in rows], least[rows]

    def _may_change(self, front: Floats, least: Floats) -> NDArray[np.bool_]:
        measured = np.array([one.measured for one in self._known.values()], np.bool_)
        return np.asarray(measured & ~dominated_by(front, least))

    def undecided(self, front: Floats) -> Undecided:
        """Return what these designs may still do to a front, [k, m] costs."""
        least = self._rows([one.least for one in self._known.values()])
        on_front = set(map(tuple, front.tolist()))
        members = [
            (one.least, [cost for cost in one.costs if cost in on_front])
            for one in self._known.values()
        ]
        members = [(least, costs) for least, costs in members if costs]
        settled = [any(all(map(le, c, least)) for c in costs) for least, costs in members]
        return Undecided(least[self._may_change(front, least)], len(members), sum(settled))

    def copy(self) -> "CostIntervals":
        """Return what is known, to be added to by itself."""
        found = CostIntervals(self._objectives)
        found._known = dict(self._known)
        return found

    def with_closest(
        self,
        boxes: "BoxBranchAndBound",
        bounds: Floats,
        spaces: "PlanSpaces | None",
        told: Callable[[int], None],
    ) -> "CostIntervals":
        """Return what is known with the closest bounds of measured designs, as far as ``bounds`` of
        open designs do not dominate them: there they could add nothing.

        Args:
            boxes: of the designs.
            bounds: float64[n, m].
            spaces: plans of which the bounds hold; None for any plans.
            told: hears of each design.
        """
        found = self.copy()
        for key, point in boxes.settled():
            close = boxes.closest(point, spaces)
            if close is not None and spaces is not None and not dominated_by(bounds, close[None]):
                close = boxes.closest(point, spaces, steps=True)
            if close is not None and found.knows(key):
                found.raise_least(key, close.tolist())
            told(1)
        return found

    def state(self) -> list[Any]:
        """Return what is known, as JSON has it, which knows no infinity."""
        return [
            [key, list(one.least), first and list(first), one.measured, *map(list, others)]
            for key, one in self._known.items()
            for first, *others in [one.costs or (None,)]
        ]

    def restore(self, state: list[Any]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            ValueError, TypeError: it is no such state; nothing was changed.
        """
        found = CostIntervals(self._objectives)
        for key, least, cost, measured, *others in state:
            for one in (cost, *others):
                found.add(str(key), [float(v) for v in least], one, bool(measured))
        if any(len(one.least) != self._objectives for one in found._known.values()):
            raise ValueError("a design has bounds of other objectives")
        self._known = found._known

    def _rows(self, rows: list[tuple[float, ...]]) -> Floats:
        return np.array(rows, np.float64).reshape(len(rows), self._objectives)
