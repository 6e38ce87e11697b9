"""Iterations, pieces and boxes of operands in a loop nest, as its rules are written.

Uses of loops are sets of iterations, pieces are slices along the ranks of an operand.

Independent of: the closed forms of uses and of what stays in nests.
"""

from math import ceil, prod

from archloom.space.fusion.loop_nest import STREAMED


class NestPieces:
    """One group in one nest: when its layers run, and on what.

    ``outermost`` are the iterations of the outermost loop that are run, one after another: all
    unless said.
    """

    def __init__(self, group, nest, outermost=None):
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
        self.words = [words_of_element(o, self.shape(o.ranks)) for o in group.operands]
        self.online = {
            m: ranks
            for m, ranks in group.online.items()
            if any(loop.rank in ranks for loop in nest.loops)
        }
        self.uses = self.uses_of_members()
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

    def runs_in(self, m, index):
        return all(i in self.uses[m, at] for at, i in enumerate(index))

    def wanted_in(self, t, index):
        """Whether some reader may need the piece, each loop for itself."""
        ranks, readers = self.group.operands[t].ranks, self.readers(t)
        return all(
            self.nest.loops[at].rank in ranks or any(i in self.uses[r, at] for r in readers)
            for at, i in enumerate(index)
        )

    def lasts(self, t):
        """Whether pieces have to stay from one iteration to another."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if depth == STREAMED:
            return False
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
        slices = []
        for r in ranks:
            span = slice(0, self.sizes[r])
            for loop, i in zip(self.nest.loops, index, strict=True):
                if loop.rank == r:
                    span = slice(i * loop.tile, min((i + 1) * loop.tile, self.sizes[r]))
            slices.append(span)
        return tuple(slices)

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
        first, last = self.turns[0][0], self.turns[0][-1]
        return min((last + 1) * loop.tile, self.sizes[rank]) - first * loop.tile


def words_of_element(operand, shape):
    """Words for each element: taps of a kernel, learned words of a channel."""
    words, rest = divmod(operand.words, prod(shape))
    assert rest == 0, f"{operand.words} words along ranks of {shape}"
    return words
