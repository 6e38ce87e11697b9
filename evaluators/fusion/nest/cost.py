"""Cost of a fused group in a loop nest: traffic, energy and latency, iteration by iteration."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.fusion.buffer import (
    buffer_words,
    bytes_text,
    group_name,
    kept_on_cores,
    over_capacity,
)
from archloom.evaluators.fusion.streamed import naming
from archloom.evaluators.loopnest import Counts, Energies, LayerCost, whole_pj
from archloom.space import Infeasible
from archloom.space.fusion import STREAMED, FusionGroup, LoopNest, Residents
from archloom.space.hardware import Cores, Hardware, StorageLevel, fusion_cores
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

from ...arrays import Ints
from ...hardware import access_costs
from ..group_share import GroupCost, LayerShare
from ..tile import ProblemMapper
from .cores import NestCores, nest_cores, streams_sent
from .fit import NestFit, core_fits, streams
from .latency import iteration_cycles, nest_cycles
from .members import splittable
from .names import operand_names
from .operands import NestGroup, nest_group
from .rules import nest_faults
from .tile import TileRuns, tile_runs
from .walk import NestWalk

Grid = NDArray[np.float64]

#: operations for a row whose maximum and sum are brought up to date: a maximum; twice subtract and
#: exponential; two products and a sum; an inverse; two factors (Dao et al., NeurIPS 2022,
#: algorithm 1, lines 11 and 12; weights of operations as in vector_ops)
ROW_OPERATIONS = 1 + 2 * (1 + 8) + 3 + 4 + 2


def nest_blocked(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> Infeasible | None:
    """Return why the hardware does not run a group in its loops, or None."""
    cores, name = fusion_cores(hardware), group_name(network, group.layers)
    if isinstance(cores, Infeasible):
        return replace(cores, where=name)
    level, nest = hardware.levels[-2], group.nest
    if cores.count > 1 and nest is not None and not nest.dealt:
        hint = (
            f"{level.name} has {level.instances} instances: distribute its outermost loop over the "
            "cores (dealt)"
        )
        return Infeasible("nest_needs_one_buffer", name, 1, level.instances, "buffer", hint)
    return kept_on_cores(network, group, hardware, residents)


def _not_kept(
    group: NestGroup, nest: LoopNest, name: str, level: StorageLevel
) -> Infeasible | None:
    """Return what stands where weights do and would have to lie in a buffer that keeps none."""
    if "weights" in level.keeps:
        return None
    for m, layer in enumerate(group.layers):
        if any(nest.depth[t] != STREAMED for t in group.weights[m]):
            hint = f"{level.name} keeps no weights: stream those of {layer.name}"
            return Infeasible("weights_not_kept", name, 1, 0, "", hint)
    return None


def nest_on(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> NestCores | Infeasible:
    """Return what cores do in the iterations of a group's nest, or why it cannot run."""
    blocked = nest_blocked(network, group, hardware, residents)
    if blocked is not None:
        return blocked
    name, cores = group_name(network, group.layers), fusion_cores(hardware)
    assert isinstance(cores, Cores), "nothing is in its way"
    looped = frozenset(loop.rank for loop in group.nest.loops) if group.nest else frozenset[int]()
    split = group.nest.split if group.nest else ()
    if split and not set(split) <= set(splittable(network, group.layers)):
        hint = "a reader uses channels of several parts of a layer"
        return Infeasible("bad_nest", name, 1, 0, "", hint)
    known = nest_group(network, group.layers, looped, split)
    if known is None or group.nest is None:
        hint = (
            "not all of its layers can be split by the ranks of a loop nest; run the group in tiles"
        )
        return Infeasible("no_ranks", name, 1, 0, "", hint)
    faults = list(nest_faults(known, group.nest))
    if faults:
        return Infeasible("bad_nest", name, 1, 0, "", "; ".join(faults))
    kept = [i for i in group.layers if i in residents.kept]
    if kept:
        hint = (
            "a loop nest leaves no result in the buffer; run the group in tiles, or do not "
            f"pin {network.layers[kept[0]].name}"
        )
        return Infeasible("nest_keeps_no_result", name, 0, len(kept), "results", hint)
    held = frozenset(
        t
        for t, operand in enumerate(known.operands)
        if (operand.kind == "read" and operand.source in residents.held)
        or (operand.kind == "weights" and known.positions[operand.maker] in group.steady)
    )
    wrong = _not_kept(known, group.nest, name, hardware.levels[-2])
    return wrong or nest_cores(known, group.nest, held, cores)


def nest_cost(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents,
) -> GroupCost | Infeasible:
    """Evaluate a group in a loop nest, from one shared buffer or on cores with a buffer each."""
    cores = nest_on(network, group, hardware, residents)
    if isinstance(cores, Infeasible):
        return cores
    fits = core_fits(cores, buffer_words(cores.one) - residents.words)
    if fits is None:
        return _overflow(network, group, cores, residents)
    total = NestTotals(cores)
    shares = list[LayerShare]()
    for m, position in enumerate(cores.group.positions):
        found = tile_runs(cores, m, fits[0].left[m], mapper)
        if isinstance(found, Infeasible):
            return naming(cores.group.layers[m], found)
        share = total.add(m, position, found)
        if shares and shares[-1].layer == position:
            shares[-1] = shares[-1].beside(share)
        else:
            shares.append(share)
    busy = sum(share.latency_cycles for share in shares)
    return GroupCost(
        group,
        tuple(shares),
        total.cycles(fits) - busy,
        total.reads,
        total.writes,
        max(fit.peak for fit in fits),
        cores.iterations,
        all(fit.prefetch for fit in fits),
        residents,
        cores.working,
    )


class NestTotals:
    """What iterations do, summed over layers and cores."""

    def __init__(self, cores: NestCores) -> None:
        self._cores, self._hardware = cores, cores.one
        self._prices = access_costs(cores.one)
        self._times = cores.times
        size = self._times.size
        self._body, self._streamed = np.zeros(size), np.zeros(size)
        self._ports = [np.zeros(size) for _ in cores.walks]
        self.reads = self.writes = 0
        #: float64[n] for each member, cycles for which it keeps the array busy in each iteration
        self.busy: list[Grid] = []

    def add(self, m: int, position: int, runs: list[TileRuns]) -> LayerShare:
        """Add a member: its tiles, and the transfers that serve it."""
        levels = len(self._hardware.levels)
        words, energy = np.zeros((levels, 3), np.int64), np.zeros((levels, 3))
        chips = [np.zeros_like(self._body) for _ in self._cores.walks]
        dram, once = np.zeros_like(self._body), streams_sent(self._cores, m)
        for run in runs:
            kind, cost = run.kind, run.cost
            words += kind.times * cost.words
            energy += kind.times * cost.energy_pj
            # cores that run the same tile at the same time get one copy of weights for all of them
            fewer = kind.times - kind.rounds if once else 0
            words[-1, WEIGHTS] -= fewer * cost.words[-1, WEIGHTS]
            energy[-1, WEIGHTS] -= fewer * cost.energy_pj[-1, WEIGHTS]
            self.reads += kind.times * cost.dram_reads - fewer * self._weights(cost)
            self.writes += kind.times * cost.dram_writes
            dram[kind.at] += self._dram_cycles(cost, kind.cores, once=once)
            for chip, ports, at in zip(chips, self._ports, kind.walks, strict=True):
                chip[at] = cost.chip_cycles
                ports[at] += int(cost.words[-2].sum())
        compute = sum(run.kind.times * run.cost.compute_pj for run in runs)
        operations = sum(run.kind.times * run.cost.operations for run in runs)
        extra = self._rescaled(m, words, energy)
        # work on the vector unit comes after the product that it belongs to
        lanes = self._hardware.vector_lanes
        after = [chip + np.ceil(more / lanes) for chip, more in zip(chips, extra, strict=True)]
        more = int((self._cores.total(extra) * self._times).sum())
        self._transfers(m, words, energy)
        # no core begins the next layer before all are done with this one
        busy = np.maximum(np.max(after, axis=0), dram)
        self.busy.append(busy)
        self._body += busy
        self._streamed += dram
        return LayerShare(
            position,
            words,
            energy,
            compute + whole_pj(more * self._prices.vector_op_pj),
            int((busy * self._times).sum()),
            operations + more,
            tuple((run.kind.times, run.cost) for run in runs),
        )

    def _weights(self, cost: LayerCost) -> int:
        """Words that DRAM sends of the weights of a tile."""
        bits = self._hardware.bits(len(self._hardware.levels) - 1, "weights")
        if cost.mapping is None:
            # the vector unit has no words of other widths
            return int(cost.words[-1, WEIGHTS])
        return int(cost.words[-1, WEIGHTS]) * bits // self._hardware.word_bits

    def _dram_cycles(self, cost: LayerCost, cores: Ints, *, once: bool) -> Grid:
        """float64[n], cycles of DRAM for a tile on so many cores, which get weights ``once``."""
        every: Grid = cores.astype(np.float64) * cost.dram_cycles
        if not once:
            return every
        dram, shared = self._hardware.levels[-1], self._weights(cost)
        read = shared + cores * (cost.dram_reads - shared)
        written = cores * cost.dram_writes
        one_way = np.maximum(read / dram.read_bandwidth_words, written / dram.write_bandwidth_words)
        sent = np.ceil(np.maximum(one_way, (read + written) / dram.bandwidth_words))
        return np.where(cores == 1, every, np.minimum(every, sent))

    def _rescaled(self, m: int, words: Counts, energy: Energies) -> list[Ints]:
        """Count partial sums that are rescaled; returns the operations of each walk's
        iterations."""
        again, operations = list[Ints](), list[Ints]()
        for walk in self._cores.walks:
            tile, rescales = walk.tile_words(walk.group.made[m]).ravel(), walk.rescales(m).ravel()
            rows = 2 * (tile // walk.columns(m).ravel())
            again.append(np.where(rescales, tile + rows, 0))
            operations.append(np.where(rescales, tile + rows // 2 * ROW_OPERATIONS, 0))
        self._access(words, energy, (-2, OUTPUTS), again, write=False)
        self._access(words, energy, (-2, OUTPUTS), again, write=True)
        for ports, twice in zip(self._ports, again, strict=True):
            ports += 2 * twice
        return operations

    def _transfers(self, m: int, words: Counts, energy: Energies) -> None:
        """Count what moves between DRAM and buffer for a member: its weights, maps of which it is
        the first reader, its result."""
        cores = self._cores
        for t, operand in enumerate(cores.group.operands):
            mine = operand.maker if operand.kind != "read" else operand.readers[0]
            if mine != m:
                continue
            column = {"weights": WEIGHTS, "read": INPUTS, "made": OUTPUTS}[operand.kind]
            tiles = [walk.tile_words(t) for walk in cores.walks]
            comes, leaves = (
                [np.where(when, tile, 0).ravel() for when, tile in zip(whens, tiles, strict=True)]
                for whens in (
                    [walk.comes(t) for walk in cores.walks],
                    [walk.leaves(t) for walk in cores.walks],
                )
            )
            # fusion model section 4: (E_dram_r + E_buf_w) * fetched + E_dram_w * out
            once = t in cores.sent
            self.reads += self._access(words, energy, (-1, column), comes, write=False, once=once)
            self._access(words, energy, (-2, column), comes, write=True)
            self.writes += self._access(words, energy, (-1, column), leaves, write=True)

    def _access(
        self,
        words: Counts,
        energy: Energies,
        place: tuple[int, int],
        per: Sequence[Ints],
        *,
        write: bool,
        once: bool = False,
    ) -> int:
        """Count words of each walk's iterations, for all cores or ``once``; returns them all."""
        level, tensor = place
        prices = self._prices.write_pj if write else self._prices.read_pj
        width = self._hardware.levels[level].width_words
        counted = [-(-some // width) for some in per]
        if once:
            every, accesses = (np.stack(some).max(axis=0) for some in (per, counted))
        else:
            every, accesses = self._cores.total(per), self._cores.total(counted)
        total = float((accesses * self._times).sum())
        energy[level, tensor] += whole_pj(total * float(prices[level, tensor]))
        found = int((every * self._times).sum())
        words[level, tensor] += found
        self._count(place, every)
        return found

    def _count(self, place: tuple[int, int], every: Ints) -> None:
        """Take note of int64[n], words of all cores that move at a level for a tensor."""

    def cycles(self, fits: Sequence[NestFit]) -> int:
        """Return the time of all iterations."""
        return nest_cycles(self._cores, fits, self._body, self._streamed, self._ports)

    def iterations(self, fits: Sequence[NestFit]) -> Grid:
        """Return float64[n], the time of each of the iterations that are looked at."""
        return iteration_cycles(self._cores, fits, self._body, self._streamed, self._ports)


def _overflow(
    network: Network, group: FusionGroup, cores: NestCores, residents: Residents
) -> Infeasible:
    """Return what is missing at the fullest step, transfers ahead left out, and for what."""
    fullest = [_fullest(walk) for walk in cores.walks]
    needed, m, at, walk = max(
        ((*found, walk) for found, walk in zip(fullest, cores.walks, strict=True)),
        key=lambda found: found[0],
    )
    hardware = cores.one
    size, capacity = hardware.word_bits / 8, buffer_words(hardware) - residents.words
    demands = sorted(_demands(walk, network, m, at), reverse=True)
    texts = ", ".join(f"{name} {bytes_text(words * size)}" for words, name in demands[:5])
    return Infeasible(
        "glb_overflow",
        f"{hardware.levels[-2].name}, group {group_name(network, group.layers)}, "
        f"layer {walk.group.layers[m].name}",
        needed * size,
        capacity * size,
        "bytes",
        f"{over_capacity((needed - capacity) * size)}, for {texts}; "
        "use smaller tiles, keep operands for fewer loops, cut the group, or enlarge the buffer",
    )


def _fullest(walk: NestWalk) -> tuple[int, int, int]:
    """Return the most words that a core needs at once, and the member and iteration of that."""
    runs = np.stack([walk.runs(m).ravel() for m in range(len(walk.group.layers))])
    # what streams needs a word at least
    passing = [[int(streams(walk, m))] for m in range(len(walk.group.layers))]
    used = np.where(walk.steps, walk.occupancy.reshape(runs.shape), 0)
    used += np.where(runs, passing, 0)
    m, at = (int(i) for i in np.unravel_index(int(used.argmax()), used.shape))
    return int(used[m, at]), m, at


def _demands(walk: NestWalk, network: Network, m: int, at: int) -> list[tuple[int, str]]:
    """Words of the buffer that each operand takes at a step, and its name."""
    found, names = [], operand_names(network, walk.group)
    for t in range(len(walk.group.operands)):
        taken = sum(int(words.ravel()[at]) for steps, words in walk.taken(t) if m in steps)
        if taken:
            found.append((taken, names[t]))
    return found
