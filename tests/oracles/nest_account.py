"""A slow account of a group in a loop nest: all iterations, one by one, each layer on its tile.

What runs and moves comes from the simulator of nests, layers of a tile that begin sums from the
layer model; those that add to sums which are there are walked step by step. What is in the buffer
at each step, what comes and leaves ahead of time, energies of whole accesses and the time of each
iteration are worked out here in plain numbers, for every iteration.

Independent of: the iterations that are looked at for others, and the fit, traffic, energy and
latency of nests.
"""

from dataclasses import dataclass, field, replace
from math import ceil, prod

import numpy as np

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import STREAMED
from archloom.space.workload.dims import INPUTS, OUTPUTS, WEIGHTS

from .nest_simulator import Simulator
from .walked_cost import accesses, level_cycles, nest_of
from .walked_nest import FILLS, READS, UPDATES, move, used

#: operations that bring a row of an online softmax up to date: a maximum; twice a difference and an
#: exponential (8); two products and a sum; an inverse (4); two factors
ROW_OPERATIONS = 1 + 2 * 9 + 3 + 4 + 2

#: at least this part of what operands leave is for what streams
PART_FOR_STREAMS = 8


@dataclass
class LayerRun:
    """A layer in one iteration: bounds of its tile; words of sums that it finds in the buffer or
    takes from DRAM, words and rows that it rescales."""

    member: int
    bounds: tuple
    reread: int
    passed: int
    rescaled: int
    rows: int

    @property
    def found(self):
        """Words of sums that others began."""
        return self.reread + self.passed


class Recorder(Simulator):
    """A simulator that keeps the runs of each iteration and the words of each piece that moved."""

    def __init__(self, group, nest, held, skips=False, outermost=None):
        super().__init__(group, nest, held, skips, outermost)
        self.layer_runs = []

    def fetch(self, index):
        self.layer_runs.append([])
        super().fetch(index)

    def execute(self, m, index, number):
        def counts():
            return work.reread, work.passed, work.rescaled, work.rows

        work = self.run.work[m]
        before = counts()
        super().execute(m, index, number)
        more = (b - a for a, b in zip(before, counts(), strict=True))
        self.layer_runs[-1].append(LayerRun(m, self.bounds(m, index), *more))


@dataclass
class Account:
    """What a nest costs; ``least_words`` are those of the buffer that are just enough."""

    reads: int = 0
    writes: int = 0
    energy_pj: float = 0.0
    latency: int = 0
    peak: int = 0
    prefetch: bool = True
    tiles: int = 0
    least_words: int = 0
    layer_words: list = field(default_factory=list)


def recorded(group, nest, held=(), skips=False):
    """Return a simulator that has walked through a nest, past tiles of which masks leave nothing if
    it ``skips`` them."""
    simulator = Recorder(group, nest, held, skips)
    simulator.simulate()
    return simulator


def account(simulator, hardware, mapper, capacity):
    """Return what a nest that was recorded costs, iteration by iteration, from ``capacity`` words
    of the buffer.

    An account with ``least_words`` above the capacity has nothing else; an Infeasible says which
    tile has no mapping.
    """
    books = Books(simulator, simulator.run.iterations, hardware, mapper, capacity)
    if books.result.least_words > capacity:
        return books.result
    failed = books.layers()
    if failed is not None:
        return failed
    books.transfers()
    books.time()
    return books.result


def going_on(problem, cost, prices):
    """Return what a mapping costs where others began its sums, and how many words of these it
    reads in their home that it would not read otherwise."""
    nest, levels = nest_of(problem, cost.mapping), range(len(problem.hardware.levels))
    moves = [move(nest, t, begun=t == OUTPUTS) for t in range(3)]
    alone, home = move(nest, OUTPUTS), nest.top[OUTPUTS]
    assert problem.density == (1.0, 1.0), "prices of zeros are not told here"
    instances = used(nest)
    counts = np.array([[found[i].counts for found in moves] for i in levels])
    tables = {READS: prices.read_pj, FILLS: prices.fill_pj, UPDATES: prices.update_pj}
    energy = np.zeros((len(levels), 3))
    for i in levels:
        for t in range(3):
            for kind, table in tables.items():
                times = accesses(int(counts[i, t, kind]), problem, i, t)
                energy[i, t] += instances[i] * times * table[i, t]
    *inner, dram = (level_cycles(problem, moves, i) for i in levels)
    walked = replace(
        cost,
        words=counts.sum(axis=2) * np.array(instances)[:, None],
        # those of one tile are multiples of 2**-8 pJ
        energy_pj=np.rint(energy * 256) / 256,
        compute_pj=round(prod(nest.bounds) * prices.mac_pj * 256) / 256,
        chip_cycles=max(*inner, nest.steps()),
        dram_cycles=dram,
        dram_reads=int(counts[-1, :, READS].sum()),
        dram_writes=int(counts[-1, :, UPDATES].sum()),
    )
    return walked, moves[OUTPUTS][home].counts[READS] - alone[home].counts[READS]


class Books:
    def __init__(self, simulator, iterations, hardware, mapper, capacity):
        self.simulator, self.iterations = simulator, iterations
        self.group, self.nest = simulator.group, simulator.nest
        self.hardware, self.mapper, self.capacity = hardware, mapper, capacity
        self.prices = access_costs(hardware)
        self.fetched = [now.coming.total() for now in iterations]
        self.stored = [now.leaving.total() for now in iterations]
        self.result = Account(tiles=len(iterations))
        self.streams = [self._streams(m) for m in simulator.members]
        # words in use at the steps of each iteration at which anything runs
        self.steps = [{m: now.held[m] for m in now.runs} for now in iterations]
        self.result.least_words = max(
            words + self.streams[m] for steps in self.steps for m, words in steps.items()
        )
        idle = [max(now.held) for now in iterations if not now.runs]
        self.result.least_words = max([self.result.least_words, *idle])
        self.left = [self._left(m) if self.streams[m] else None for m in simulator.members]
        self.walks = {}
        count = len(iterations)
        self.body, self.dram, self.ports = [0] * count, [0] * count, [0] * count

    def _streams(self, m):
        used = (*self.group.weights[m], *self.group.maps[m], self.group.made[m])
        return any(self.nest.depth[t] == STREAMED for t in used)

    def _left(self, m):
        """Words for what a layer streams: a power of two; transfers ahead go before, but an eighth
        of what nothing else takes, and a word, are left."""
        used, flying = [], []
        for i, steps in enumerate(self.steps):
            if m in steps:
                ahead = self.fetched[i + 1] if i + 1 < len(self.steps) else 0
                behind = self.stored[i - 1] if i else 0
                used.append(steps[m])
                flying.append(steps[m] + ahead + behind)
        free = self.capacity - max(used)
        words = max(self.capacity - max(flying), free // PART_FOR_STREAMS, min(free, 1))
        power = 1
        while 2 * power <= words:
            power *= 2
        return power

    def access(self, level, tensor, words, write):
        table = self.prices.write_pj if write else self.prices.read_pj
        accesses = ceil(words / self.hardware.levels[level].width_words)
        self.result.energy_pj += accesses * table[level, tensor]

    # layers

    def cost(self, run):
        """Cost of one tile of a layer, all by itself."""
        layer, (n, g, k, c, p, q) = self.group.layers[run.member], run.bounds
        if not layer.uses_macs:
            size = (p, q) if p * q < layer.p * layer.q else layer.input_size
            part = replace(
                layer, n=1, g=g, k=k, c=c, p=p, q=q, input_size=size, slices=(), mask=None
            )
            # learned words that stream come for every tile
            weights = self.group.weights[run.member]
            stay = STREAMED not in [self.nest.depth[t] for t in weights]
            return vector_cost(part, self.hardware, n * p, q, staged=True, resident=stay)
        if layer.multiplies_maps:
            # each image has a second map of its own, as each head has
            n, g = 1, n * g
        weights, maps = self.group.weights[run.member], self.group.maps[run.member]
        staged = (
            STREAMED not in [self.nest.depth[t] for t in weights],
            STREAMED not in [self.nest.depth[t] for t in maps],
            self.nest.depth[self.group.made[run.member]] != STREAMED,
        )
        windows = zip((p, q), layer.stride, (layer.r, layer.s), layer.dilation, strict=True)
        box = tuple((size - 1) * step + (taps - 1) * far + 1 for size, step, taps, far in windows)
        padding = (0, 0)
        if not staged[1]:
            # nobody fetches padding: of what windows cover that is left which the map has
            padding = layer.padding
            box = tuple(
                sum(0 <= at - pad < size for at in range(covered))
                for covered, pad, size in zip(box, padding, layer.input_size, strict=True)
            )
        problem = MappingProblem(
            (n, g, k, c, p, q, layer.r, layer.s),
            layer.stride,
            layer.dilation,
            padding,
            box,
            self.hardware,
            staged=staged,
            free_words=self.left[run.member],
            density=layer.density,
            begun=bool(run.found),
        )
        cost = self.mapper(problem)
        if isinstance(cost, Infeasible) or not run.found:
            return cost
        if problem not in self.walks:
            self.walks[problem] = going_on(problem, cost, self.prices)
        walked, begun = self.walks[problem]
        # of padded loops all runs
        right = begun == run.found or cost.operations > problem.macs
        assert right, f"{layer.name}: goes on with {begun} sums, {run.found} are there"
        return walked

    def layers(self):
        """Add the layers of all iterations; returns why one has no mapping, or None."""
        lanes = self.hardware.vector_lanes
        for i, runs in enumerate(self.simulator.layer_runs):
            for run in runs:
                cost = self.cost(run)
                if isinstance(cost, Infeasible):
                    return cost
                again = run.rescaled + 2 * run.rows
                operations = run.rescaled + run.rows * ROW_OPERATIONS
                chip = cost.chip_cycles + (ceil(operations / lanes) if run.rescaled else 0)
                dram = cost.dram_cycles
                self.body[i] += max(chip, dram)
                self.dram[i] += dram
                self.ports[i] += int(cost.words[-2].sum()) + 2 * again
                self.result.reads += cost.dram_reads
                self.result.writes += cost.dram_writes
                self.result.energy_pj += cost.dynamic_pj + operations * self.prices.vector_op_pj
                self.access(-2, OUTPUTS, again, write=False)
                self.access(-2, OUTPUTS, again, write=True)
        return None

    def transfers(self):
        """Add what crosses DRAM's pins between iterations."""
        kinds = {"weights": WEIGHTS, "read": INPUTS, "made": OUTPUTS}
        for now in self.iterations:
            for t, words in now.coming.items():
                self.access(-1, kinds[self.group.operands[t].kind], words, write=False)
                self.access(-2, kinds[self.group.operands[t].kind], words, write=True)
            for words in now.leaving.values():
                self.access(-1, OUTPUTS, words, write=True)
        self.result.reads += sum(self.fetched)
        self.result.writes += sum(self.stored)

    # time

    def ahead(self):
        """Return for each iteration the words that come in it for the next one, those that leave in
        it of the last one, and the words of the buffer that nothing takes then."""
        found = []
        for i, steps in enumerate(self.steps):
            used = [words + (self.left[m] or 0) for m, words in steps.items()]
            space = self.capacity - max(used or [max(self.iterations[i].held)])
            behind = min(self.stored[i - 1], space) if i else 0
            more = i + 1 < len(self.steps)
            ahead = min(self.fetched[i + 1], space - behind) if more else 0
            found.append((ahead, behind, space - behind - ahead))
        return found

    def time(self):
        rate, port = (self.hardware.levels[k].bandwidth_words for k in (-1, -2))
        moves, last = self.ahead(), len(self.iterations) - 1
        used = [
            max(s.values()) if s else max(now.held)
            for s, now in zip(self.steps, self.iterations, strict=True)
        ]
        self.result.peak = max(u + a + b for u, (a, b, _) in zip(used, moves, strict=True))
        busy, late, idle, waiting = [], [], [], 0
        for i, (ahead, behind, _) in enumerate(moves):
            moved = self.ports[i] + self.fetched[i] + self.stored[i]
            busy.append(max(self.body[i], ceil(moved / port)))
            dram = self.dram[i] + ceil(ahead / rate) + ceil(behind / rate)
            dram += ceil(self.fetched[0] / rate) if i == 0 else 0
            dram += ceil(self.stored[last] / rate) if i == last else 0
            late.append(max(0, dram - busy[i]))
            idle.append(max(0, busy[i] - dram))
            for words in (
                self.fetched[i] - moves[i - 1][0] if i else 0,
                self.stored[i] - moves[i + 1][1] if i < last else 0,
            ):
                waiting += ceil(words / rate)
                self.result.prefetch &= words == 0
        self.spread(moves, late, idle, rate)
        self.result.latency = sum(busy) + sum(late) + waiting

    def spread(self, moves, late, idle, rate):
        """Let DRAM begin an iteration sooner, or end one later, where it is idle and there is
        room."""
        inner = range(1, len(moves) - 1)
        for i in inner:
            ahead = moves[i][0]
            if ahead <= moves[i - 1][2]:
                words = min(late[i], ceil(ahead / rate), idle[i - 1])
                late[i] -= words
                idle[i - 1] -= words
        for i in inner:
            behind = moves[i][1]
            if behind <= moves[i + 1][2]:
                late[i] -= min(late[i], ceil(behind / rate), idle[i + 1])
