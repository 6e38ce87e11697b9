"""Where the designs of a study come from: the optimizer, less what bounds exclude; and when the
front is to be proven, whatever bounds leave open.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..search.candidates import ENUMERATE_LIMIT
from ..search.prospects import Prospects
from ..search.protocols import Observation
from .errors import UserError
from .trial import Record, observation

if TYPE_CHECKING:
    from ..search.candidates import DesignProblem
    from ..search.certificate import Certificate
    from ..search.protocols import HardwareOptimizer

Point = dict[str, Any]

#: Designs that the optimizer proposes before a study that proves its front goes on without it:
#: about as many as it needs to find most of the front (docs/hardware_search.md).
LEAD: Final = 60

#: Proposals in a row that bounds may exclude before the optimizer counts as done.
REFUSALS: Final = 1000

#: The same where designs out of open boxes are to follow.
FEW_REFUSALS: Final = 64

#: Tight bounds that are taken for each result of a study that proves nothing.
TIGHTENED: Final = 64


class Proposals:
    """Proposes designs, none of which bounds exclude.

    What it proposes depends on what it was told and on nothing else.

    Args:
        problem: what is searched.
        optimizer: that was told nothing.
        exact: whether to go on after the optimizer until the front is proven.

    Raises:
        UserError: the front of a space is to be proven whose designs differ in so many ways that
            not even boxes of them are followed.
    """

    def __init__(
        self, problem: "DesignProblem", optimizer: "HardwareOptimizer", exact: bool
    ) -> None:
        self._prospects = Prospects(problem)
        if exact and not self._prospects.followed:
            raise UserError(
                f"mode exact: {problem.space.name} has {problem.space.cardinality} points, more "
                f"than {problem.enumerate_limit}, and too many structures to be followed in boxes; "
                "use mode search, raise enumerate, or give parameters that decide about levels, "
                "batch or clock fewer values"
            )
        self._optimizer = optimizer
        self._exact = exact
        self._whole = problem.enumerable
        self._goals = problem.goals
        self._told = 0

    def next(self, n: int, first: Sequence[Point] = ()) -> tuple[list[Point], list[Point]]:
        """Return up to ``n`` designs to run, and those that were proposed and are not run.

        The optimizer is told of the latter. No designs to run: the space has no others, or none
        that can add to the front. ``first`` are ``n`` designs at the most that somebody wants to
        run, whatever bounds say.
        """
        chosen = list(first)
        if self._prospects.followed and not self._prospects.open:
            return chosen, []
        if self._exact and self._whole and self._told >= LEAD and not chosen:
            return self._prospects.promising(n), []
        refused: list[Point] = []
        most = REFUSALS if self._whole or not self._exact else FEW_REFUSALS
        while len(chosen) < n and len(refused) < most:
            points = self._optimizer.ask(n - len(chosen), chosen)
            if not points:
                break
            hopeless = [point for point in points if self._prospects.hopeless(point)]
            chosen += [point for point in points if point not in hopeless]
            self.refuse(hopeless)
            refused += hopeless
        if self._exact and not chosen:
            chosen = self._prospects.promising(n)
        return chosen, refused

    def refuse(self, points: Sequence[Point]) -> None:
        """Tell the optimizer of designs that are not run; a study that goes on does it again."""
        if points:
            self._optimizer.tell([Observation(p, None, 0) for p in points])

    def tell(self, records: Sequence[Record]) -> None:
        """Learn from trials that ended."""
        self._told += len(records)
        seen = [observation(record, self._goals) for record in records]
        self._optimizer.tell(seen)
        for record, result in zip(records, seen, strict=True):
            self._prospects.tell(result, settled=record["state"] in ("complete", "infeasible"))
        few = self._told >= LEAD or self._prospects.open <= ENUMERATE_LIMIT
        every = self._exact and self._whole and few
        self._prospects.tighten(None if every else TIGHTENED * len(records))

    def certificate(self) -> "Certificate | None":
        """Return what bounds prove of the front; None if the space is not followed."""
        return self._prospects.certificate()
