"""How a nest fits the buffer: what is left for what streams, and for transfers ahead of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.space.fusion import STREAMED

from ...arrays import Bools, Ints
from .cores import NestCores
from .walk import NestWalk

#: share of what operands leave that streams get at least, and a word of it, where transfers ahead
#: would take more
LEAST_SHARE: Final = 8

_NO_LIMIT: Final = np.iinfo(np.int64).max


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
    def rooms(self) -> tuple[Bools, Bools]:
        """Room for transfers one iteration sooner and later; see :func:`rooms`."""
        return rooms(self.ahead, self.behind, self.room)

    @property
    def key(self) -> tuple[object, ...]:
        """What the cost of a nest depends on."""
        return self.left, self.ahead.tobytes(), self.behind.tobytes(), self.room.tobytes()


def nest_fit(walk: NestWalk, capacity: int) -> NestFit | None:
    """Return how a nest fits ``capacity`` words of one buffer; None if they are too few."""
    held = _held(walk)
    left = held.left(capacity)
    return None if left is None else held.fit(capacity, left)


def core_fits(cores: NestCores, capacity: int) -> tuple[NestFit, ...] | None:
    """Return how each walk of cores fits ``capacity`` words of a core's buffer; None if they are
    too few for any.

    Cores map tiles alike, so that what streams has as much of the buffer in all. Weights that all
    of them want come ahead as far as each has space for them.
    """
    held = [_held(walk) for walk in cores.walks]
    lefts = [left for one in held if (left := one.left(capacity)) is not None]
    if len(lefts) < len(held):
        return None
    least = tuple(
        None if words[0] is None else min(n for n in words if n is not None)
        for words in zip(*lefts, strict=True)
    )
    fits = tuple(one.fit(capacity, least) for one in held)
    if len(fits) == 1:
        return fits
    # of what comes for the next iteration
    common, ahead = [some[1:] for some in cores.common], [fit.ahead[:-1] for fit in fits]
    shared = first_of(common, ahead)
    most = [
        np.where(some > 0, shared + walk.fetched.ravel()[1:] - some, walk.fetched.ravel()[1:])
        for some, walk in zip(common, cores.walks, strict=True)
    ]
    return tuple(one.fit(capacity, least, some) for one, some in zip(held, most, strict=True))


def first_of(common: Sequence[Ints], words: Sequence[Ints]) -> Ints:
    """int64[n], words of weights for all cores among the first that come for each of them.

    Args:
        common: int64[n] for each walk, of such weights; 0 where a core wants none.
        words: int64[n] for each walk, that come.
    """
    some = zip(common, words, strict=True)
    first = np.min([np.where(w > 0, np.minimum(w, n), _NO_LIMIT) for w, n in some], axis=0)
    found: Ints = np.where(first == _NO_LIMIT, 0, first)
    return found


@dataclass(frozen=True, eq=False)
class _Held:
    """What operands hold of the buffer.

    Attributes:
        walk: of a nest.
        runs: bool[m, n], which members run.
        used: int64[m, n], words in use meanwhile; where none does, the first one stands for what
            lies in the buffer.
    """

    walk: NestWalk
    runs: NDArray[np.bool_]
    used: Ints

    def left(self, capacity: int) -> tuple[int | None, ...] | None:
        """Return the words for what streams, as of :class:`NestFit`; None if all are too few."""
        flying = np.where(self.runs, self.used + self.walk.in_flight.ravel(), 0)
        most = np.where(self.runs, self.used, 0).max(axis=1), flying.max(axis=1)
        found = list[int | None]()
        for m, (used, flies) in enumerate(zip(*(some.tolist() for some in most), strict=True)):
            free, spare = capacity - used, capacity - flies
            if not streams(self.walk, m):
                found.append(None)
                if free < 0:
                    return None
                continue
            words = max(spare, free // LEAST_SHARE, min(free, 1))
            if words < 1:
                return None
            # a power of two lets nests share their mappings
            found.append(1 << (words.bit_length() - 1))
        idle = ~self.runs.any(axis=0)
        return None if (self.used[:, idle] > capacity).any() else tuple(found)

    def fit(
        self, capacity: int, left: tuple[int | None, ...], most_ahead: Ints | None = None
    ) -> NestFit:
        """Return how all fits, given what is left for what streams, and int64[n - 1], the words
        for each next iteration that may come meanwhile."""
        walk, used = self.walk, self.used
        passing = np.where(self.runs, np.array([words or 0 for words in left])[:, None], 0)
        space = capacity - (used + passing).max(axis=0)
        stored, fetched = walk.stored.ravel(), walk.fetched.ravel()
        ahead, behind = meanwhile(space, fetched, stored)
        if most_ahead is not None:
            ahead[:-1] = np.minimum(ahead[:-1], most_ahead)
        room = space - behind - ahead
        late = np.zeros_like(space)
        late[1:] += fetched[1:] - ahead[:-1]
        late[:-1] += stored[:-1] - behind[1:]
        peak = int((used.max(axis=0) + behind + ahead).max())
        return NestFit(left, peak, ahead, behind, room, int((late * walk.times.ravel()).sum()))


def _held(walk: NestWalk) -> _Held:
    runs = np.stack([walk.runs(m).ravel() for m in range(len(walk.group.layers))])
    return _Held(walk, runs, np.where(walk.steps, walk.occupancy.reshape(runs.shape), 0))


def meanwhile(space: Ints, fetched: Ints, stored: Ints) -> tuple[Ints, Ints]:
    """Return int64[..., n], words for the next iteration that come meanwhile, and those of the last
    one that leave meanwhile, which go first.

    Args:
        space: int64[..., n], words of the buffer that are free in each iteration.
        fetched, stored: int64[..., n], words that come for each iteration and leave after it.
    """
    behind, ahead = np.zeros_like(space), np.zeros_like(space)
    behind[..., 1:] = np.minimum(stored[..., :-1], space[..., 1:])
    ahead[..., :-1] = np.minimum(fetched[..., 1:], space[..., :-1] - behind[..., :-1])
    return ahead, behind


def rooms(ahead: Ints, behind: Ints, room: Ints) -> tuple[Bools, Bools]:
    """Return bool[..., n - 2], whether a buffer has room for what comes ahead in the iteration
    before, and for what leaves behind in the next one; of all but the first and last iteration."""
    return ahead[..., 1:-1] <= room[..., :-2], behind[..., 1:-1] <= room[..., 2:]


def nest_use(walk: NestWalk, capacity: int) -> tuple[object, ...] | None:
    """Return how a nest uses ``capacity`` words: where it is the same, so is the cost."""
    fit = nest_fit(walk, capacity)
    return None if fit is None else fit.key


def streams(walk: NestWalk, m: int) -> bool:
    """Whether anything that a member uses streams."""
    group = walk.group
    used = (*group.weights[m], *group.maps[m], group.made[m])
    return any(walk.nest.depth[t] == STREAMED for t in used)
