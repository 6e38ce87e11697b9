"""Contents of the buffer while a nest runs: at each step of each iteration, for pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from archloom.evaluators.fusion.buffer import kept_words
from archloom.space.fusion import STREAMED
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

from ...arrays import Ints
from ..group_share import GroupCost
from .activity import Grid, Unfolded, nest_activity
from .names import operand_names

_NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of time of a nest.

    Attributes:
        start_cycle, end_cycle: from the start of the group on.
        steps: how many layers run in it, one after another; an iteration without any is a step too.
        cell, member: the iteration and the layer at which the buffer is fullest.
        least_words: at the emptiest of these steps, without what streams.
    """

    start_cycle: int
    end_cycle: int
    steps: int
    cell: int
    member: int
    least_words: int


class NestContents:
    """What the buffer holds while an evaluated nest runs.

    Args:
        network: that it was evaluated for.
        hardware: with the buffer.
        cost: of the group.
    """

    def __init__(self, network: Network, hardware: Hardware, cost: GroupCost) -> None:
        self._activity = activity = nest_activity(network, hardware, cost)
        self._hardware, walk = hardware, activity.walk
        self._names = operand_names(network, walk.group)
        self._there = walk.steps
        self._flying: Ints = activity.fit.ahead + activity.fit.behind
        #: int64[m, n]
        self._words: Ints = walk.occupancy.reshape(self._there.shape) + self._flying

    def moments(self, most: int) -> Iterator[Moment]:
        """Yield all steps in order; of more than about ``most``, neighbours are taken together."""
        members, walk = len(self._there), self._activity.walk
        if walk.count * members <= most:
            yield from self._steps(Unfolded(walk, walk.count))
            return
        outer = Unfolded(walk, most)
        size = self._flying.size // (len(outer.inner(self._flying)))
        words = np.where(self._there, self._words, -1)
        # fullest step of each outer iteration, as iteration and layer
        inner = outer.inner(words.max(axis=0))
        fullest, cell = inner.max(axis=1), inner.argmax(axis=1) + np.arange(len(inner)) * size
        member = words.argmax(axis=0)[cell]
        emptiest = np.where(self._there, self._words, _NOWHERE).min(axis=0)
        least = outer.inner(emptiest).min(axis=1)
        steps = outer.sums(self._there.sum(axis=0))
        cells = outer.cells(0, outer.count)
        ends = _ends(outer.sums(self._activity.cycles)[cells])
        parts = min(outer.count, most)
        for a, b in pairwise(outer.count * i // parts for i in range(parts + 1)):
            these = cells[a:b]
            at = these[int(fullest[these].argmax())]
            span = int(ends[a]), int(ends[b])
            count, low = int(steps[these].sum()), int(least[these].min())
            yield Moment(*span, count, int(cell[at]), int(member[at]), low)

    def _steps(self, every: Unfolded) -> Iterator[Moment]:
        """Yield each step: an iteration's time is shared by layers as they keep the array busy."""
        cells = every.cells(0, every.count)
        ends = _ends(self._activity.cycles[cells])
        for i, cell in enumerate(cells):
            members = np.flatnonzero(self._there[:, cell])
            busy = self._activity.busy[members, cell]
            shares = busy if busy.sum() else np.ones_like(busy)
            inside = np.append(0, np.cumsum(shares)) / shares.sum() * (ends[i + 1] - ends[i])
            at = (ends[i] + np.rint(inside)).astype(np.int64)
            for m, (a, b) in zip(members, pairwise(at), strict=True):
                words = int(self._words[m, cell])
                yield Moment(int(a), int(b), 1, int(cell), int(m), words)

    def held(self, moment: Moment) -> Iterator[tuple[str, bool, int]]:
        """Yield what the fullest step of a moment holds: operands, as names, whether they are
        weights, and words."""
        walk, m = self._activity.walk, moment.member
        place = np.unravel_index(moment.cell, walk.shape)
        for t, operand in enumerate(walk.group.operands):
            for steps, words in walk.taken(t):
                if m in steps and words[place]:
                    yield self._names[t], operand.kind == "weights", int(words[place])

    def in_flight(self, moment: Moment) -> int:
        """Return the words that come for the next iteration or left in the last one."""
        return int(self._flying[moment.cell])

    def streamed(self, moment: Moment) -> Iterator[tuple[str, int]]:
        """Yield the tiles of operands that pass through at the fullest step of a moment."""
        walk, m = self._activity.walk, moment.member
        run = next((r for r in self._activity.runs[m] if moment.cell in r.kind.at), None)
        if run is None or run.cost.mapping is None:
            return
        group = walk.group
        places = (
            (WEIGHTS, group.weights[m]),
            (INPUTS, group.maps[m]),
            (OUTPUTS, (group.made[m],)),
        )
        for tensor, operands in places:
            passing = [t for t in operands if walk.nest.depth[t] == STREAMED]
            if passing:
                words = kept_words(run.cost.mapping, group.layers[m], tensor, self._hardware)
                yield self._names[passing[0]], words


def _ends(cycles: Grid) -> Ints:
    ends: Ints = np.append(0, np.cumsum(cycles)).astype(np.int64)
    return ends
