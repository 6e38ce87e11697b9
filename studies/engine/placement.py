"""Which worker does which task next: a trial goes on where it was before, if that can be.

A worker remembers the mappings and plans of the trials that it has done. Another one finds the same
results, but has to walk to where the trial was.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

#: tasks that wait for one worker, from which on an idle one takes the last of them: it takes about
#: twice as long for it
_WORTH_MOVING: Final = 2


class Placement:
    """Homes of trials among workers, both known by a number."""

    def __init__(self) -> None:
        self._homes: dict[int, int] = {}

    def choose(self, worker: int, waiting: Sequence[int]) -> int | None:
        """Return the position of the task that a worker is to do next, and make it its home.

        Args:
            worker: that is idle.
            waiting: trials of the tasks that wait, those to be done first before others.

        Returns:
            A task of a trial of its own, else of one that has no home, else the last one of the
            worker for which most wait; None if it is better to leave these to it.
        """
        homes = [self._homes.get(trial) for trial in waiting]
        chosen = next((n for n, home in enumerate(homes) if home == worker), None)
        if chosen is None:
            chosen = next((n for n, home in enumerate(homes) if home is None), None)
        if chosen is None and homes:
            busiest, count = Counter(homes).most_common(1)[0]
            if count >= _WORTH_MOVING:
                chosen = len(homes) - 1 - homes[::-1].index(busiest)
        if chosen is not None:
            self._homes[waiting[chosen]] = worker
        return chosen

    def lost(self, worker: int) -> None:
        """Forget a worker that is gone: its trials have no home."""
        self._homes = {trial: home for trial, home in self._homes.items() if home != worker}
