"""A slow account of a fused group: every tile is priced on its own and the tiles are added up.

Sizes and occupancy come from the run over coordinates, layers of a tile from the layer model.

Independent of: the sums over tiles, and the sizes and occupancy, of the cost of fused groups.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np

from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost

from .tile_simulator import axis_of, face_axes, in_flight, simulate, simulate_faces


@dataclass
class Account:
    """What a group costs when every tile is priced on its own."""

    reads: int = 0
    writes: int = 0
    latency: int = 0
    energy_pj: float = 0.0
    peak: int = 0
    prefetch: bool = True


def resident_words(network, group):
    """Return for each layer with resident weights the words that come for it.

    What layers share comes for the first of them alone.
    """
    words, seen = {}, set()
    for i in group.resident:
        first = i
        while network.layers[first].weights_of:
            first = network.index(network.layers[first].weights_of)
        words[i] = 0 if first in seen else network.layers[i].weight_words
        seen.add(first)
    return words


def tiles_of(group, shape, layers):
    """Return rows and columns of tiles, and for each tile its place among them."""
    if group.faces:
        return *face_axes(shape, layers, group.faces), [(f, f) for f in range(len(group.faces))]
    rows = axis_of(shape, layers, 0, group.tile[0], keep=group.halo == "keep_all")
    columns = axis_of(shape, layers, 1, group.tile[1], keep=group.halo != "recompute")
    return rows, columns, list(product(range(rows.tiles), range(columns.tiles)))


def tile_costs(network, group, hardware, mapper, free):
    """Return the layer costs of each tile, {(tile, layer): cost}, from the simulated sizes."""
    shape = group_shape(network, group.layers)
    there = (*group.resident, *group.steady)
    layers = tuple(network.layers[i] for i in group.layers)
    rows, columns, places = tiles_of(group, shape, layers)
    costs = {}
    for t, (i, j) in enumerate(places):
        for m, layer in enumerate(layers):
            p, q = len(rows.new[i][m]), len(columns.new[j][m])
            if p * q == 0:
                continue
            resident = group.layers[m] in there
            if not layer.uses_macs:
                costs[t, m] = vector_cost(layer, hardware, p, q, True, resident)
                continue
            # the second map of a product is in the buffer where others have weights
            resident = resident or layer.operator == "matmul"
            box = tuple(
                (n - 1) * s + (k - 1) * d + 1
                for n, k, s, d in zip(
                    (p, q), (layer.r, layer.s), layer.stride, layer.dilation, strict=True
                )
            )
            bounds = (1, layer.g, layer.k, layer.c, p, q, layer.r, layer.s)
            room = None if resident else int(2 ** (free[m].bit_length() - 1))
            words = layer.g * layer.k * layer.c * layer.r * layer.s
            # all weights fit, or none are kept: whatever else is free makes no difference
            if room is not None and (room >= words or "weights" not in hardware.levels[-2].keeps):
                room = None
            window = (layer.stride, layer.dilation, (0, 0), box)
            staged = (resident, True, True)
            costs[t, m] = mapper(MappingProblem(bounds, *window, hardware, staged, room))
    return costs


def run_of(group, shape, layers):
    if group.faces:
        return simulate_faces(shape, layers, group.faces)
    return simulate(shape, layers, group.tile, group.halo)


def passing_words(group, layers, hardware):
    """Words that each layer needs for weights that stream through the buffer."""
    there = (*group.resident, *group.steady)
    return [
        int(layer.weight_words > 0 and i not in there and not hardware.levels[-2].optional)
        for i, layer in zip(group.layers, layers, strict=True)
    ]


def account(network, group, hardware, mapper, shape=None, others=0):
    """Price a group tile by tile, as section by section the fused model is written.

    ``shape`` says which maps lie in the buffer whole, if any do; ``others`` are the words that
    they and steady weights take.
    """
    shape = shape or group_shape(network, group.layers)
    layers = tuple(network.layers[i] for i in group.layers)
    run = run_of(group, shape, layers)
    images, tiles = network.batch, len(run.steps)
    loaded = resident_words(network, group)
    weights = sum(loaded.values())
    moving = np.array(in_flight(run, images))[:, None]
    steps = np.array(run.steps) + weights + others
    extra = passing_words(group, layers, hardware)
    fits = np.all(steps + moving + extra <= buffer_words(hardware))
    result = Account(prefetch=bool(fits))
    steps = steps + moving * result.prefetch
    result.peak = int(steps.max())
    free = [buffer_words(hardware) - int(steps[:, m].max()) for m in range(len(layers))]
    costs = tile_costs(network, group, hardware, mapper, free)
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    shares = [[] for _ in range(images * tiles)]
    for (t, m), cost in costs.items():
        for image in range(images):
            shares[image * tiles + t].append((m, cost))
    fetch = [ceil(w / rate) for w in run.fetched] * images
    store = [ceil(w / rate) for w in run.written] * images
    for t, running in enumerate(shares):
        body = sum(max(c.chip_cycles, c.dram_cycles) for _, c in running)
        dram = sum(c.dram_cycles for _, c in running)
        words = sum(int(c.words[-2].sum()) for _, c in running)
        words += run.fetched[t % tiles] + run.written[t % tiles]
        # each layer waits for its own resident weights, in the first tile in which it runs
        loads = {
            m: loaded[group.layers[m]]
            for m, _ in running
            if group.layers[m] in loaded and t == min(i for i, n in costs if n == m)
        }
        body = sum(
            max(c.chip_cycles, c.dram_cycles + ceil(loads.get(m, 0) / rate)) for m, c in running
        )
        dram += sum(ceil(load / rate) for load in loads.values())
        words += sum(loads.values())
        if result.prefetch:
            dram += fetch[t + 1] if t + 1 < len(shares) else store[t]
            dram += store[t - 1] if t else fetch[0]
            # the first tile's own input and the last tile's own output are hidden in them
        else:
            result.latency += fetch[t] + store[t]
        result.latency += max(body, dram, ceil(words / port))
        result.energy_pj += sum(c.dynamic_pj for _, c in running)
    result.reads = sum(c.dram_reads for c in costs.values()) * images
    result.reads += sum(run.fetched) * images + weights
    result.writes = sum(run.written) * images
    result.energy_pj += transfers_pj(network, group, hardware, shape, layers, images)
    return result


def transfers_pj(network, group, hardware, shape, layers, images):
    """Energy of DMA: whole accesses for each map and tile, each way."""
    rows, columns, places = tiles_of(group, shape, layers)
    prices = access_costs(hardware)
    widths = [level.width_words for level in hardware.levels]
    total = 0.0

    def read(words, tensor):
        pj = ceil(words / widths[-1]) * prices.read_pj[-1, tensor]
        return pj + ceil(words / widths[-2]) * prices.write_pj[-2, tensor]

    for i, j in places:
        for u in set(shape.externals) - set(shape.held):
            size = shape.channels[u] * len(rows.new[i][u]) * len(columns.new[j][u])
            total += images * read(size, 1)
        for u in set(shape.exported) - set(shape.unwritten):
            size = shape.channels[u] * len(rows.share[i][u]) * len(columns.share[j][u])
            total += images * ceil(size / widths[-1]) * prices.write_pj[-1, 2]
    return total + sum(read(load, 0) for load in resident_words(network, group).values())
