"""A slow oracle of the loop-nest model: it walks the nest step by step and counts coordinates.

It shares no arithmetic with the kernel. A tile is a set of coordinates on each axis of its
tensor; what moves is found by comparing sets. Three conventions are the model's own (Parashar
et al., ISPASS 2019): a tile of inputs is the box around its windows, a level remembers only the
tile before, and it forgets even that when a loop outside the innermost relevant one advances.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil, prod

import numpy as np

from archloom.evaluators.kernel import Setup

N, G, K, C, P, Q, R, S = range(8)
WEIGHTS, INPUTS, OUTPUTS = range(3)
INDEXED_BY = {WEIGHTS: {G, K, C, R, S}, INPUTS: {N, G, C, P, Q, R, S}, OUTPUTS: {N, G, K, P, Q}}


@dataclass(frozen=True)
class Nest:
    """A problem and one mapping of it; levels from the innermost.

    ``temporal``, ``x`` and ``y`` are [L][8] factors, ``order`` [L][8] loops innermost first,
    ``keep`` [L][3]. ``top`` is the outermost level with a part in each tensor. ``alone`` says
    whether DRAM feeds a single instance.
    """

    temporal: list
    x: list
    y: list
    order: list
    keep: list
    top: tuple
    stride: tuple
    dilation: tuple
    padding: tuple
    input_size: tuple
    alone: bool

    @property
    def levels(self):
        return len(self.temporal)

    @property
    def bounds(self):
        factors = (*self.temporal, *self.x, *self.y)
        return [prod(f[d] for f in factors) for d in range(8)]

    def spatial(self, level, d):
        return self.x[level][d] * self.y[level][d]

    def size(self, level, d):
        """Extent of dimension d in the tile of one instance of a level."""
        return prod(self.temporal[v][d] * self.spatial(v, d) for v in range(level + 1))

    def loops_above(self, level):
        """Temporal loops outside a level, innermost first: (dimension, bound, stride of index)."""
        loops = []
        for v in range(level + 1, self.levels):
            for d in self.order[v]:
                inside = self.size(v - 1, d) * self.spatial(v, d)
                loops.append((d, self.temporal[v][d], inside))
        return loops

    def steps(self):
        return prod(self.temporal[v][d] for v in range(self.levels) for d in range(8))


def box(nest, tensor, start, size):
    """Return the tile that starts at loop index ``start`` as one set of coordinates an axis."""

    def span(d):
        return frozenset(range(start[d], start[d] + size[d]))

    def window(axis):
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


def words(tile):
    return prod(len(axis) for axis in tile)


def common(a, b):
    return tuple(x & y for x, y in zip(a, b, strict=True))


def inside_map(nest, tile):
    """Cut a tile of inputs at the borders of the real map."""
    real = [frozenset(range(nest.padding[a], nest.padding[a] + nest.input_size[a])) for a in (0, 1)]
    return (*tile[:3], tile[3] & real[0], tile[4] & real[1])


def walk(nest, level):
    """Yield, for each step outside a level, the loop that advanced and the start of the tile."""
    loops = nest.loops_above(level)
    ranges = [range(bound) for _, bound, _ in reversed(loops)]
    before = None
    for index in product(*ranges):
        now = index[::-1]
        advanced = -1
        if before is not None:
            advanced = max(i for i in range(len(now)) if now[i] != before[i])
        before = now
        start = [0] * 8
        for i, (d, _, inside) in zip(now, loops, strict=True):
            start[d] += i * inside
        yield advanced, start


def entering(nest, level, tensor, unpadded=False):
    """Words of a tensor that enter one instance of a level over the run."""
    size = [nest.size(level, d) for d in range(8)]
    relevant = [
        i
        for i, (d, bound, _) in enumerate(nest.loops_above(level))
        if bound > 1 and d in INDEXED_BY[tensor]
    ]
    total, held = 0, None
    for advanced, start in walk(nest, level):
        tile = box(nest, tensor, start, size)
        if tile == held and not (relevant and advanced > relevant[0]):
            continue
        fresh = inside_map(nest, tile) if unpadded else tile
        total += words(fresh)
        if held is not None and relevant and advanced <= relevant[0]:
            total -= words(common(fresh, held))
        held = tile
    return total


def owned(nest, level):
    """Output words that one instance of a level holds at some time."""
    size = [nest.size(level, d) for d in range(8)]
    seen = set()
    for _, start in walk(nest, level):
        seen.update(product(*box(nest, OUTPUTS, start, size)))
    return len(seen)


def groups(nest, level, tensor):
    """Children of one instance of a level that hold different data: one read serves a group."""
    size = [nest.size(level - 1, d) for d in range(8)]
    starts = set()
    for index in product(*(range(nest.spatial(level, d)) for d in range(8))):
        start = [i * n for i, n in zip(index, size, strict=True)]
        starts.add(tuple(min(axis) for axis in box(nest, tensor, start, size)))
    return len(starts)


def count(nest):
    """Return int[L, 3, 3]: reads, fills and updates of each tensor in one used instance."""
    counts = np.zeros((nest.levels, 3, 3), int)
    for tensor in range(3):
        stream = nest.steps()  # each MAC asks for a word in every step
        for level in range(nest.top[tensor] + 1):
            stream *= groups(nest, level, tensor)
            if not nest.keep[level][tensor]:
                continue
            served, stream = stream, 0
            if level < nest.top[tensor]:
                feeds = tensor == INPUTS and nest.alone and level == nest.levels - 2
                stream = entering(nest, level, tensor, unpadded=feeds)
            if tensor == OUTPUTS:
                first = owned(nest, level)
                counts[level, tensor] = served - first, max(0, stream - first), served
            else:
                counts[level, tensor] = served, stream, 0
    return counts


def used(nest):
    """Instances of each level that take part."""
    return [
        prod(nest.spatial(v, d) for v in range(level + 1, nest.levels) for d in range(8))
        for level in range(nest.levels)
    ]


def price(nest, setup: Setup):
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
