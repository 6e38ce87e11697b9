"""Dominance pruning: designs whose lower bounds the front dominates need not be run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space import Infeasible
from archloom.space.design_space import Point

from ...pareto import dominated_by, non_dominated
from ..problem import Candidate, DesignProblem
from ..protocol import Observation
from .branch_and_bound import BoxBranchAndBound
from .certificate import Certificate, LastEffort, front_certificate
from .intervals import CostIntervals
from .sharpening import Sharpener

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

#: Ratio of cost to bound that is expected before any result.
_FIRST_RATIO = 1.2

#: Costs this near to their bounds have reached them.
_ROUNDED = 1e-9

#: Tight bounds of designs that take as long as cutting a box.
PER_CUT = 4


class DominancePruner:
    """Prunes designs that cannot add to the front of the measured ones.

    A measured design that is at least as good as another's lower bounds, in every objective, is
    at least as good as that other one with any software; so the other one need not be run. The
    same holds for a design whose lower bound is beyond a limit. There are two bounds: that of
    :class:`Candidate`, which is known of every design, and :meth:`DesignProblem.tightened`, which
    takes ten times as long and is taken only where the first one does not exclude.

    Args:
        problem: an enumerable space is covered design by design, a larger one by boxes
            (:mod:`archloom.search.hardware.certify.branch_and_bound`).
    """

    def __init__(self, problem: DesignProblem) -> None:
        self._problem = problem
        self._front = np.empty((0, len(problem.objective_set.objectives)))
        self._observed_keys: set[str] = set()
        self.measured = 0
        self._candidates = problem.feasible() if problem.enumerable else []
        self._rows = {c.key: row for row, c in enumerate(self._candidates)}
        #: [n, m] the best bounds known, and [n] whether they may still add to the front
        bounds = np.array([c.values for c in self._candidates])
        self._bounds = bounds.reshape(len(self._candidates), self._front.shape[1])
        self._undominated = np.ones(len(self._candidates), dtype=np.bool_)
        self._tight = np.zeros(len(self._candidates), dtype=np.bool_)
        self._ratios: list[Floats] = []
        self._intervals = CostIntervals(self._front.shape[1])
        boxes = None if problem.enumerable else BoxBranchAndBound(problem)
        self._boxes = boxes if boxes is not None and boxes.possible else None

    @property
    def covers_space(self) -> bool:
        """Whether all designs of the space are accounted for."""
        return self._problem.enumerable or self._boxes is not None

    @property
    def candidates_left(self) -> int:
        """Designs of a covered space that may still add to the front."""
        return self._boxes.open_points if self._boxes else int(self._undominated.sum())

    def tell(
        self, observation: Observation, settled: bool = True, least: Sequence[float] = ()
    ) -> None:
        """Learn what became of a design.

        Args:
            observation: its result. Without values it has a failure if no software could ever
                run; if it has none, the search found that the result is not worth having.
            settled: whether more search of this budget would change nothing: neither stopped early
                nor crashed.
            least: costs that no software of the design goes below, as far as its own search proved
                that; empty if it proved nothing.
        """
        key = self._problem.space.point_key(observation.point)
        self._observed_keys.add(key)
        self.measured += settled
        row = self._rows.get(key)
        if row is not None and settled:
            self._undominated[row] = False
        if self._boxes and settled:
            self._boxes.settle(observation.point)
        if self.covers_space:
            self._bound(observation, key, settled, least)
        if observation.values is None or not observation.kept:
            return
        values = np.array(observation.values)
        if row is not None:
            self._learn(row, values)
        self._add(values)

    def tell_again(
        self, observation: Observation, least: Sequence[float], settled: bool = True
    ) -> None:
        """Learn what else became of a measured design, with more search or with other software: as
        :meth:`tell`, but it counts once, and it says nothing of what others cost.
        """
        if not self.covers_space or observation.values is None:
            return
        key = self._problem.space.point_key(observation.point)
        self._bound(observation, key, settled, least)
        if observation.kept:
            self._add(np.array(observation.values))

    def _add(self, values: Floats) -> None:
        """Add a measured cost to the front, and drop what it excludes."""
        if dominated_by(self._front, values[None])[0]:
            return
        rows = np.vstack([self._front, values])
        self._front = rows[non_dominated(rows)]
        if self._boxes:
            self._boxes.hold_against(self._front)
        if len(self._bounds):
            self._undominated &= ~dominated_by(values[None], self._bounds)

    def undecided(self) -> list[str]:
        """Return the keys of measured designs that may still change the front with more search;
        first those whose bounds are furthest from being dominated.
        """
        keys, least = self._intervals.undecided_designs(self._front)
        margin = _margin(np.log(least), np.log(self._front))
        return [keys[i] for i in np.argsort(-margin, kind="stable")]

    def pruned(self, point: Point) -> bool:
        """Return whether a design cannot add to the front, whatever its software."""
        candidate = self._problem.assess(point)
        if isinstance(candidate, Candidate) and not (len(self._front) or candidate.least_excess):
            # nothing could exclude it, and a tight bound needs kernels that may not be compiled yet
            return False
        return isinstance(candidate, Infeasible) or (
            self._excluded(candidate) or self._excluded(self._problem.tightened(candidate))
        )

    def tighten(self, most: int | None = None) -> None:
        """Take the tight bound of the ``most`` best candidates without it; None for all.

        Of a space in boxes, cut the best boxes, for about as long.

        Raises:
            ValueError: None for such a space.
        """
        if self._boxes:
            if most is None:
                raise ValueError("a space that is followed in boxes has no end of tight bounds")
            self._boxes.refine(most // PER_CUT)
            return
        loose = np.flatnonzero(self._undominated & ~self._tight)
        if most is not None and len(loose) > most:
            loose = loose[np.argsort(-self._expected_margins(loose), kind="stable")[:most]]
        for row in loose:
            self._tighten(int(row))

    def best_candidates(self, n: int, pending: Sequence[Point] = ()) -> list[Point]:
        """Return ``n`` designs that may add to the front, best first: neither observed nor pending.

        The first is the one that is furthest from being dominated if costs are above bounds as
        much as those of results so far; each further one, if those before it come out so. Fewer
        than ``n`` if there are no more.
        """
        known = self._observed_keys.union(map(self._problem.space.point_key, pending))
        if self._boxes:
            return self._boxes.designs(n, known)
        rows = np.array(
            [r for r in np.flatnonzero(self._undominated) if self._candidates[r].key not in known],
            dtype=np.int64,
        )
        expected = self._expected_logs(rows)
        margin = _margin(expected, np.log(self._front))
        chosen: list[int] = []
        while len(chosen) < min(n, len(rows)):
            best = int(np.argmax(margin))
            chosen.append(best)
            margin = np.minimum(margin, _margin(expected, expected[best][None]))
            margin[chosen] = -np.inf
        return [self._candidates[rows[i]].point for i in chosen]

    def state(self) -> dict[str, Any]:
        """Return everything that was learned, as JSON has it."""
        known = np.flatnonzero(self._tight)
        return {
            "front": self._front.tolist(),
            "observed": sorted(self._observed_keys),
            "measured": self.measured,
            "tight": known.tolist(),
            "bounds": self._bounds[known].tolist(),
            "dominated": np.flatnonzero(~self._undominated).tolist(),
            "ratios": np.array(self._ratios).tolist(),
            "boxes": self._boxes.state() if self._boxes else None,
            "intervals": self._intervals.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            KeyError, ValueError, TypeError, IndexError: it is no such state.
        """
        columns = self._front.shape[1]
        front = np.array(state["front"], dtype=np.float64).reshape(-1, columns)
        tight = np.array(state["tight"], dtype=np.int64)
        bounds = np.array(state["bounds"], dtype=np.float64).reshape(len(tight), columns)
        ratios = np.array(state["ratios"], dtype=np.float64).reshape(-1, columns)
        self._intervals.restore(state["intervals"])
        if self._boxes:
            self._boxes.restore(state["boxes"])
            self._boxes.hold_against(front)
        self._front, self._ratios = front, list(ratios)
        self._observed_keys, self.measured = set(state["observed"]), int(state["measured"])
        self._tight[tight], self._bounds[tight] = True, bounds
        self._undominated[np.array(state["dominated"], dtype=np.int64)] = False

    def certificate(self) -> Certificate | None:
        """Return what the bounds prove of the front; None if the space is not covered."""
        if self._boxes:
            return self._certificate_of(self._boxes)
        if not self._problem.enumerable:
            return None
        return front_certificate(
            points=self._problem.space.cardinality,
            feasible=len(self._candidates),
            measured=self.measured,
            front=self._front,
            bounds=self._bounds[self._undominated],
            undecided=self._intervals.undecided(self._front),
        )

    def sharpened(
        self,
        effort: LastEffort,
        told: Callable[[int], None],
        spaces: "PlanSpaces | None" = None,
    ) -> Certificate | None:
        """Return :meth:`certificate` with more effort; what the study goes on from is not changed.

        Cuts leave an enumerated space as it is, all designs of which have bounds of their own.

        Args:
            effort: how much more.
            told: hears of steps of the work, at most as many as the effort has and as designs were
                measured.
            spaces: of the planner's plans; None where these have no bounds.
        """
        before, plans = self.certificate(), effort.plans if spaces is not None else 0
        if before is None or not before.reference:
            return before
        if self._boxes is None:
            return self._in_groups(before, plans, spaces, told) if spaces and plans else before
        sharpener, after = self._boxes.sharpener(before.reference), before
        if effort.cuts:
            sharpener.run(effort.cuts, told)
            after = self._after(before, self._boxes, sharpener)
            after = replace(after, cuts=sharpener.left().cuts, share_uncut=before.share)
        if spaces is None or not plans:
            return after
        sharpener.bound_plans(spaces, plans, told)
        planned = self._after(before, self._boxes, sharpener, spaces, told)
        return replace(
            planned,
            cuts=after.cuts,
            share_uncut=after.share_uncut,
            plans=sharpener.left().plans,
            share_any_plan=after.share,
        )

    def _in_groups(
        self, before: Certificate, most: int, spaces: "PlanSpaces", told: Callable[[int], None]
    ) -> Certificate:
        """Return the certificate of an enumerated space with bounds of plans."""
        boxes = BoxBranchAndBound(self._problem)
        if not boxes.possible:
            return before
        for key in self._intervals.measured():
            boxes.settle(self._candidates[self._rows[key]].point)
        boxes.hold_against(self._front)
        rows = np.flatnonzero(self._undominated)
        points = [self._candidates[row].point for row in rows]
        groups = boxes.groups(points, self._bounds[rows], before.reference)
        plans = groups.bound_plans(spaces, most, told)
        bounds = groups.least[np.isfinite(groups.least).all(axis=1)]
        intervals = self._intervals.with_closest(boxes, bounds, spaces, told)
        after = front_certificate(
            points=before.points,
            feasible=before.feasible,
            measured=self.measured,
            front=self._front,
            bounds=bounds,
            undecided=intervals.undecided(self._front),
        )
        return replace(after, plans=plans, share_any_plan=before.share)

    def _after(
        self,
        before: Certificate,
        boxes: BoxBranchAndBound,
        sharpener: Sharpener,
        spaces: "PlanSpaces | None" = None,
        told: Callable[[int], None] = lambda _: None,
    ) -> Certificate:
        """Return the certificate with what a sharpener left of the boxes."""
        left = sharpener.left()
        intervals = self._intervals.with_closest(boxes, left.bounds, spaces, told)
        return front_certificate(
            points=before.points,
            feasible=before.feasible - left.infeasible,
            measured=self.measured,
            front=self._front,
            bounds=left.bounds,
            undecided=intervals.undecided(self._front),
            in_boxes=(left.points, left.boxes),
        )

    def _certificate_of(self, boxes: BoxBranchAndBound) -> Certificate:
        left, points = boxes.open_boxes(), self._problem.space.cardinality
        return front_certificate(
            points=points,
            feasible=points - boxes.infeasible,
            measured=self.measured,
            front=self._front,
            bounds=left.bounds,
            undecided=self._intervals.undecided(self._front),
            in_boxes=(left.points, left.boxes),
        )

    def _bound(
        self, observation: Observation, key: str, settled: bool, proven: Sequence[float]
    ) -> None:
        """Note between which costs a design stays with any budget."""
        if observation.values is None and (observation.failure or not settled):
            # no software runs on it at all, or it is as open as it was
            return
        candidate = self._problem.assess(observation.point)
        if isinstance(candidate, Infeasible):
            return
        tight = self._problem.tightened(candidate)
        if any(excess > 0 for excess in tight.least_excess):
            return
        least = tuple(map(max, tight.values, proven or tight.values))
        if observation.values is not None:
            # what is proven on the way of roots and squares is off by roundings
            pairs = zip(least, observation.values, strict=True)
            least = tuple(value if abs(value / low - 1) < _ROUNDED else low for low, value in pairs)
        cost = observation.values if observation.kept else None
        self._intervals.add(key, least, cost, settled)

    def _excluded(self, candidate: Candidate) -> bool:
        if any(excess > 0 for excess in candidate.least_excess):
            return True
        return bool(dominated_by(self._front, [candidate.values])[0])

    def _tighten(self, row: int) -> None:
        tight = self._problem.tightened(self._candidates[row])
        self._tight[row] = True
        self._bounds[row] = tight.values
        if self._excluded(tight):
            self._undominated[row] = False

    def _learn(self, row: int, values: Floats) -> None:
        """Note how far a result is above its tight bound."""
        if not self._tight[row]:
            self._tighten(row)
        self._ratios.append(np.log(values / self._bounds[row]))

    def _expected_logs(self, rows: NDArray[np.int64]) -> Floats:
        """Return [n, m] logarithms of expected costs: bounds times the median ratio so far."""
        known = np.array(self._problem.objective_set.known)
        first = np.where(known, 0.0, np.log(_FIRST_RATIO))
        above = np.median(self._ratios, axis=0) if self._ratios else first
        return np.asarray(np.log(self._bounds[rows]) + above)

    def _expected_margins(self, rows: NDArray[np.int64]) -> Floats:
        return _margin(self._expected_logs(rows), np.log(self._front))


def _margin(rows: Floats, front: Floats) -> Floats:
    """Return by how much each of ``rows`` [n, m] is better than each member of a front, in the
    objective in which it is better by most, over the member for which that is least: [n].

    It is at most 0 for a row that is dominated. Without a front the sum of all objectives decides.
    """
    if not len(front):
        return np.asarray(-rows.sum(axis=1))
    margin = np.full(len(rows), np.inf)
    for member in front:
        np.minimum(margin, (member - rows).max(axis=1), out=margin)
    return margin
