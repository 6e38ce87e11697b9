"""Published figures beside ours: how far apart they are, and whether that has been explained."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .budgets import BUDGETS, FULL
from .figures import PublishedFigure, beside
from .results import Results

#: part of a published figure that ours may deviate by without a remark
CLOSE: Final = 0.2


@dataclass(frozen=True)
class Compared:
    """A published figure and ours.

    Attributes:
        theirs: the published one.
        ours: None where nothing could be measured.
    """

    theirs: PublishedFigure
    ours: float | None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs."""
        if self.ours is None or not self.theirs.value:
            return None
        return self.ours / self.theirs.value

    @property
    def close(self) -> bool:
        """Whether ours is within 20% of theirs."""
        return self.ratio is not None and abs(self.ratio - 1) <= CLOSE


@dataclass(frozen=True)
class Tally:
    """Published figures by how ours compare.

    Attributes:
        close: within 20%.
        explained: others with a remark.
        unexplained: others.
    """

    close: int
    explained: int
    unexplained: int


def compared(results: Results) -> tuple[Compared, ...]:
    """Return all published figures of a table; at a smaller budget those that have a row there, and
    none at the smallest, which has other networks."""
    if results.budget == BUDGETS[0]:
        return ()
    found = (Compared(theirs, beside(results.rows, theirs)) for theirs in results.table.published)
    return tuple(one for one in found if one.ours is not None or results.budget == FULL)


def tally(figures: Iterable[Compared]) -> Tally:
    """Count figures."""
    all_of = list(figures)
    far = [one for one in all_of if not one.close]
    explained = sum(bool(one.theirs.why) for one in far)
    return Tally(len(all_of) - len(far), explained, len(far) - explained)
