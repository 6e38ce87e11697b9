"""Latency of many nests with the same loops and tiles at once: how each fits, and who waits.

Who runs when is the same for all of them, and what each operand takes and moves depends on its own
stay alone. Sums over operands are what ``evaluators/fusion/nest`` works out nest by nest
(``fit.py``, ``latency.py``); what there is for arrays of iterations serves both.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.nest import (
    LEAST_SHARE,
    Moves,
    NestGroup,
    NestWalk,
    meanwhile,
    overlapped,
    rooms,
)
from archloom.space.fusion import STREAMED, LoopNest, NestLoop

from .facts import NestFacts
from .waits import shared_cycles

#: nests that are worked out at once
_AT_ONCE: Final = 2048

Bools: TypeAlias = NDArray[np.bool_]


class _Parts(NamedTuple):
    """What an operand takes and moves in each of n iterations, by its stay; o of them.

    Attributes:
        taken: int64[o, m, n], words of the buffer while each member runs.
        fetched, stored: int64[o, n], words that come for an iteration and leave after it.
        passing: float64[o, n], words that stream meanwhile to the member that uses it.
        streams: bool[o].
    """

    taken: Ints
    fetched: Ints
    stored: Ints
    passing: Floats
    streams: Bools


class NestSums(NamedTuple):
    """What k nests take and move in each of n iterations.

    Attributes:
        taken: int64[k, m, n], words of the buffer while each member runs.
        fetched, stored: int64[k, n], words that come for an iteration and leave after it.
        passing: float64[k, m, n], words that stream meanwhile to each member.
        streams: bool[k, m], whether anything streams to a member.
    """

    taken: Ints
    fetched: Ints
    stored: Ints
    passing: Floats
    streams: Bools


class StaysOfCell:
    """Nests of one size of tiles.

    Args:
        facts: of the group.
        group: as the loops see it.
        loops: of the nests.
        depths: that each operand may have; those of what members pass on are one each.
        user: the member that waits for an operand that streams.
    """

    def __init__(
        self,
        facts: NestFacts,
        group: NestGroup,
        loops: tuple[NestLoop, ...],
        depths: Sequence[Sequence[int]],
        user: Callable[[int], int],
    ) -> None:
        self._facts, self._group, self._loops = facts, group, loops
        self._plain = tuple(some[0] for some in depths)
        self._walk = NestWalk(group, LoopNest(loops, self._plain))
        self._members = range(len(group.layers))
        self._runs = np.stack([self._walk.runs(m).ravel() for m in self._members])
        self._parts = [self._part(t, some, user(t)) for t, some in enumerate(depths)]
        self._users = [user(t) for t in range(len(depths))]

    def _part(self, t: int, depths: Sequence[int], user: int) -> _Parts:
        members, size = self._runs.shape
        taken = np.zeros((len(depths), members, size), np.int64)
        moved = np.zeros((2, len(depths), size), np.int64)
        passing = np.zeros((len(depths), size))
        for o, depth in enumerate(depths):
            # who runs when follows from the loops, and from what members pass on
            walk, stays = copy(self._walk), (*self._plain[:t], depth, *self._plain[t + 1 :])
            walk.nest = LoopNest(self._loops, stays)
            words = walk.tile_words(t)
            for steps, some in walk.taken(t):
                taken[o, steps.start : steps.stop] += some.ravel()
            for k, when in enumerate((walk.comes, walk.leaves)):
                moved[k, o] = np.where(when(t), words, 0).ravel()
            if depth == STREAMED:
                passing[o] = np.where(walk.runs(user), words, 0).ravel()
                if self._group.operands[t].kind == "made":
                    # partial sums come back
                    passing[o] += np.where(walk.passes(user), words, 0).ravel()
        streams = np.array(depths) == STREAMED
        return _Parts(taken, moved[0], moved[1], passing, streams)

    def cycles(self, options: Ints, layer_cycles: Floats) -> Floats:
        """Return float64[n], the least latency of nests; infinite if they do not fit.

        Args:
            options: int64[n, t], the stay of each operand, by its number.
            layer_cycles: float64[m], least cycles of each member over all its tiles.
        """
        chip = self._chip(layer_cycles)
        parts = [
            self._cycles(options[at : at + _AT_ONCE], chip)
            for at in range(0, len(options), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def _chip(self, layer_cycles: Floats) -> Floats:
        """float64[m, n], of each member's cycles as many as an iteration has of its work."""
        chip, walk = np.zeros(self._runs.shape), self._walk
        for m, cycles in enumerate(layer_cycles.tolist()):
            chip[m] = shared_cycles(walk, m, cycles)
        return chip

    def _cycles(self, options: Ints, chip: Floats) -> Floats:
        sums = self.summed(options)
        able, moves, _ = self.fit(sums)
        dram = sums.passing / self._facts.rate
        body, streamed = np.maximum(chip, dram).sum(axis=1), dram.sum(axis=1)
        through = sums.fetched + sums.stored
        time = overlapped(self._facts.hardware, moves, body, streamed, through)
        return np.where(able, time @ self._walk.times.ravel(), np.inf)

    def summed(self, options: Ints) -> NestSums:
        """Return what nests take and move; ``options`` as of :meth:`cycles`."""
        passing = np.zeros((len(options), *self._runs.shape))
        streams = np.zeros((len(options), len(self._members)), np.bool_)
        taken = np.zeros((len(options), *self._runs.shape), np.int64)
        fetched, stored = np.zeros((2, len(options), self._runs.shape[1]), np.int64)
        for part, user, chosen in zip(self._parts, self._users, options.T, strict=True):
            passing[:, user] += part.passing[chosen]
            streams[:, user] |= part.streams[chosen]
            taken += part.taken[chosen]
            fetched += part.fetched[chosen]
            stored += part.stored[chosen]
        return NestSums(taken, fetched, stored, passing, streams)

    def fit(self, sums: NestSums) -> tuple[Bools, Moves, Ints]:
        """Return which nests fit, what moves in each iteration, and int64[k, m], words of the
        buffer for what streams to each member; 0 where nothing does."""
        taken, fetched, stored, _, streams = sums
        capacity, runs = self._facts.capacity, self._runs
        used = np.where(self._walk.steps, taken, 0)
        flight = np.zeros_like(fetched)
        flight[:, :-1] += fetched[:, 1:]
        flight[:, 1:] += stored[:, :-1]
        flying = np.where(runs, used + flight[:, None], 0).max(axis=2)
        free = capacity - np.where(runs, used, 0).max(axis=2)
        words = np.maximum(np.maximum(capacity - flying, free // LEAST_SHARE), np.minimum(free, 1))
        able = np.where(streams, words >= 1, free >= 0).all(axis=1)
        # powers of two, as mappings have them
        left = np.where(streams, 2 ** (np.frexp(np.maximum(words, 1))[1].astype(np.int64) - 1), 0)
        passing = np.where(runs, left[:, :, None], 0)
        space = capacity - (used + passing).max(axis=1)
        able &= (space[:, ~runs.any(axis=0)] >= 0).all(axis=1)
        ahead, behind = meanwhile(space, fetched, stored)
        room = rooms(ahead, behind, space - behind - ahead)
        return able, Moves(fetched, stored, ahead, behind, *room), left
