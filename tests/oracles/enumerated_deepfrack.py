"""DeepFrack's plans by enumeration: small networks, every tiling, every set of cached weights.

Independent of: DeepFrack's planner: its choice of tilings, its pruning and its dynamic program.
"""

from collections import Counter
from functools import cache
from itertools import chain as joined, combinations, product
from math import ceil

import numpy as np

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tile import tile_cost
from archloom.evaluators.hardware import access_costs
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.workload.graph import connected
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network


def small_network(seed):
    """A random chain or DAG of up to ten convolutions, pools and adds on small maps."""
    rng = np.random.default_rng(seed)
    branching, count = bool(seed % 2), int(rng.integers(2, 11))
    side = (int(rng.integers(3, 9)), int(rng.integers(3, 9)))
    maps = {INPUT: (int(rng.integers(1, 4)), *side)}
    layers, reads = [], []
    while len(layers) < count:
        name, source = f"l{len(layers)}", list(maps)[-1]
        if branching and rng.random() < 0.3:
            source = str(rng.choice(list(maps)[-3:]))
        channels, p, q = maps[source]
        same = [m for m in maps if maps[m] == maps[source] and m != source]
        if branching and same and rng.random() < 0.4:
            other = str(rng.choice(same))
            layer = Layer(name, "add", g=channels, p=p, q=q, input_size=(p, q), operands=2)
            read = (source, other)
        else:
            layer, read = _window(rng, name, channels, p, q), (source,)
        layers.append(layer)
        reads.append(read)
        maps[name] = (layer.output_channels, layer.p, layer.q)
    batch = 2 if seed % 5 == 0 else 1
    return Network("small", tuple(layers), tuple(reads)).with_batch(batch)


def _window(rng, name, channels, p, q):
    kernel = int(rng.choice([1, 3, 3])) if min(p, q) > 1 else 1
    stride = 2 if kernel == 3 and min(p, q) > 3 and rng.random() < 0.25 else 1
    out = [(n + 2 * (kernel // 2) - kernel) // stride + 1 for n in (p, q)]
    window = {
        "p": out[0],
        "q": out[1],
        "r": kernel,
        "s": kernel,
        "stride": (stride, stride),
        "padding": (kernel // 2, kernel // 2),
        "input_size": (p, q),
    }
    if kernel == 3 and rng.random() < 0.15:
        return Layer(name, "maxpool", g=channels, **window)
    return Layer(name, "conv", k=int(rng.integers(1, 4)), c=channels, **window)


@cache
def square_coverings(rows, columns):
    """Every multiset of squares of sides 2 and more that covers a box, placed one by one."""
    found = set()

    def place(filled, used):
        # the first free position is the corner of the next square
        free = next(
            ((i, j) for i, j in product(range(rows), range(columns)) if not filled[i][j]), None
        )
        if free is None:
            found.add(tuple(sorted(used)))
            return
        i, j = free
        for side in range(2, min(rows - i, columns - j) + 1):
            cells = list(product(range(i, i + side), range(j, j + side)))
            if any(filled[a][b] for a, b in cells):
                break
            for a, b in cells:
                filled[a][b] = True
            place(filled, [*used, side])
            for a, b in cells:
                filled[a][b] = False

    place([[False] * columns for _ in range(rows)], [])
    return found


def tilings(face):
    """Every multiset of tiles {(rows, columns): count} that DeepFrack's planner looks at."""
    rows, columns = face
    coverings = square_coverings(rows, columns)
    found = {frozenset(Counter((s, s) for s in squares).items()) for squares in coverings}
    largest = {max(squares) for squares in coverings}
    grids = {(min(s, rows), min(s, columns)) for s in range(2, max(face)) if s not in largest}
    for height, width in grids | {face}:
        sizes = product(
            [min(height, rows - i) for i in range(0, rows, height)],
            [min(width, columns - j) for j in range(0, columns, width)],
        )
        found.add(frozenset(Counter(sizes).items()))
    return [dict(tiling) for tiling in found]


def extent(shape, layers, axis, length):
    """Positions of each map that a tile needs which is far from all borders."""
    anchor = shape.sizes[shape.anchor][axis]
    far, spans, found = anchor * 10**6, {}, []
    for u in (*reversed(range(shape.members)), *shape.externals):
        size, wanted = shape.sizes[u][axis], []
        readers = [e for e in shape.edges if e.source == u]
        if not readers:
            wanted.append((far * size // anchor, ceil((far + length) * size / anchor)))
        for edge in readers:
            layer, (lo, hi) = layers[edge.reader], spans[edge.reader]
            step, pad = layer.stride[axis], layer.padding[axis]
            reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
            wanted.append((lo * step - pad, (hi - 1) * step - pad + reach + 1))
        spans[u] = min(a for a, _ in wanted), max(b for _, b in wanted)
        found.append((u, min(size, spans[u][1] - spans[u][0])))
    return dict(found)


class Enumeration:
    """All plans of one network on one hardware, by DeepFrack's cost."""

    def __init__(self, network, hardware, mapper):
        self.network, self.hardware, self.mapper = network, hardware, mapper
        self.prices = access_costs(hardware)

    def stack_points(self, layers):
        """Every (energy, cycles) that a range can have."""
        network, hardware = self.network, self.hardware
        shape = group_shape(network, layers)
        members = [network.layers[i] for i in layers]
        weighty = [i for i in layers if network.layers[i].weight_words]
        subsets = list(
            joined.from_iterable(combinations(weighty, n) for n in range(len(weighty) + 1))
        )
        sizes = {t for tiling in tilings(shape.sizes[shape.anchor]) for t in tiling}
        tiles = {t: self.tile(shape, members, layers, t) for t in sizes}
        leaving = sum(
            self.accesses(shape.channels[m] * shape.sizes[m][0] * shape.sizes[m][1], -1)
            * self.prices.write_pj[-1, 2]
            for m in shape.exported
        )
        points = set()
        for tiling in tilings(shape.sizes[shape.anchor]):
            first = max(tiling, key=lambda t: t[0] * t[1])
            held = max(tiles[t][0] for t in tiling)
            for cached in subsets:
                words = sum(network.layers[i].weight_words for i in cached)
                words += len(cached) < len(weighty) and not hardware.levels[-2].optional
                if held + words <= buffer_words(hardware):
                    points.add(self.total(tiling, tiles, first, set(cached), leaving))
        return points

    def total(self, tiling, tiles, first, cached, leaving):
        """Energy and cycles, tile by tile; the first one fetches all weights."""
        batch = self.network.batch
        energy, cycles = batch * leaving, 0.0
        for tile, count in tiling.items():
            for i, (streamed, kept) in tiles[tile][1].items():
                fetching = (tile == first) if i in cached else count * batch
                for times, cost in ((fetching, streamed), (count * batch - fetching, kept)):
                    energy += times * cost[0]
                    cycles += times * cost[1]
        return energy, cycles

    def tile(self, shape, members, layers, size):
        """Words held at most, and for each layer its cost with weights from DRAM and cached."""
        spans = [extent(shape, members, axis, size[axis]) for axis in (0, 1)]
        area = {u: spans[0][u] * spans[1][u] for u in spans[0]}
        held = 0
        for step in range(len(layers)):
            now = 0
            for u, words in area.items():
                readers = [e.reader for e in shape.edges if e.source == u]
                last = len(layers) - 1 if u in shape.exported else max(readers)
                made = u if u < len(layers) else -1
                now += shape.channels[u] * words * (made <= step <= last)
            held = max(held, now)
        face = shape.sizes[shape.anchor]
        costs = {}
        for m, i in enumerate(layers):
            fetched = [
                shape.channels[u] * area[u]
                for u in shape.externals
                if min(e.reader for e in shape.edges if e.source == u) == m
            ]
            moved = sum(fetched)
            if m in shape.exported:
                whole = shape.channels[m] * shape.sizes[m][0] * shape.sizes[m][1]
                moved += whole * size[0] * size[1] / (face[0] * face[1])
            made = spans[0][m], spans[1][m]
            costs[i] = [
                self.layer(members[m], resident, made, fetched, moved) for resident in (0, 1)
            ]
        return held, costs

    def layer(self, layer, resident, made, fetched, moved):
        found = tile_cost(layer, bool(resident), *made, self.hardware, None, self.mapper)
        assert not isinstance(found, Infeasible)
        rate = self.hardware.levels[-1].bandwidth_words
        cycles = max(found.chip_cycles, found.dram_cycles + moved / rate)
        energy = found.dynamic_pj + self.prices.leakage_pj_per_cycle * cycles
        for words in fetched:
            energy += self.accesses(words, -1) * self.prices.read_pj[-1, 1]
            energy += self.accesses(words, -2) * self.prices.write_pj[-2, 1]
        return energy, cycles

    def accesses(self, words, level):
        return ceil(words / self.hardware.levels[level].width_words)

    def alone(self, i):
        cost = group_cost(self.network, FusionGroup((i,)), self.hardware, self.mapper)
        leak = self.prices.leakage_pj_per_cycle * cost.latency_cycles
        return cost.dynamic_pj + leak, float(cost.latency_cycles)

    def fronts(self):
        """For each range the points that no other point of it beats in both figures."""
        count = len(self.network.layers)
        found = {}
        for start, end in combinations(range(count + 1), 2):
            layers = tuple(range(start, end))
            points = {self.alone(start)} if end == start + 1 else set()
            if connected(self.network, layers):
                points |= self.stack_points(layers)
            found[start, end] = front(points)
        return found

    def plans(self):
        """The points of all plans that no other plan beats in both figures."""
        fronts, count = self.fronts(), len(self.network.layers)
        reached = {0: [(0.0, 0.0)]}
        for end in range(1, count + 1):
            points = {
                (a + c, b + d)
                for start in range(end)
                for a, b in reached[start]
                for c, d in fronts[start, end]
            }
            reached[end] = front(points)
        return reached[count]


def front(points):
    """Leave out what another point beats, or equals, in both figures."""
    kept = []
    for energy, cycles in sorted(points):
        if not kept or cycles < kept[-1][1]:
            kept.append((energy, cycles))
    return kept
