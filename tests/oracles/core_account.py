"""A slow account of a fused group on several cores: every core runs its tiles one by one.

Each core has a buffer of its own, as sets of coordinates (:mod:`.tile_simulator`); the cores go on
from layer to layer together. Which core gets which tile is dealt out here anew.

Independent of: the cost of fused groups on cores, and of how it shares out tiles and adds them up.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost

from .group_account import resident_words
from .tile_simulator import axis_of, face_axes, run_some


@dataclass(frozen=True)
class Turn:
    """One tile on one core: sizes of what is made of each map, words that come and go.

    ``steps`` are words of maps in the core's buffer while each layer runs.
    """

    new: list
    fetched: int
    written: int
    maps: list
    results: list
    steps: list


@dataclass
class CoreAccount:
    """What a group costs on several cores."""

    reads: int = 0
    writes: int = 0
    latency: int = 0
    energy_pj: float = 0.0
    operations: int = 0
    peak: int = 0
    prefetch: bool = True


def sequences(grid, policy, images, cores):
    """Return for each core its runs of (image, tile) that need no other tile."""
    tiles = list(product(range(grid[0]), range(grid[1])))
    if images % cores == 0:
        runs = [[(image, tile) for tile in tiles] for image in range(images)]
    else:
        apart = {"keep_all": 0, "keep_inner": 1, "recompute": 2}[policy]
        found = {}
        for image in range(images):
            for tile in tiles:
                found.setdefault((image, tile[:apart]), []).append((image, tile))
        runs = list(found.values())
    return [runs[core::cores] for core in range(min(cores, len(runs)))]


def turns_of(group, shape, layers, images, cores):
    """Return for each core its turns in order; all words leave once and no more."""
    if group.faces:
        rows, columns = face_axes(shape, layers, group.faces)
        grid, policy = (1, len(group.faces)), "recompute"
    else:
        rows = axis_of(shape, layers, 0, group.tile[0], keep=group.halo == "keep_all")
        columns = axis_of(shape, layers, 1, group.tile[1], keep=group.halo != "recompute")
        grid, policy = (rows.tiles, columns.tiles), group.halo
    out = {}
    found = []
    for runs in sequences(grid, policy, images, cores):
        turns = []
        for run in runs:
            (image,) = {image for image, _ in run}
            places = [(j if group.faces else i, j) for _, (i, j) in run]
            done = run_some(shape, layers, rows, columns, places, policy)
            for u in shape.exported:
                before = out.setdefault((image, u), set())
                assert not before & done.out[u], "two cores write a word"
                before |= done.out[u]
            assert not any(done.kept[-1]), "something is left for nobody"
            for t, (i, j) in enumerate(places):
                new = [
                    (len(rows.new[i][u]), len(columns.new[j][u]))
                    for u in range(len(shape.channels))
                ]
                far = [u for u in shape.externals if u not in shape.held]
                maps = [shape.channels[u] * new[u][0] * new[u][1] for u in far]
                results = [
                    shape.channels[u] * len(rows.share[i][u]) * len(columns.share[j][u])
                    for u in shape.exported
                ]
                assert (sum(maps), sum(results)) == (done.fetched[t], done.written[t])
                turns.append(
                    Turn(new, done.fetched[t], done.written[t], maps, results, done.steps[t])
                )
        found.append(turns)
    for (_, u), words in out.items():
        assert len(words) == shape.sizes[u][0] * shape.sizes[u][1]
    assert len(out) == images * len(shape.exported)
    return found


def in_flight(own):
    """Words of a core's next inputs and last outputs, for each of its turns."""
    coming, leaving = [t.fetched for t in own[1:]] + [0], [0] + [t.written for t in own[:-1]]
    return [a + b for a, b in zip(coming, leaving, strict=True)]


def layer_price(layer, size, resident, hardware, room, mapper):
    """Return the layer model's cost of one tile."""
    if not layer.uses_macs:
        return vector_cost(layer, hardware, *size, True, resident)
    resident = resident or layer.operator == "matmul"
    box = tuple(
        (n - 1) * s + (k - 1) * d + 1
        for n, k, s, d in zip(size, (layer.r, layer.s), layer.stride, layer.dilation, strict=True)
    )
    bounds = (1, layer.g, layer.k, layer.c, *size, layer.r, layer.s)
    room = None if resident else int(2 ** (room.bit_length() - 1))
    words = layer.g * layer.k * layer.c * layer.r * layer.s
    if room is not None and (room >= words or "weights" not in hardware.levels[-2].keeps):
        room = None
    window = (layer.stride, layer.dilation, (0, 0), box)
    return mapper(MappingProblem(bounds, *window, hardware, (resident, True, True), room))


def core_account(network, group, hardware, one, cores, mapper, capacity):
    """Price a group round by round.

    Args:
        network, group: what runs.
        hardware: the chip.
        one: hardware of one core.
        cores: how many there are.
        mapper: finds mappings.
        capacity: words of a core's buffer.
    """
    shape = group_shape(network, group.layers)
    layers = [network.layers[i] for i in group.layers]
    turns = turns_of(group, shape, tuple(layers), network.batch, cores)
    account = _Accountant(group, layers, hardware, one, mapper, resident_words(network, group))
    account.working = len(turns)
    flying = [in_flight(own) for own in turns]
    if network.batch == 2 * cores and len(turns[0]) == 2:
        # two images of one tile are taken for the first and the last of many
        flying = [[own[0].fetched + own[0].written] * 2 for own in turns]
    steps = np.array([t.steps for own in turns for t in own]) + sum(account.loaded.values())
    account.fit(steps, np.array([n for own in flying for n in own])[:, None], capacity)
    rounds = [
        {c: own[k] for c, own in enumerate(turns) if k < len(own)}
        for k in range(max(len(own) for own in turns))
    ]
    rate = hardware.levels[-1].bandwidth_words
    fetch = [ceil(sum(t.fetched for t in r.values()) / rate) for r in rounds]
    store = [ceil(sum(t.written for t in r.values()) / rate) for r in rounds]
    for k, turn in enumerate(rounds):
        body, dram, ports = account.layers_of(turn)
        account.move(turn)
        if account.total.prefetch:
            # what comes first and what leaves last is hidden in the first and the last round
            dram += fetch[k + 1] if k + 1 < len(rounds) else store[k]
            dram += store[k - 1] if k else fetch[0]
        else:
            account.total.latency += fetch[k] + store[k]
        account.total.latency += max(body, dram, ports)
    return account.total


class _Accountant:
    """Adds up rounds."""

    def __init__(self, group, layers, hardware, one, mapper, loaded):
        self.group, self.layers, self.one, self.mapper = group, layers, one, mapper
        self.loaded, self.came, self.working = loaded, set(), 0
        self.shared = "weights" in hardware.levels[-1].multicast
        self.costs = access_costs(hardware)
        self.far, self.near = (hardware.levels[i].width_words for i in (-1, -2))
        self.rate, self.port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
        self.total, self.free = CoreAccount(), []

    def fit(self, steps, moving, capacity):
        """Prefetch if that fits the fullest buffer; what is left is free."""
        level = self.one.levels[-2]
        keeps = "weights" in level.keeps and not level.optional
        through = [
            int(keeps and la.weight_words > 0 and i not in self.group.resident)
            for i, la in zip(self.group.layers, self.layers, strict=True)
        ]
        self.total.prefetch = bool(np.all(steps + moving + through <= capacity))
        steps = steps + moving * self.total.prefetch
        self.total.peak = int(steps.max())
        self.free = [capacity - int(n) for n in steps.max(axis=0)]

    def layers_of(self, turn):
        """All layers of a round: cycles one after another, of DRAM, and of the fullest ports."""
        body = dram = 0
        words = {c: t.fetched + t.written for c, t in turn.items()}
        for m, i in enumerate(self.group.layers):
            busy = {c: t.new[m] for c, t in turn.items() if min(t.new[m]) > 0}
            if not busy:
                continue
            size = tuple(max(n[axis] for n in busy.values()) for axis in (0, 1))
            stays, room = i in self.group.resident, self.free[m]
            cost = layer_price(self.layers[m], size, stays, self.one, room, self.mapper)
            load = 0 if i in self.came else self.loaded.get(i, 0)
            self.came.add(i)
            reads = 1 if self.shared else self.working
            copies = 1 if self.shared else len(busy)
            stream, late = cost.dram_cycles * copies, ceil(load * reads / self.rate)
            body += max(cost.chip_cycles, stream + late)
            dram += stream + late
            for c in words:
                words[c] += load + (int(cost.words[-2].sum()) if c in busy else 0)
            self.pay(cost, len(busy), copies, load, reads)
        return body, dram, ceil(max(words.values()) / self.port)

    def pay(self, cost, busy, copies, load, reads):
        """One layer on so many cores, whose weights come in so many copies."""
        self.total.reads += cost.dram_reads * copies + load * reads
        self.total.operations += cost.operations * busy
        far = float(cost.energy_pj[-1].sum())
        self.total.energy_pj += (cost.dynamic_pj - far) * busy + far * copies
        self.total.energy_pj += reads * ceil(load / self.far) * self.costs.read_pj[-1, 0]
        fills = self.working * ceil(load / self.near)
        self.total.energy_pj += fills * self.costs.write_pj[-2, 0]

    def move(self, turn):
        """Maps that come and go for a round."""
        for t in turn.values():
            self.total.reads += t.fetched
            self.total.writes += t.written
            for n in t.maps:
                self.total.energy_pj += ceil(n / self.far) * self.costs.read_pj[-1, 1]
                self.total.energy_pj += ceil(n / self.near) * self.costs.write_pj[-2, 1]
            for n in t.results:
                self.total.energy_pj += ceil(n / self.far) * self.costs.write_pj[-1, 2]
