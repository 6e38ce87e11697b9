"""Cores that run a nest side by side, each some iterations of its outermost loop.

All go from layer to layer of an iteration together. What one of them has to do is the same nest
around a smaller group: no core needs what another one makes. Where a mask leaves other tiles to
each, those that have no tile wait.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod

import numpy as np

from archloom.space.fusion import STREAMED, LoopNest
from archloom.space.hardware import Cores, Hardware

from ...arrays import Ints
from .iterations import KEYS, CoreShare, shares_in_turn, turns
from .operands import NestGroup, part_of
from .walk import NestWalk


@dataclass(frozen=True, eq=False)
class NestCores:
    """What the cores of a chip do in a nest.

    Attributes:
        group: all that runs.
        one: hardware of a core, with DRAM to itself.
        walks: what each core does: one for all that do the same. All look at the same iterations,
            and some may be after the last one of a core.
        counts: how many cores each of them is for.
        sent: weights that DRAM sends to all cores at once, as operands of the group.
    """

    group: NestGroup
    one: Hardware
    walks: tuple[NestWalk, ...]
    counts: tuple[int, ...]
    sent: frozenset[int] = frozenset()

    @property
    def first(self) -> NestWalk:
        """What a core does of which none does more."""
        return self.walks[0]

    @property
    def working(self) -> int:
        """Cores that run anything."""
        return sum(self.counts)

    @property
    def times(self) -> Ints:
        """int64[n], iterations that each of those that are looked at stands for."""
        return self.first.times.ravel()

    @property
    def iterations(self) -> int:
        """Iterations of all cores."""
        if self.first.masked:
            counts = (walk.count for walk in self.walks)
            return sum(n * count for n, count in zip(self.counts, counts, strict=True))
        sizes = self.group.ranks.sizes
        return prod(-(-sizes[loop.rank] // loop.tile) for loop in self.first.nest.loops)

    def total(self, figures: Iterable[Ints]) -> Ints:
        """Add up figures of each walk over all cores."""
        first, *others = (n * some for n, some in zip(self.counts, figures, strict=True))
        return reduce(np.add, others, first)

    @cached_property
    def common(self) -> tuple[Ints, ...]:
        """int64[n] for each walk, words of :attr:`sent` weights that come for each iteration."""
        return tuple(self._common(walk) for walk in self.walks)

    def _common(self, walk: NestWalk) -> Ints:
        found = np.zeros(walk.shape, np.int64)
        for t in sorted(self.sent):
            found += np.where(walk.comes(t), walk.tile_words(t), 0)
        return found.ravel()


def alone(walk: NestWalk, hardware: Hardware) -> NestCores:
    """Return the one core that runs all of a nest."""
    return NestCores(walk.group, hardware, (walk,), (1,))


def nest_cores(group: NestGroup, nest: LoopNest, held: frozenset[int], cores: Cores) -> NestCores:
    """Return what the cores of a chip do in a nest, which is dealt if they are several."""
    if cores.count == 1:
        return alone(NestWalk(group, nest, held), cores.one)
    rank, tile = nest.loops[0].rank, nest.loops[0].tile
    if nest.in_turn:
        shares = shares_in_turn(group, nest, cores.count)
    else:
        parts = turns(group.ranks.sizes[rank], tile, cores.count)
        shares = [CoreShare(part.cores, part.size, part.loop) for part in parts]
    walks = tuple(
        NestWalk(part_of(group, rank, share.size), nest, held, share=share) for share in shares
    )
    # maps are never sent to several cores at once (docs/explanation/fusion.md, "Cores")
    sent = frozenset(
        t
        for t, operand in enumerate(group.operands)
        if cores.shared_weights
        and operand.kind == "weights"
        and rank not in operand.ranks
        and _together(walks, t)
    )
    return NestCores(group, cores.one, walks, tuple(share.cores for share in shares), sent)


def _together(walks: Sequence[NestWalk], t: int) -> bool:
    """Whether all cores that run anything in a round want the same weights, or none of them."""
    walk = walks[0]
    if walk.masked is None or walk.cells.live is None:
        return True
    if walk.nest.loops[walk.masked.places[KEYS]].rank in walk.group.operands[t].ranks:
        # they run other tiles of keys
        return False
    want = np.stack([one.comes(t).ravel() for one in walks])
    run = np.stack([one.cells.live for one in walks if one.cells.live is not None])
    return bool((want == (run & want.any(axis=0))).all())


def streams_sent(cores: NestCores, m: int) -> bool:
    """Whether weights that all cores want stream to a member."""
    weights, depth = cores.group.weights[m], cores.first.nest.depth
    return any(t in cores.sent and depth[t] == STREAMED for t in weights)
