"""A slow oracle of nests that cover more than the loop bounds: it walks every step of every child.

It shares no arithmetic with the closed form. A child works in a step if its first index lies
inside the bounds, its tile is cut there, and what moves is found by comparing sets of
coordinates. On top of the conventions of :mod:`.walked_nest`, children share a read if their tiles
start at the same words and have the same lengths; the read serves the one that needs most.

Independent of: the arithmetic of the closed form, with and without imperfect factors.
"""

from collections import defaultdict
from itertools import product
from math import ceil

import numpy as np

from .walked_nest import INDEXED_BY, INPUTS, OUTPUTS, box, common, inside_map, words

ALL = range(8)


class Walk:
    """All steps of the loops outside one level, and all instances of that level."""

    def __init__(self, nest, bounds, level):
        self.nest, self.bounds, self.level = nest, bounds, level
        self.loops = [(d, n, inside) for d, n, inside in nest.loops_above(level) if n > 1]
        self.at = [
            v
            for v in range(level + 1, nest.levels)
            for d in nest.order[v]
            if nest.temporal[v][d] > 1
        ]
        # an instance is a path of children, outermost level first
        self.paths = [()]
        for v in range(nest.levels - 1, level, -1):
            children = list(product(*(range(nest.spatial(v, d)) for d in ALL)))
            self.paths = [(*path, child) for path in self.paths for child in children]
        self.sizes = [[nest.size(v - 1, d) for d in ALL] for v in range(nest.levels + 1)]

    def steps(self):
        """Yield the index of every loop, innermost first."""
        ranges = [range(n) for _, n, _ in reversed(self.loops)]
        return (index[::-1] for index in product(*ranges))

    def tile(self, index, path):
        """Return start and size of the tile of the instance at ``path``; None if it is idle.

        A shorter path is an instance further out: loops inside it do not move its tile.
        """
        level = self.nest.levels - 1 - len(path)
        start = [0] * 8
        for i, (d, _, inside), v in zip(index, self.loops, self.at, strict=True):
            if v > level:
                start[d] += i * inside
        for v, child in zip(range(self.nest.levels - 1, level, -1), path, strict=True):
            for d in ALL:
                start[d] += child[d] * self.sizes[v][d]
        if any(s >= b for s, b in zip(start, self.bounds, strict=True)):
            return None
        size = [
            min(n, b - s) for n, b, s in zip(self.sizes[level + 1], self.bounds, start, strict=True)
        ]
        return start, size


def requests(walk, tensor, unpadded):
    """Yield, for each step, the words that each working instance fetches in it."""
    nest = walk.nest
    relevant = [i for i, (d, _, _) in enumerate(walk.loops) if d in INDEXED_BY[tensor]]
    innermost = relevant[0] if relevant else len(walk.loops)
    before, held = {}, {}
    for index in walk.steps():
        asked = {}
        for path in walk.paths:
            found = walk.tile(index, path)
            if found is None:
                continue
            tile = box(nest, tensor, *found)
            fresh = inside_map(nest, tile) if unpadded else tile
            asked[path] = words(fresh)
            if path in before and walk.level >= 0:
                moved = max(i for i, n in enumerate(index) if n != before[path][i])
                if moved <= innermost:
                    asked[path] -= words(common(fresh, held[path]))
            before[path], held[path] = index, tile
        yield index, asked


def merged(walk, tensor, index, asked, shared):
    """Return the words that the parents of all these instances send in a step."""
    groups = defaultdict(dict)
    for path, amount in asked.items():
        start, size = walk.tile(index, path)
        key = path[-1]
        if shared:
            corner = tuple(min(axis) for axis in box(walk.nest, tensor, start, size))
            key = (corner, *(size[d] for d in ALL if d in INDEXED_BY[tensor]))
        parent = groups[path[:-1]]
        parent[key] = max(parent.get(key, 0), amount)
    return {path: sum(group.values()) for path, group in groups.items()}


def moved(nest, bounds, tensor, level, served, unpadded=False):
    """Words that ``served`` sends to tiles of ``level``: all its instances, and the first."""
    walk = Walk(nest, bounds, level)
    total, first = 0, 0
    origin = ((0,) * 8,) * (nest.levels - 1 - served)
    for index, asked in requests(walk, tensor, unpadded):
        for v in range(level + 1, served + 1):
            asked = merged(walk, tensor, index, asked, nest.shares(v, tensor))
        total += sum(asked.values())
        first += asked.get(origin, 0)
    return np.array([total, first])


def owned(nest, bounds, level):
    """Output words that all instances of a level hold at some time, and the first instance."""
    walk, seen = Walk(nest, bounds, level), defaultdict(set)
    for index in walk.steps():
        for path in walk.paths:
            found = walk.tile(index, path)
            if found is not None:
                seen[path].update(product(*box(nest, OUTPUTS, *found)))
    return np.array([sum(map(len, seen.values())), len(seen[walk.paths[0]])])


def used(nest, bounds, level):
    """Instances of a level that work at some time."""
    walk = Walk(nest, bounds, level)
    steps = list(walk.steps())
    return sum(any(walk.tile(index, path) for index in steps) for path in walk.paths)


def cycles(nest, bounds):
    """Steps in which any MAC works."""
    walk = Walk(nest, bounds, -1)
    return sum(any(walk.tile(index, path) for path in walk.paths) for index in walk.steps())


def macs(nest, bounds):
    """Multiply-accumulates that run."""
    walk = Walk(nest, bounds, -1)
    return sum(walk.tile(index, path) is not None for index in walk.steps() for path in walk.paths)


def count(nest, bounds, begun=False):
    """Return int[2, L, 3, 3]: reads, fills, updates over all instances, and in the first.

    Of results that were ``begun`` before nothing comes first.
    """
    counts = np.zeros((2, nest.levels, 3, 3), int)
    for tensor in range(3):
        below = -1
        for level in range(nest.top[tensor] + 1):
            if not nest.keep[level][tensor]:
                continue
            feeds = [
                tensor == INPUTS and nest.alone and v == nest.levels - 2 for v in (below, level)
            ]
            content = moved(nest, bounds, tensor, below, level, feeds[0])
            stream = np.zeros(2, int)
            if level < nest.top[tensor]:
                stream = moved(nest, bounds, tensor, level, level, feeds[1])
            counts[:, level, tensor, 0] = content
            counts[:, level, tensor, 1] = stream
            if tensor == OUTPUTS:
                first = 0 if begun else owned(nest, bounds, level)
                counts[:, level, tensor, 0] = content - first
                counts[:, level, tensor, 1] = np.maximum(0, stream - first)
                counts[:, level, tensor, 2] = content
            below = level
    return counts


def price(nest, bounds, setup, counts):
    """Return energy in pJ, cycles of the chip and cycles of DRAM, from these counts."""
    totals, busiest = counts
    energy = macs(nest, bounds) * setup.mac_pj
    needs = []
    for level in range(nest.levels):
        working = used(nest, bounds, level)
        for tensor in range(3):
            rates = (p[level, tensor] for p in (setup.read_pj, setup.fill_pj, setup.update_pj))
            for n, pj in zip(totals[level, tensor], rates, strict=True):
                line = working * int(setup.width[level, tensor])
                energy += working * ceil(int(n) / line) * pj
        read, fill, update = busiest[level].sum(axis=0)
        ports = (read, fill + update, read + fill + update)
        rates = setup.bandwidth[level]
        needs.append(max(ceil(int(n) / rate) for n, rate in zip(ports, rates, strict=True)))
    return energy, max(cycles(nest, bounds), *needs[:-1]), needs[-1]
