"""A slow oracle of the loop-nest model: it walks the nest step by step and moves sets of words.

It shares no arithmetic with the kernel. A set of words is an integer whose bits are the places
of a tensor, laid out row by row. A MAC asks for a word in every step. A level serves what its
children ask for in a step, one read for all that ask for the same if it can multicast; it holds
the tile of the step, fetches what it does not hold, drains what it gives up, and remembers which
partial sums it has touched. A level that does not keep a tensor passes all requests on.

Three conventions are the model's own (Parashar et al., ISPASS 2019): a tile of inputs is the box
around its windows, a level remembers only the tile before, and it forgets even that when a loop
outside the innermost relevant one advances.

Independent of: the arithmetic of the kernel, and of every closed form of data reuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, prod
from typing import Any

import numpy as np

from archloom.evaluators.loopnest.kernel_inputs import KernelInputs

N, G, K, C, P, Q, R, S = range(8)
WEIGHTS, INPUTS, OUTPUTS = range(3)
READS, FILLS, UPDATES = range(3)
INDEXED_BY = {WEIGHTS: {G, K, C, R, S}, INPUTS: {N, G, C, P, Q, R, S}, OUTPUTS: {N, G, K, P, Q}}
ALL = range(8)

Row = list[int]
#: what one child asks for in one step: sets of words, each of them one request
Request = tuple[int, ...]


@dataclass(frozen=True)
class Nest:
    """A problem and one mapping of it; levels from the innermost.

    ``temporal``, ``x`` and ``y`` are [L][8] factors, ``order`` [L][8] loops innermost first,
    ``keep`` [L][3]. ``top`` is the outermost level with a part in each tensor. ``alone`` says
    whether DRAM feeds a single instance. ``multicast`` [L][3] says which tensors a level sends
    to several children at once, or adds up on the way; all of them if it is empty.
    """

    temporal: list[Row]
    x: list[Row]
    y: list[Row]
    order: list[Row]
    keep: list[list[bool]]
    top: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    input_size: tuple[int, ...]
    alone: bool
    multicast: list[list[bool]] = field(default_factory=list)

    @property
    def levels(self) -> int:
        return len(self.temporal)

    @property
    def bounds(self) -> Row:
        factors = (*self.temporal, *self.x, *self.y)
        return [prod(f[d] for f in factors) for d in ALL]

    def spatial(self, level: int, d: int) -> int:
        return self.x[level][d] * self.y[level][d]

    def size(self, level: int, d: int) -> int:
        """Extent of dimension d in the tile of one instance of a level."""
        return prod(self.temporal[v][d] * self.spatial(v, d) for v in range(level + 1))

    def loops_above(self, level: int) -> list[tuple[int, int, int]]:
        """Temporal loops outside a level, innermost first: (dimension, bound, stride of index)."""
        loops = []
        for v in range(level + 1, self.levels):
            for d in self.order[v]:
                inside = self.size(v - 1, d) * self.spatial(v, d)
                loops.append((d, self.temporal[v][d], inside))
        return loops

    def shares(self, level: int, tensor: int) -> bool:
        """Whether one read of a level serves all its children that need the same."""
        return not self.multicast or self.multicast[level][tensor]

    def steps(self) -> int:
        return prod(self.temporal[v][d] for v in range(self.levels) for d in ALL)


Tile = tuple[frozenset[int], ...]


def box(nest: Nest, tensor: int, start: Row, size: Row) -> Tile:
    """Return the tile that starts at loop index ``start`` as one set of coordinates an axis."""

    def span(d: int) -> frozenset[int]:
        return frozenset(range(start[d], start[d] + size[d]))

    def window(axis: int) -> frozenset[int]:
        out, kernel = P + axis, R + axis
        taps = [
            i * nest.stride[axis] + j * nest.dilation[axis] for i in span(out) for j in span(kernel)
        ]
        return frozenset(range(min(taps), max(taps) + 1))

    if tensor == WEIGHTS:
        return tuple(span(d) for d in (G, K, C, R, S))
    if tensor == OUTPUTS:
        return tuple(span(d) for d in (N, G, K, P, Q))
    return (span(N), span(G), span(C), window(0), window(1))


def words(tile: Tile) -> int:
    return prod(len(axis) for axis in tile)


def common(a: Tile, b: Tile) -> Tile:
    return tuple(x & y for x, y in zip(a, b, strict=True))


def inside_map(nest: Nest, tile: Tile) -> Tile:
    """Cut a tile of inputs at the borders of the real map."""
    real = [frozenset(range(nest.padding[a], nest.padding[a] + nest.input_size[a])) for a in (0, 1)]
    return (*tile[:3], tile[3] & real[0], tile[4] & real[1])


class Layout:
    """The places of a tensor's words, row by row: a tile that moves is a set that shifts."""

    def __init__(self, nest: Nest, tensor: int) -> None:
        sides = [
            {P + a: nest.stride[a], R + a: nest.dilation[a]} if tensor == INPUTS else {P + a: 1}
            for a in (0, 1)
        ]
        axes: list[dict[int, int]] = [{d: 1} for d in (G, K, C, R, S)]
        if tensor != WEIGHTS:
            axes = [{N: 1}, {G: 1}, {C if tensor == INPUTS else K: 1}, *sides]
        self.axes = axes
        lengths = [self._length(axis, nest.bounds) for axis in axes]
        self.pitch = [prod(lengths[i + 1 :]) for i in range(len(axes))]
        #: how far a tile moves with one step along each dimension
        self.step = [0] * 8
        for axis, pitch in zip(axes, self.pitch, strict=True):
            for d, each in axis.items():
                self.step[d] = each * pitch
        self._nest, self._lengths = nest, lengths

    @staticmethod
    def _length(axis: dict[int, int], size: Row) -> int:
        return 1 + sum(each * (size[d] - 1) for d, each in axis.items())

    def _block(self, spans: list[range]) -> int:
        block = 1
        for span, pitch in zip(reversed(spans), reversed(self.pitch), strict=True):
            line, block = block, 0
            for i in span:
                block |= line << i * pitch
        return block

    def tile(self, size: Row) -> int:
        """Return the tile of that size that starts at the first word of the tensor."""
        return self._block([range(self._length(axis, size)) for axis in self.axes])

    def real(self) -> int:
        """Return all words of a tensor of inputs but the padding."""
        spans = [range(n) for n in self._lengths]
        for a in (0, 1):
            pad, size = self._nest.padding[a], self._nest.input_size[a]
            spans[3 + a] = range(pad, min(pad + size, len(spans[3 + a])))
        return self._block(spans)


def times(nest: Nest, level: int, step: Row) -> tuple[Row, Row]:
    """Walk the temporal loops outside a level.

    Returns, for each step, where the tile lies and which loop advanced (-1 at the first step).
    """
    offsets, advanced = [0], [-1]
    for position, (d, bound, inside) in reversed(list(enumerate(nest.loops_above(level)))):
        offsets = [o + i * inside * step[d] for o in offsets for i in range(bound)]
        advanced = [position if i else a for a in advanced for i in range(bound)]
    return offsets, advanced


def children(
    nest: Nest, level: int, step: Row, across: tuple[Row, Row] = (list(ALL), list(ALL))
) -> Row:
    """Return where the tile of each child of one instance lies, from that of the first.

    Children are numbered through the loops along x, then those along y, ``across`` innermost
    first.
    """
    loops = [(d, nest.x[level][d], nest.size(level - 1, d)) for d in across[0]]
    loops += [(d, nest.y[level][d], nest.size(level - 1, d) * nest.x[level][d]) for d in across[1]]
    offsets = [0]
    for d, bound, inside in reversed(loops):
        offsets = [o + i * inside * step[d] for o in offsets for i in range(bound)]
    return offsets


def places(nest: Nest, level: int, step: Row) -> Row:
    """Return where the tile of each instance of a level lies; children of one side by side."""
    offsets = [0]
    for v in range(nest.levels - 1, level, -1):
        offsets = [o + child for o in offsets for child in children(nest, v, step)]
    return offsets


@dataclass
class Instance:
    """What one instance of a level has done for a tensor.

    Attributes:
        counts: reads, fills, updates.
        asked: what it asked of its parent, for each step.
        loads: how often it got another tile.
        entered: words of all tiles that entered.
    """

    counts: Row = field(default_factory=lambda: [0, 0, 0])
    asked: list[Request] = field(default_factory=list)
    loads: int = 0
    entered: int = 0


def hold(
    nest: Nest,
    tensor: int,
    level: int,
    place: int = 0,
    arrivals: Sequence[Request] = (),
    unpadded: bool = False,
    begun: bool = False,
) -> Instance:
    """Let the instance at ``place`` hold a tensor; ``arrivals`` are what its children ask for.

    Results that were ``begun`` before the walk are partial sums from its first step on.
    """
    layout = Layout(nest, tensor)
    offsets, advanced = times(nest, level, layout.step)
    shape = layout.tile([nest.size(level, d) for d in ALL])
    real = layout.real() if unpadded else -1
    each = len(arrivals) // len(offsets)
    relevant = [
        i
        for i, (d, bound, _) in enumerate(nest.loops_above(level))
        if bound > 1 and d in INDEXED_BY[tensor]
    ]
    forgets = [bool(relevant) and loop > relevant[0] for loop in advanced] + [True]
    # all bits: every word was touched by others before
    made, touched, before = Instance(), -1 if begun else 0, 0
    for s, offset in enumerate(offsets):
        tile = shape << (offset + place)
        if forgets[s]:
            before = 0
        enters = tile & real & ~before
        made.loads += tile != before
        made.entered += enters.bit_count()
        # a partial sum that was here before comes back, another starts as zero
        made.counts[FILLS] += (enters & touched if tensor == OUTPUTS else enters).bit_count()
        for request in arrivals[s * each : (s + 1) * each]:
            touched = serve(tensor, tile, request, made.counts, touched)
        if tensor == OUTPUTS:
            # results ask for their place outside when they leave, operands when they enter
            enters = tile if forgets[s + 1] else tile & ~(shape << (offsets[s + 1] + place))
        made.asked.append((enters,) if enters else ())
        before = tile
    return made


def serve(tensor: int, tile: int, request: Request, counts: Row, touched: int) -> int:
    """Serve one request from a tile; return all words that were ever touched."""
    for asked in request:
        assert not asked & ~tile, "asked for a word that is not held"
        if tensor == OUTPUTS:
            # a sum that is not the first is added to what is there
            counts[READS] += (asked & touched).bit_count()
            counts[UPDATES] += asked.bit_count()
            touched |= asked
        else:
            counts[READS] += asked.bit_count()
    return touched


def gathered(requests: Sequence[Request], shared: bool) -> Request:
    """Return what a level provides for its children in one step, once for equals if shared."""
    return tuple(chain.from_iterable(dict.fromkeys(requests) if shared else requests))


@dataclass
class Moved:
    """What one used instance of a level did for a tensor.

    Attributes:
        provided: words that it gave to its children or took from them, its own or passed on.
        kept: whether it held the tensor; else the rest is empty.
        counts: reads, fills and updates.
        loads: how often it got another tile.
    """

    provided: int = 0
    kept: bool = False
    counts: Row = field(default_factory=lambda: [0, 0, 0])
    loads: int = 0


def move(nest: Nest, tensor: int, begun: bool = False) -> list[Moved]:
    """Move a tensor through all levels; results may have been ``begun`` before."""
    step = Layout(nest, tensor).step
    offsets = times(nest, -1, step)[0]
    # each MAC asks for a word in every step
    asked: list[list[Request]] = [
        [(1 << (offset + place),) for offset in offsets] for place in places(nest, -1, step)
    ]
    found = [Moved() for _ in range(nest.levels)]
    for level in range(nest.top[tensor] + 1):
        n, shared = len(children(nest, level, step)), nest.shares(level, tensor)
        if n > 1:
            asked = [
                [gathered(requests, shared) for requests in zip(*asked[i : i + n], strict=True)]
                for i in range(0, len(asked), n)
            ]
        found[level].provided = sum(w.bit_count() for request in asked[0] for w in request)
        if nest.keep[level][tensor]:
            where = places(nest, level, step)
            whole = level == nest.top[tensor]
            feeds = tensor == INPUTS and nest.alone and level == nest.levels - 2
            made = [
                hold(nest, tensor, level, place, arrivals, feeds and not whole, begun)
                for place, arrivals in zip(where, asked, strict=True)
            ]
            assert all(other.counts == made[0].counts for other in made), "instances differ"
            asked = [one.asked for one in made]
            counts = made[0].counts
            if whole:
                # it is there from the start and stays
                counts[FILLS] = 0
            found[level] = Moved(found[level].provided, True, counts, made[0].loads)
    return found


def entering(nest: Nest, level: int, tensor: int) -> int:
    """Words, padding too, that enter the tile of one instance of a level, kept there or not."""
    return hold(nest, tensor, level).entered


def count(nest: Nest) -> Any:
    """Return int[L, 3, 3]: reads, fills and updates of each tensor in one used instance."""
    counts = np.zeros((nest.levels, 3, 3), int)
    for tensor in (WEIGHTS, INPUTS, OUTPUTS):
        for level, moved in enumerate(move(nest, tensor)):
            counts[level, tensor] = moved.counts
    return counts


def used(nest: Nest) -> Row:
    """Instances of each level that take part."""
    return [len(places(nest, level, [0] * 8)) for level in range(nest.levels)]


def price(nest: Nest, setup: KernelInputs) -> tuple[float, int, int]:
    """Return energy in pJ, cycles of the chip and cycles of DRAM, from the counts above."""
    counts, instances = count(nest), used(nest)
    energy = prod(nest.bounds) * setup.mac_pj
    cycles = []
    for level in range(nest.levels):
        for tensor in range(3):
            reads, fills, updates = (
                ceil(int(n) / int(setup.width[level, tensor])) for n in counts[level, tensor]
            )
            energy += instances[level] * reads * setup.read_pj[level, tensor]
            energy += instances[level] * fills * setup.fill_pj[level, tensor]
            energy += instances[level] * updates * setup.update_pj[level, tensor]
        read, fill, update = counts[level].sum(axis=0)
        needs = (read, fill + update, read + fill + update)
        rates = setup.bandwidth[level]
        cycles.append(max(ceil(int(n) / rate) for n, rate in zip(needs, rates, strict=True)))
    return energy, max(nest.steps(), *cycles[:-1]), cycles[-1]
