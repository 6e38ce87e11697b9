"""Which operands of nests stay in the buffer, for all sizes of tiles at once."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.space.fusion import STREAMED

from .stays import StayOptions


class OperandChoice(NamedTuple):
    """One depth of an operand.

    Attributes:
        depth: or :data:`STREAMED`.
        energy, words: of what moves, and words that cross DRAM's pins.
        held: words of the buffer, at each of ``steps``.
        steps: members while which run.
        piece: words that move at once, ahead of time; 0 of what comes once.
    """

    depth: int
    energy: Floats | float
    words: Floats | float
    held: Floats | float
    steps: range
    piece: Floats | float


class Placement:
    """Which depth each operand has, for each size of tiles.

    Args:
        choices: of each operand, the one that stays longest first.
        members: layers of the group.
        shape: of sizes of tiles.
    """

    def __init__(
        self, choices: Sequence[Sequence[OperandChoice]], members: int, shape: tuple[int, ...]
    ) -> None:
        self._shape = shape
        every = [choice for some in choices for choice in some]
        self._begin = np.cumsum([0, *map(len, choices)])
        self._depth = np.array([choice.depth for choice in every], np.int64)
        self._energy, self._words, self._held, self._piece = (
            rows_of([choice[k] for choice in every], shape) for k in (1, 2, 3, 5)
        )
        # float64[options, members], 1 where an option takes words
        self._there = np.array([[m in c.steps for m in range(members)] for c in every], np.float64)
        # the option of each operand in each cell
        self._at = np.repeat(self._begin[:-1, None], self._words.shape[1], axis=1)

    def _sum(self, figures: Floats) -> Floats:
        cells = np.arange(figures.shape[1])
        total: Floats = figures[self._at, cells].sum(axis=0)
        return total.reshape(self._shape)

    @property
    def energy(self) -> Floats:
        """Energy of what moves."""
        return self._sum(self._energy)

    @property
    def words(self) -> Floats:
        """Words that cross DRAM's pins."""
        return self._sum(self._words)

    @property
    def peak(self) -> Floats:
        """Words of the buffer in use at the most."""
        most: Floats = self._steps(np.arange(self._at.shape[1])).max(axis=0)
        return most.reshape(self._shape)

    @property
    def depth(self) -> Ints:
        """int64[t, ...], depths of operands."""
        found: Ints = self._depth[self._at].reshape(-1, *self._shape)
        return found

    def _steps(self, cells: Ints) -> Floats:
        """float64[m, n], words in use while each member runs."""
        at = self._at[:, cells]
        found: Floats = np.einsum("tnm,tn->mn", self._there[at], self._held[at, cells])
        return found

    def options(self, users: Sequence[int], layer_cycles: Floats, base_pj: Floats) -> StayOptions:
        """Return what :func:`best_stays` chooses from.

        Args:
            users: of each operand, the member that waits for it where it streams.
            layer_cycles, base_pj: as of :class:`StayOptions`.
        """
        waiting = np.repeat(np.array(users, np.int64), np.diff(self._begin))
        streams = np.where(self._depth == STREAMED, waiting, -1)
        there = self._there.astype(np.uint8)
        moves = self._energy, self._words, self._held, self._piece
        return StayOptions(self._begin, there, streams, *moves, layer_cycles, base_pj)

    def take(self, options: Ints) -> None:
        """Choose int64[t, n], an option of each operand for each size of tiles."""
        self._at = options

    def may_fit(self, capacity: float) -> bool:
        """Whether any sizes of tiles fit, whatever goes."""
        return bool((self._least <= capacity).any())

    def stream(self) -> bool:
        """Begin again, and let stream what moves no more words by it; whether anything does."""
        self._at = np.repeat(self._begin[:-1, None], self._words.shape[1], axis=1)
        cells = np.arange(self._at.shape[1])
        for t, (begin, end) in enumerate(pairwise(self._begin.tolist())):
            for option in range(begin, end):
                if self._depth[option] == STREAMED:
                    same = self._words[option] <= self._words[self._at[t], cells]
                    self._at[t] = np.where(same, option, self._at[t])
        return bool((self._at != self._begin[:-1, None]).any())

    def shrink(self, capacity: float) -> None:
        """Let operands go until all fits, where that can be."""
        cells = np.flatnonzero((self.peak.ravel() > capacity) & (self._least <= capacity))
        owners = np.repeat(np.arange(len(self._begin) - 1), np.diff(self._begin))
        for _ in range(2 * len(owners)):
            if not len(cells):
                return
            worst = self._steps(cells).argmax(axis=0)
            now = self._at[:, cells][owners]
            held = self._held[:, cells] * self._there[:, worst]
            freed = self._held[now, cells] * self._there[now, worst] - held
            moved = np.maximum(self._words[:, cells] - self._words[now, cells], 0.0)
            # words freed at the fullest step for each word that moves besides
            gain = np.where(freed > 0, freed / (moved + 1.0), 0.0)
            best = gain.argmax(axis=0)
            able = gain[best, np.arange(len(cells))] > 0
            self._at[owners[best[able]], cells[able]] = best[able]
            cells = cells[able]
            cells = cells[self._steps(cells).max(axis=0) > capacity]

    @cached_property
    def _least(self) -> Floats:
        """float64[n], words that are in use at the most, whatever goes."""
        total = 0.0
        for begin, end in pairwise(self._begin.tolist()):
            held = self._held[begin:end, None] * self._there[begin:end, :, None]
            total = total + held.min(axis=0)
        most: Floats = np.asarray(total).max(axis=0)
        return most


def rows_of(figures: Sequence[Any], shape: tuple[int, ...]) -> Floats:
    """float64[n, cells], figures that need not depend on all loops."""
    found = np.empty((len(figures), *shape))
    for row, figure in zip(found, figures, strict=True):
        row[...] = figure
    return found.reshape(len(figures), -1)
