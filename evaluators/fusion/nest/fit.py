"""How a nest fits the buffer: what is left for what streams, and for transfers ahead of time."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.space.fusion import STREAMED

from ...arrays import Ints
from .walk import NestWalk

#: share of what operands leave that streams get at least, and a word of it, where transfers ahead
#: would take more
_LEAST_SHARE: Final = 8


@dataclass(frozen=True, eq=False)
class NestFit:
    """How a nest fits the buffer.

    Attributes:
        left: for each member, words of the buffer for what streams; None where nothing does.
        peak: most words in use.
        ahead, behind: int64[n], for each iteration of those looked at one after another: words for
            the next one that come meanwhile, and words of the last one that leave meanwhile. Others
            come and leave between iterations.
        room: int64[n], words of the buffer that nothing takes in each iteration.
        late: words that come and leave between iterations, over all of them.
    """

    left: tuple[int | None, ...]
    peak: int
    ahead: Ints
    behind: Ints
    room: Ints
    late: int

    @property
    def prefetch(self) -> bool:
        """Whether all transfers overlap with iterations."""
        return not self.late

    @property
    def key(self) -> tuple[object, ...]:
        """What the cost of a nest depends on."""
        return self.left, self.ahead.tobytes(), self.behind.tobytes(), self.room.tobytes()


def nest_fit(walk: NestWalk, capacity: int) -> NestFit | None:
    """Return how a nest fits ``capacity`` words; None if they are too few."""
    members = range(len(walk.group.layers))
    runs = np.stack([walk.runs(m).ravel() for m in members])
    used = np.where(walk.steps, walk.occupancy.reshape(runs.shape), 0)
    idle = ~runs.any(axis=0)
    flying = np.where(runs, used + walk.in_flight.ravel(), 0)
    left = list[int | None]()
    for m in members:
        free, spare = capacity - int(used[m, runs[m]].max()), capacity - int(flying[m].max())
        if not streams(walk, m):
            left.append(None)
            if free < 0:
                return None
            continue
        words = max(spare, free // _LEAST_SHARE, min(free, 1))
        if words < 1:
            return None
        # a power of two lets nests share their mappings
        left.append(1 << (words.bit_length() - 1))
    passing = np.where(runs, np.array([words or 0 for words in left])[:, None], 0)
    space = capacity - (used + passing).max(axis=0)
    if (space[idle] < 0).any():
        return None
    stored, fetched = walk.stored.ravel(), walk.fetched.ravel()
    behind, ahead = np.zeros_like(space), np.zeros_like(space)
    behind[1:] = np.minimum(stored[:-1], space[1:])
    ahead[:-1] = np.minimum(fetched[1:], space[:-1] - behind[:-1])
    room = space - behind - ahead
    late = np.zeros_like(space)
    late[1:] += fetched[1:] - ahead[:-1]
    late[:-1] += stored[:-1] - behind[1:]
    peak = int((used.max(axis=0) + behind + ahead).max())
    return NestFit(tuple(left), peak, ahead, behind, room, int((late * walk.times.ravel()).sum()))


def nest_use(walk: NestWalk, capacity: int) -> tuple[object, ...] | None:
    """Return how a nest uses ``capacity`` words: where it is the same, so is the cost."""
    fit = nest_fit(walk, capacity)
    return None if fit is None else fit.key


def streams(walk: NestWalk, m: int) -> bool:
    """Whether anything that a member uses streams."""
    group = walk.group
    used = (*group.weights[m], *group.maps[m], group.made[m])
    return any(walk.nest.depth[t] == STREAMED for t in used)
