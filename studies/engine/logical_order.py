"""The order in which a study decides, which no clock and no number of workers changes.

Whoever decides when results happen to arrive finds something else on every machine. Here rounds
are *opened* in an order of their own, and *closed* in the order in which they were opened: a
decision knows the results of all closed rounds, and of no other one, even if it has arrived. At
most ``width`` rounds are open. With one, each decision knows everything before it, as if a single
worker did the study; with more, so many workers need not wait for each other. ASHA (Li et al., "A
system for massively parallel hyperparameter tuning", MLSys 2020) decides when a worker is idle,
and so differs from run to run.
"""

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple


class Job(NamedTuple):
    """A round of a trial; those that sort first are opened first.

    Attributes:
        trial: its number.
        round: from 0 on.
    """

    trial: int
    round: int


class LogicalOrder:
    """Opens and closes rounds.

    A study that proposes many designs before it knows anything learns nothing from them: at most as
    many rounds are open as trials have ended, and one at the least (benchmarks/studies/
    logical_workers.py: without that, 80% of a front's hypervolume after 96 trials, not 99.8%).

    Args:
        width: most rounds that are open at a time.

    Raises:
        ValueError: a width below 1.
    """

    def __init__(self, width: int) -> None:
        if width < 1:
            raise ValueError(f"the width is {width}, must be at least 1")
        self._width = width
        self._ended = 0
        self._decided: list[Job] = []
        self._open: deque[Job] = deque()

    def add(self, jobs: Iterable[Job]) -> None:
        """Take rounds that are decided; they are opened as soon as there is room."""
        for job in jobs:
            heappush(self._decided, job)
        self._fill()

    @property
    def has_room(self) -> bool:
        """Whether another round could be opened at once, if there were one."""
        return len(self._open) < max(1, min(self._width, self._ended))

    def ended(self, trials: int) -> None:
        """Note that so many more trials have ended."""
        self._ended += trials
        self._fill()

    def close(self) -> Job | None:
        """Return the round that is closed next; None if none is open."""
        if not self._open:
            return None
        job = self._open.popleft()
        self._fill()
        return job

    def _fill(self) -> None:
        while self._decided and self.has_room:
            self._open.append(heappop(self._decided))
