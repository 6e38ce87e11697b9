"""Which worker does which task next: a trial goes on where it was before, if that can be.

A worker remembers the mappings and plans of the trials that it has done, and the tilings for
buffers of the sizes that it has met. Another one finds the same results, but has to work all that
out.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

#: tasks that wait for one worker, from which on an idle one takes the last of them, although that
#: takes several times as long there
_WORTH_MOVING: Final = 3


class Placed(NamedTuple):
    """What matters of a task that waits.

    Attributes:
        trial: a number that the tasks of one trial share.
        likeness: what trials share that know much of each other.
    """

    trial: int
    likeness: Hashable


class Placement:
    """What workers, known by a number, have done before."""

    def __init__(self) -> None:
        self._homes: dict[int, int] = {}
        self._met: defaultdict[int, set[Hashable]] = defaultdict(set)

    def choose(self, worker: int, waiting: Sequence[Placed]) -> int | None:
        """Return the position of the task that a worker is to do next, and make it its home.

        Args:
            worker: that is idle.
            waiting: tasks, those to be done first before others.

        Returns:
            A task of a trial of its own; else one that no worker has had, best if it is like those
            of this worker, or like none at all; else the last one of the worker for which most
            wait. None if it is better to leave these to it.
        """
        homes = [self._homes.get(task.trial) for task in waiting]
        own = [n for n, home in enumerate(homes) if home == worker]
        free = [n for n, home in enumerate(homes) if home is None]
        chosen = own[0] if own else self._likest(worker, free, waiting)
        if chosen is None and homes:
            busiest, count = Counter(homes).most_common(1)[0]
            if count >= _WORTH_MOVING:
                chosen = len(homes) - 1 - homes[::-1].index(busiest)
        if chosen is not None:
            self._homes[waiting[chosen].trial] = worker
            self._met[worker].add(waiting[chosen].likeness)
        return chosen

    def _likest(self, worker: int, free: list[int], waiting: Sequence[Placed]) -> int | None:
        """Return one of the free tasks, None if there is none."""
        others = set().union(*(met for one, met in self._met.items() if one != worker))
        mine = self._met[worker]

        def rank(n: int) -> int:
            likeness = waiting[n].likeness
            return 0 if likeness in mine else 2 if likeness in others else 1

        return min(free, key=rank, default=None)

    def lost(self, worker: int) -> None:
        """Forget a worker that is gone: its trials have no home."""
        self._homes = {trial: home for trial, home in self._homes.items() if home != worker}
        self._met.pop(worker, None)
