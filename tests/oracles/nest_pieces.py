"""Iterations, pieces and boxes of operands in a loop nest, as its rules are written.

Uses of loops are sets of iterations, pieces are slices along the ranks of an operand.

Independent of: the closed forms of uses and of what stays in nests.
"""

from collections import Counter
from itertools import product
from math import ceil, prod

import numpy as np

from archloom.space.fusion.loop_nest import STREAMED


class NestPieces:
    """One group in one nest: when its layers run, and on what.

    It ``skips`` tiles of queries and keys of which masks leave nothing, if that is so.
    ``outermost`` are the iterations of the outermost loop that are run, in this order: all unless
    said.
    """

    def __init__(self, group, nest, skips=False, outermost=None):
        self.group, self.nest = group, nest
        self.sizes = group.ranks.sizes
        self.counts = [ceil(self.sizes[loop.rank] / loop.tile) for loop in nest.loops]
        self.turns = [range(count) for count in self.counts]
        if outermost is not None:
            self.turns[0] = outermost
        self.members = range(len(group.layers))
        self.inputs = [
            sorted({*some, *maps}) for some, maps in zip(group.weights, group.maps, strict=True)
        ]
        self.made = group.made
        self.pair = self.masked_loops() if skips else None
        #: pairs of iterations over queries and keys of which a mask leaves something
        self.live = self.seen_pairs() if skips else None
        #: of these, those that are run
        self.mine = self.own_pairs() if skips else None
        self.words = [words_of_element(o, self.shape(o.ranks)) for o in group.operands]
        self.online = {
            m: ranks
            for m, ranks in group.online.items()
            if any(loop.rank in ranks for loop in nest.loops)
        }
        self.uses = self.uses_of_members()
        self.tiles = self.tiles_of_members() if skips else None
        self.lasting = [self.lasts(t) for t in range(len(group.operands))]

    def shape(self, ranks):
        return tuple(self.sizes[r] for r in ranks)

    def axes(self, m):
        """Ranks of a layer's loops: those of its result, then those it reduces."""
        return (*self.group.operands[self.made[m]].ranks, *sorted(self.group.reduced[m]))

    def row_ranks(self, m):
        made = self.group.operands[self.made[m]].ranks
        return tuple(r for r in made if r not in self.online[m])

    # which iterations

    def ancestors(self, m):
        """Members before one, through maps made in the group."""
        near = {
            self.group.operands[t].maker
            for t in self.inputs[m]
            if self.group.operands[t].kind == "made"
        }
        return near.union(*(self.ancestors(a) for a in near))

    def readers(self, t):
        return [m for m in self.members if t in self.inputs[m]]

    def uses_of_members(self):
        """For each member and loop the iterations of the loop in which the member runs."""
        uses = {}
        for m in reversed(self.members):
            t = self.made[m]
            for at, loop in enumerate(self.nest.loops):
                turns, readers = self.turns[at], self.readers(t)
                if loop.rank in self.group.own[m]:
                    uses[m, at] = set(turns)
                elif any(loop.rank in self.group.reduced[a] for a in self.ancestors(m)):
                    uses[m, at] = {turns[-1]}
                elif readers and at < self.nest.depth[t]:
                    uses[m, at] = set().union(*(uses[r, at] for r in readers))
                    uses[m, at] |= {turns[0]} if self.group.operands[t].exported else set()
                else:
                    uses[m, at] = {turns[0]}
        return uses

    # tiles of queries and keys

    def masked_loops(self):
        """Loops over queries and over keys."""
        m = next(m for m in self.members if self.group.layers[m].mask)
        dims = self.group.ranks.dims[m]
        ranks = dims[4][0], dims[2 if self.group.layers[m].mask.keys == "k" else 3][0]
        place = {loop.rank: at for at, loop in enumerate(self.nest.loops)}
        return tuple(place[rank] for rank in ranks)

    def needed(self, m):
        """Products of a layer that its mask leaves, element by element: an axis for each rank."""
        axes, layer = self.axes(m), self.group.layers[m]
        found = np.ones(self.shape(axes), bool)
        if layer.mask is None:
            return found
        dims = self.group.ranks.dims[m]
        row = self.numbers(dims[4], axes)
        key = self.numbers(dims[2 if layer.mask.keys == "k" else 3], axes)
        keys = layer.k if layer.mask.keys == "k" else layer.c
        own = row // layer.mask.rows + keys - layer.p // layer.mask.rows
        seen = key <= own
        if layer.mask.window:
            seen &= own - key < layer.mask.window
        return found & seen

    def numbers(self, ranks, axes):
        """Number of each element along a dimension that is a product of ranks."""
        found = np.zeros([1] * len(axes), int)
        for rank in ranks:
            shape = [self.sizes[rank] if axis == rank else 1 for axis in axes]
            found = found * self.sizes[rank] + np.arange(self.sizes[rank]).reshape(shape)
        return found

    def seen_pairs(self):
        """Pairs of iterations in whose tiles some masked layer needs something."""
        masked = {m: self.needed(m) for m in self.members if self.group.layers[m].mask}
        return {
            pair
            for pair in product(*(range(self.counts[at]) for at in self.pair))
            if any(needed[self.tile_part(m, pair)].any() for m, needed in masked.items())
        }

    def own_pairs(self):
        if 0 not in self.pair:
            return self.live
        axis = self.pair.index(0)
        return {pair for pair in self.live if pair[axis] in self.turns[0]}

    def tile_part(self, m, pair):
        """Slices of a layer's products that a tile of queries and keys has."""
        spans = {}
        for at, i in zip(self.pair, pair, strict=True):
            loop = self.nest.loops[at]
            spans[loop.rank] = slice(i * loop.tile, (i + 1) * loop.tile)
        return tuple(spans.get(rank, slice(None)) for rank in self.axes(m))

    def passed_over(self, m):
        """Products of a layer in tiles of which a mask leaves nothing."""
        ranks = {self.nest.loops[at].rank for at in self.pair or ()}
        found = np.zeros(self.shape(self.axes(m)), bool)
        if not self.pair or not ranks <= self.group.own[m]:
            return found
        found[...] = True
        for pair in self.live:
            found[self.tile_part(m, pair)] = False
        return found

    def unseen(self, m):
        """Products for keys that no query sees of those that are run."""
        found = np.zeros(self.shape(self.axes(m)), bool)
        if not self.pair or self.mine == self.live:
            return found
        loop = self.nest.loops[self.pair[1]]
        keys = np.arange(self.sizes[loop.rank]) // loop.tile
        unseen = ~np.isin(keys, [key for _, key in self.mine])
        axes = self.axes(m)
        if loop.rank in axes:
            shape = [len(unseen) if rank == loop.rank else 1 for rank in axes]
            found |= unseen.reshape(shape)
        return found

    def tiles_of_members(self):
        """For each member the pairs of iterations in which it runs."""
        found = {}
        for m in reversed(self.members):
            own, t = self.group.own[m], self.made[m]
            across = [at for at in self.pair if self.nest.loops[at].rank not in own]
            if not across:
                found[m] = self.mine
                continue
            (at,) = across
            axis = self.pair.index(at)
            lines = {}
            for tile in self.mine:
                lines.setdefault(tile[1 - axis], []).append(tile)
            late = any(self.nest.loops[at].rank in self.group.reduced[a] for a in self.ancestors(m))
            ends = {(max if late else min)(line) for line in lines.values()}
            readers = self.readers(t)
            if late or not readers or at >= self.nest.depth[t]:
                found[m] = ends
            else:
                found[m] = set().union(*(found[r] for r in readers))
                found[m] |= ends if self.group.operands[t].exported else set()
        return found

    def tile_at(self, index):
        return tuple(index[at] for at in self.pair)

    def runs_in(self, m, index):
        if self.tiles is not None and self.tile_at(index) not in self.tiles[m]:
            return False
        return all(
            i in self.uses[m, at] for at, i in enumerate(index) if at not in (self.pair or ())
        )

    def wanted_in(self, t, index):
        """Whether some reader may need the piece, each loop for itself, but tiles of queries and
        keys together."""
        ranks, readers = self.group.operands[t].ranks, self.readers(t)
        if self.tiles is not None:
            tile = self.tile_at(index)
            if not any(tile in self.tiles[r] for r in readers):
                return False
        return all(
            self.nest.loops[at].rank in ranks or any(i in self.uses[r, at] for r in readers)
            for at, i in enumerate(index)
            if at not in (self.pair or ())
        )

    def apart(self, t):
        """Whether tiles of queries and keys use an operand at other times than it comes or is made,
        for as long as it stays."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        across = [at for at in self.pair if self.nest.loops[at].rank not in operand.ranks]
        stays = [at for at in across if at >= depth]
        used = [self.tiles[r] for r in self.readers(t)]
        if operand.kind == "made":
            return bool(stays) and any(u != self.tiles[operand.maker] for u in used)
        together = Counter(
            tuple(i for at, i in zip(self.pair, tile, strict=True) if at not in stays)
            for tile in set().union(*used)
        )
        return max(together.values()) > 1

    def lasts(self, t):
        """Whether pieces have to stay from one iteration to another."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if depth == STREAMED:
            return False
        if self.tiles is not None and self.apart(t):
            return True
        for at in range(depth, len(self.nest.loops)):
            rank = self.nest.loops[at].rank
            if rank in operand.ranks:
                continue
            used = [self.uses[r, at] for r in self.readers(t)]
            if operand.kind == "made":
                mine = self.uses[operand.maker, at]
                if rank in self.group.reduced[operand.maker] or any(u != mine for u in used):
                    return True
            elif len(set().union(*used)) > 1:
                return True
        return False

    # pieces

    def piece(self, ranks, index):
        """Slices along ``ranks`` that an iteration covers."""
        return tuple(self.span(r, index) for r in ranks)

    def span(self, rank, index):
        for loop, i in zip(self.nest.loops, index, strict=True):
            if loop.rank == rank:
                return slice(i * loop.tile, min((i + 1) * loop.tile, self.sizes[rank]))
        return slice(0, self.sizes[rank])

    def bounds(self, m, index):
        dims = self.group.ranks.dims[m]
        return tuple(prod(s.stop - s.start for s in self.piece(d, index)) for d in dims)

    def box(self, t, ranks=None):
        """Words of what stays of an operand, or elements along some of its ranks."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        tiles = {loop.rank: loop.tile for loop in self.nest.loops[:depth]}
        along = operand.ranks if ranks is None else ranks
        count = prod(tiles.get(r, self.covered(r)) for r in along)
        return count * (self.words[t] if ranks is None else 1)

    def covered(self, rank):
        """Indices of a rank that all iterations that are run cover."""
        loop = self.nest.loops[0]
        if rank != loop.rank:
            return self.sizes[rank]
        return len(self.own_indices())

    def own_indices(self):
        """Indices of the outermost loop's rank that are run."""
        loop = self.nest.loops[0]
        indices = np.arange(self.sizes[loop.rank])
        return indices[np.isin(indices // loop.tile, list(self.turns[0]))]


def words_of_element(operand, shape):
    """Words for each element: taps of a kernel, learned words of a channel."""
    words, rest = divmod(operand.words, prod(shape))
    assert rest == 0, f"{operand.words} words along ranks of {shape}"
    return words
