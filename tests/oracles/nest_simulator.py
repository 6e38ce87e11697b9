"""A slow oracle of groups in loop nests: it walks all iterations and moves coordinates.

An element of an operand is a tuple of coordinates along the operand's ranks. The buffer is a set
of elements for each operand; of each sum it is known which products were added to it, there and in
DRAM. What comes and leaves is found from what is there, not counted out: a piece that is wanted
and not there is fetched, a sum leaves when it is complete or has to go, and what a layer reads is
asserted to be there, complete. Taken from the rules as they are written: in which iterations a
layer runs and an operand is wanted, and how long a piece may stay.

Independent of: closed forms of iterations, fetches, partial sums and occupancy of nests.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np

from archloom.space.fusion.loop_nest import STREAMED

from .nest_pieces import NestPieces


@dataclass
class Iteration:
    """What happened in one iteration; words by operand, and in the buffer at each step."""

    index: tuple
    runs: list = field(default_factory=list)
    coming: Counter = field(default_factory=Counter)
    leaving: Counter = field(default_factory=Counter)
    held: list = field(default_factory=list)


@dataclass
class Work:
    """Runs of one layer.

    Attributes:
        tiles: for each run the bounds N, G, K, C, P and Q of its tile, counted.
        reread: words of partial sums that runs found in the buffer.
        passed: words of partial sums that runs took from DRAM as they streamed.
        rescaled, rows: words of partial sums, and rows of them, that a later maximum changed.
    """

    tiles: Counter = field(default_factory=Counter)
    reread: int = 0
    passed: int = 0
    rescaled: int = 0
    rows: int = 0


@dataclass
class Run:
    """All iterations; words of each operand that moved.

    Attributes:
        fetched: that came, those that came before too.
        refetched: of these, that had come before.
        left, spilled: complete results and partial sums that left.
        returned: partial sums that came back.
    """

    iterations: list = field(default_factory=list)
    work: list = field(default_factory=list)
    fetched: Counter = field(default_factory=Counter)
    refetched: Counter = field(default_factory=Counter)
    left: Counter = field(default_factory=Counter)
    spilled: Counter = field(default_factory=Counter)
    returned: Counter = field(default_factory=Counter)


class Simulator(NestPieces):
    """A walk through a nest; ``held`` are operands that lie in the buffer from the start.

    ``outermost`` are the iterations of the outermost loop, if not all are run.
    """

    def __init__(self, group, nest, held=(), skips=False, outermost=None):
        super().__init__(group, nest, skips, outermost)
        self.held = set(held)
        self.run = Run(work=[Work() for _ in self.members])
        shapes = [self.shape(o.ranks) for o in group.operands]
        self.there = [np.zeros(s, bool) for s in shapes]
        self.came = [np.zeros(s, bool) for s in shapes]
        self.gone = [np.zeros(s, int) for s in shapes]
        self.touched = [np.full(s, -1) for s in shapes]
        # products of each layer: in the sums of the buffer, in those that DRAM has, and ever made
        axes = [self.axes(m) for m in self.members]
        self.added = [np.zeros(self.shape(a), bool) for a in axes]
        self.stored = [np.zeros(self.shape(a), bool) for a in axes]
        self.done = [np.zeros(self.shape(a), int) for a in axes]
        # products in tiles of which a mask leaves nothing
        self.dropped = [self.passed_over(m) for m in self.members]
        # what rows of an online softmax are scaled by: the running maximum up to some key tile
        self.maximum = {m: np.full(self.shape(self.row_ranks(m)), -1) for m in self.online}
        self.scale = {m: np.full(shapes[self.made[m]], -1) for m in self.online}

    def complete(self, m):
        """Elements of a result to which all products were added."""
        reduced = tuple(range(len(self.group.operands[self.made[m]].ranks), self.added[m].ndim))
        return (self.added[m] | self.dropped[m]).all(axis=reduced)

    def begun(self, m):
        reduced = tuple(range(len(self.group.operands[self.made[m]].ranks), self.added[m].ndim))
        return self.added[m].any(axis=reduced)

    # the walk

    def simulate(self):
        everywhere = [
            index
            for index in product(*self.turns)
            if self.mine is None or self.tile_at(index) in self.mine
        ]
        for number, index in enumerate(everywhere):
            self.now = Iteration(index)
            self.run.iterations.append(self.now)
            if number:
                changed = next(at for at, i in enumerate(index) if i != everywhere[number - 1][at])
                self.drop(lambda t, changed=changed: changed < self.nest.depth[t])
            self.fetch(index)
            for m in self.members:
                if self.runs_in(m, index):
                    self.execute(m, index, number)
                self.expire(m)
            self.now.held = [self.occupied(m, index) for m in self.members]
            self.drop(lambda t: not self.lasting[t])
            self.fits_its_box()
        self.drop(range(len(self.there)).__contains__)
        self.ends_well()
        return self.run

    def fetch(self, index):
        for t, operand in enumerate(self.group.operands):
            if operand.kind == "made" or self.nest.depth[t] == STREAMED or t in self.held:
                continue
            if not self.wanted_in(t, index):
                continue
            piece = self.piece(operand.ranks, index)
            there = self.there[t][piece]
            assert there.all() or not there.any(), f"operand {t} at {index}: half a piece is there"
            if there.all():
                continue
            words = there.size * self.words[t]
            self.run.fetched[t] += words
            self.run.refetched[t] += int(self.came[t][piece].sum()) * self.words[t]
            self.now.coming[t] += words
            self.there[t][piece] = self.came[t][piece] = True

    def execute(self, m, index, number):
        layer, work, t = self.group.layers[m], self.run.work[m], self.made[m]
        what = f"{layer.name} at {index}"
        self.now.runs.append(m)
        work.tiles[self.bounds(m, index)] += 1
        for source in self.inputs[m]:
            self.check_input(m, source, index, what)
        if m in self.online:
            self.find_maximum(m, index, what)
        operand = self.group.operands[t]
        piece = self.piece(operand.ranks, index)
        tile = self.piece(self.axes(m), index)
        if not self.begun(m)[piece].any():
            self.take_back(m, piece, what)
        begun = self.begun(m)[piece]
        assert begun.all() or not begun.any(), f"{what}: a part of the sums is there"
        words = int(begun.sum()) * self.words[t]
        if self.nest.depth[t] == STREAMED:
            work.passed += words
        else:
            work.reread += words
        # all that is rescaled is in the sums already
        for source in self.inputs[m]:
            maker = self.group.operands[source].maker
            if self.group.operands[source].kind == "made" and maker in self.online:
                self.rescale(m, maker, index, what)
        assert not self.added[m][tile].any(), f"{what}: products are added twice"
        self.added[m][tile] = True
        self.done[m][tile] += 1
        self.there[t][piece] = True
        self.touched[t][piece] = number
        if operand.exported:
            self.leave(m, piece)

    def check_input(self, m, t, index, what):
        operand = self.group.operands[t]
        if t in self.held or self.nest.depth[t] == STREAMED:
            return
        piece = self.piece(operand.ranks, index)
        assert self.there[t][piece].all(), f"{what}: operand {t} is not in the buffer"
        if operand.kind == "made":
            done = self.complete(operand.maker)[piece]
            assert done.all(), f"{what}: the map of member {operand.maker} is not complete"
            if operand.maker in self.online:
                vectors, layer = set(self.online[operand.maker]), self.group.layers[m]
                fit = layer.uses_macs and vectors <= self.group.reduced[m]
                assert fit, f"{what}: reads a softmax before its vectors are complete"
                along = self.group.operands[self.made[m]].ranks
                rows = set(self.row_ranks(operand.maker)) <= set(along)
                assert rows, f"{what}: adds up rows of a softmax that have maxima of their own"

    def key_tile(self, m, index):
        """Number of the piece of its vectors that an online softmax makes."""
        number = 0
        for loop, count, i in zip(self.nest.loops, self.counts, index, strict=True):
            number = number * count + i if loop.rank in self.online[m] else number
        return number

    def find_maximum(self, m, index, what):
        """Bring the running maximum of some rows, and the sums of its readers, up to a key tile."""
        operand = self.group.operands[self.made[m]]
        assert not operand.exported, f"{what}: leaves before its vectors are complete"
        rows = self.piece(self.row_ranks(m), index)
        found = np.maximum(self.maximum[m][rows], self.key_tile(m, index))
        self.maximum[m][rows] = found
        at = tuple(k for k, rank in enumerate(operand.ranks) if rank in self.online[m])
        self.scale[m][self.piece(operand.ranks, index)] = np.expand_dims(found, at)

    def rescale(self, m, maker, index, what):
        """Add shares to sums that are scaled by the same maximum; count that sums were rescaled."""
        operand = self.group.operands[self.made[maker]]
        shares = self.scale[maker][self.piece(operand.ranks, index)]
        at = tuple(k for k, rank in enumerate(operand.ranks) if rank in self.online[maker])
        newest = self.maximum[maker][self.piece(self.row_ranks(maker), index)]
        same = (shares == np.expand_dims(newest, at)).all()
        assert same, f"{what}: shares are scaled by a maximum that is not known any more"
        t = self.made[m]
        piece = self.piece(self.group.operands[t].ranks, index)
        # without a mask the first piece of all vectors is the first of each row
        if self.key_tile(maker, index) if self.live is None else self.begun(m)[piece].any():
            words = self.there[t][piece].size * self.words[t]
            self.run.work[m].rescaled += words
            self.run.work[m].rows += words // self.bounds(m, index)[2]

    def take_back(self, m, piece, what):
        """Fetch partial sums that had to leave; those that are complete are begun again."""
        stored, dropped = self.stored[m][piece], self.dropped[m][piece]
        reduced = tuple(range(len(piece), stored.ndim))
        if not stored.any() or (stored | dropped).all():
            return
        assert stored.any(axis=reduced).all(), f"{what}: a part of the sums was spilled"
        ended = (stored | dropped).all(axis=reduced).any()
        assert not ended, f"{what}: a part of the sums is complete"
        t = self.made[m]
        self.added[m][piece] = stored
        self.there[t][piece] = True
        if self.nest.depth[t] != STREAMED:
            words = self.there[t][piece].size * self.words[t]
            self.run.returned[t] += words
            self.now.coming[t] += words

    def leave(self, m, piece):
        """Send out results that are complete, the first time that they are."""
        t = self.made[m]
        ready = self.complete(m)[piece] & (self.gone[t][piece] == 0)
        words = int(ready.sum()) * self.words[t]
        self.gone[t][piece] += ready
        along = (*ready.shape, *(1,) * (self.added[m].ndim - ready.ndim))
        self.stored[m][piece] |= np.reshape(ready, along)
        if self.nest.depth[t] == STREAMED:
            return
        self.run.left[t] += words
        self.now.leaving[t] += words

    def expire(self, m):
        """Let go what does not last and whose last reader was ``m``."""
        for t, operand in enumerate(self.group.operands):
            if self.lasting[t] or operand.exported or operand.kind == "made":
                continue
            if m == max(self.readers(t)):
                self.there[t][...] = False

    def drop(self, goes):
        """End the stay of operands; sums that are not complete go to DRAM."""
        for t, operand in enumerate(self.group.operands):
            if not goes(t):
                continue
            if operand.kind == "made":
                m = operand.maker
                part = self.begun(m) & ~self.complete(m)
                if part.any():
                    assert operand.exported, f"partial sums of member {m} are lost"
                    assert not self.readers(t), f"partial sums of member {m} leave it and are read"
                    self.spill(m, part)
                self.added[m][...] = False
            self.there[t][...] = False
        for m, maximum in self.maximum.items():
            if all(goes(self.made[reader]) for reader in self.readers(self.made[m])):
                maximum[...] = -1

    def spill(self, m, part):
        makers = {self.group.operands[t].maker for t in self.inputs[m]}
        assert not makers & set(self.online), f"sums of member {m} leave, which have to be rescaled"
        t = self.made[m]
        self.stored[m][part] = self.added[m][part]
        if self.nest.depth[t] == STREAMED:
            return
        for number, count in Counter(self.touched[t][part].tolist()).items():
            words = count * self.words[t]
            self.run.spilled[t] += words
            self.run.iterations[number].leaving[t] += words

    # occupancy

    def occupied(self, step, index):
        """Words in the buffer while member ``step`` runs."""
        total = 0
        for t, operand in enumerate(self.group.operands):
            if t in self.held or self.nest.depth[t] == STREAMED:
                continue
            if self.lasting[t]:
                total += self.box(t)
                continue
            comes, runs = bool(self.now.coming[t]), operand.maker in self.now.runs
            made = operand.kind == "made"
            if not (comes or (made and runs)):
                continue
            first = operand.maker if made and not comes else 0
            last = self.members[-1] if operand.exported else max(self.readers(t))
            if first <= step <= last:
                sides = [s.stop - s.start for s in self.piece(operand.ranks, index)]
                total += prod(sides) * self.words[t]
        return total + sum(map(self.statistics, self.online))

    def statistics(self, m):
        """Words of the maximum and sum of each row of what reads an online softmax."""
        total = 0
        for reader in self.readers(self.made[m]):
            t, columns = self.made[reader], self.group.ranks.dims[reader][2]
            rows = [r for r in self.group.operands[t].ranks if r not in columns]
            total += 2 * self.box(t, rows)
        return total

    def fits_its_box(self):
        """What stays until the next iteration fits into the space that is set aside for it."""
        for t, there in enumerate(self.there):
            words = int(there.sum()) * self.words[t]
            most = self.box(t) if self.lasting[t] else 0
            assert words <= most, f"operand {t}: {words} words stay in a box of {most}"

    # the end

    def ends_well(self):
        loop, share = self.nest.loops[0], self.own_indices()
        for m in self.members:
            name, t = self.group.layers[m].name, self.made[m]
            mine = tuple(share if r == loop.rank else slice(None) for r in self.axes(m))
            times = self.done[m][mine]
            done = times > 0
            assert times.sum() == self.done[m].sum(), f"{name}: makes what others have to make"
            done |= self.unseen(m)[mine]
            assert done[self.needed(m)[mine]].all(), f"{name}: products are never made"
            assert (done | self.dropped[m][mine]).all(), f"{name}: products of tiles are never made"
            done = times > 0
            outer = [at for at, x in enumerate(self.nest.loops) if x.rank not in self.group.own[m]]
            again = prod(len(self.uses[m, at]) for at in outer if at not in (self.pair or ()))
            stays = [at not in outer or at >= self.nest.depth[t] for at in self.pair or ()]
            if all(stays):
                right = (times == again) | ~done
                assert right.all(), f"{name}: products are not made {again} times"
            if self.group.operands[t].exported:
                gone = self.gone[t][mine[: self.gone[t].ndim]]
                assert gone.sum() == self.gone[t].sum(), f"{name}: more than its part leaves"
                assert (gone == 1).all(), f"{name}: its result did not leave once"


def simulate(group, nest, held=(), skips=False) -> Run:
    """Walk all iterations, but those that masks drop if the nest ``skips`` them; raises
    AssertionError where the nest does not compute the group."""
    return Simulator(group, nest, held, skips).simulate()
