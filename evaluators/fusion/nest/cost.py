"""Cost of a fused group in a loop nest: traffic, energy and latency, iteration by iteration."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.fusion.buffer import buffer_words, bytes_text, group_name
from archloom.evaluators.loopnest import Counts, Energies, whole_pj
from archloom.space import Infeasible
from archloom.space.fusion import STREAMED, FusionGroup, Residents
from archloom.space.hardware import Hardware, fusion_cores
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

from ...arrays import Ints
from ...hardware import access_costs
from ..group_share import GroupCost, LayerShare
from ..tile import ProblemMapper
from ..unfused_layer import naming
from .fit import NestFit, nest_fit, streams
from .latency import iteration_cycles, nest_cycles
from .members import splittable
from .names import operand_names
from .operands import nest_group
from .rules import nest_faults
from .tile import TileRuns, tile_runs
from .walk import NestWalk

Grid = NDArray[np.float64]

#: operations for a row whose maximum and sum are brought up to date: a maximum; twice subtract and
#: exponential; two products and a sum; an inverse; two factors (Dao et al., NeurIPS 2022,
#: algorithm 1, lines 11 and 12; weights of operations as in vector_ops)
ROW_OPERATIONS = 1 + 2 * (1 + 8) + 3 + 4 + 2


def nest_blocked(network: Network, group: FusionGroup, hardware: Hardware) -> Infeasible | None:
    """Return why the hardware runs no group in loops, or None."""
    cores, name = fusion_cores(hardware), group_name(network, group.layers)
    if isinstance(cores, Infeasible):
        return replace(cores, where=name)
    level = hardware.levels[-2]
    if cores.count > 1:
        hint = f"{level.name} has {level.instances} instances: run the group in tiles"
        return Infeasible("nest_needs_one_buffer", name, 1, level.instances, "buffer", hint)
    return None


def _not_kept(walk: NestWalk, name: str, hardware: Hardware) -> Infeasible | None:
    """Return what stands where weights do and would have to lie in a buffer that keeps none."""
    level = hardware.levels[-2]
    if "weights" in level.keeps:
        return None
    for m, layer in enumerate(walk.group.layers):
        if any(walk.nest.depth[t] != STREAMED for t in walk.group.weights[m]):
            hint = f"{level.name} keeps no weights: let those of {layer.name} stream"
            return Infeasible("weights_not_kept", name, 1, 0, "", hint)
    return None


def nest_walk(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> NestWalk | Infeasible:
    """Return what happens in the iterations of a group's nest, or why it cannot run."""
    name = group_name(network, group.layers)
    looped = frozenset(loop.rank for loop in group.nest.loops) if group.nest else frozenset[int]()
    split = group.nest.split if group.nest else ()
    if split and not set(split) <= set(splittable(network, group.layers)):
        hint = "not all that reads its layers reads channels of one part of them each"
        return Infeasible("bad_nest", name, 1, 0, "", hint)
    known = nest_group(network, group.layers, looped, split)
    if known is None or group.nest is None:
        hint = "some of its layers read maps in a way of which no part is known: run it in tiles"
        return Infeasible("no_ranks", name, 1, 0, "", hint)
    faults = list(nest_faults(known, group.nest))
    if faults:
        return Infeasible("bad_nest", name, 1, 0, "", "; ".join(faults))
    kept = [i for i in group.layers if i in residents.kept]
    if kept:
        hint = f"run the group in tiles, or pin {network.layers[kept[0]].name} no more"
        return Infeasible("nest_keeps_no_result", name, 0, len(kept), "results", hint)
    held = frozenset(
        t
        for t, operand in enumerate(known.operands)
        if (operand.kind == "read" and operand.source in residents.held)
        or (operand.kind == "weights" and known.positions[operand.maker] in group.steady)
    )
    walk = NestWalk(known, group.nest, held)
    return _not_kept(walk, name, hardware) or walk


def nest_cost(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents,
) -> GroupCost | Infeasible:
    """Evaluate a group in a loop nest, from one shared buffer."""
    walk = nest_walk(network, group, hardware, residents)
    if isinstance(walk, Infeasible):
        return walk
    fit = nest_fit(walk, buffer_words(hardware) - residents.words)
    if fit is None:
        return _overflow(network, group, walk, hardware, residents)
    total = NestTotals(walk, hardware)
    shares = list[LayerShare]()
    for m, position in enumerate(walk.group.positions):
        found = tile_runs(walk, m, hardware, fit.left[m], mapper)
        if isinstance(found, Infeasible):
            return naming(walk.group.layers[m], found)
        share = total.add(m, position, found)
        if shares and shares[-1].layer == position:
            shares[-1] = shares[-1].beside(share)
        else:
            shares.append(share)
    busy = sum(share.latency_cycles for share in shares)
    return GroupCost(
        group,
        tuple(shares),
        total.cycles(fit) - busy,
        total.reads,
        total.writes,
        fit.peak,
        walk.count,
        fit.prefetch,
        residents,
        1,
    )


class NestTotals:
    """What iterations do, summed over layers."""

    def __init__(self, walk: NestWalk, hardware: Hardware) -> None:
        self._walk, self._hardware = walk, hardware
        self._prices = access_costs(hardware)
        self._times = walk.times.ravel()
        size = self._times.size
        self._body, self._streamed, self._ports = np.zeros(size), np.zeros(size), np.zeros(size)
        self.reads = self.writes = 0
        #: float64[n] for each member, cycles for which it keeps the array busy in each iteration
        self.busy: list[Grid] = []

    def add(self, m: int, position: int, runs: list[TileRuns]) -> LayerShare:
        """Add a member: its tiles, and the transfers that serve it."""
        levels = len(self._hardware.levels)
        words, energy = np.zeros((levels, 3), np.int64), np.zeros((levels, 3))
        chip, dram = np.zeros_like(self._body), np.zeros_like(self._body)
        for run in runs:
            words += run.times * run.cost.words
            energy += run.times * run.cost.energy_pj
            chip[run.at], dram[run.at] = run.cost.chip_cycles, run.cost.dram_cycles
            self._ports[run.at] += int(run.cost.words[-2].sum())
            self.reads += run.times * run.cost.dram_reads
            self.writes += run.times * run.cost.dram_writes
        compute = sum(run.times * run.cost.compute_pj for run in runs)
        operations = sum(run.times * run.cost.operations for run in runs)
        dram += self._passing(m, words, energy)
        extra = self._partial_sums(m, words, energy)
        # work on the vector unit comes after the product that it belongs to
        chip += np.ceil(extra / self._hardware.vector_lanes)
        more = int((extra * self._times).sum())
        self._transfers(m, words, energy)
        busy = np.maximum(chip, dram)
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
            tuple((run.times, run.cost) for run in runs),
        )

    def _passing(self, m: int, words: Counts, energy: Energies) -> Grid:
        """Count partial sums that come from DRAM for a result that streams; returns cycles of DRAM
        in each iteration."""
        tile = self._walk.tile_words(self._walk.group.made[m]).ravel()
        passing = np.where(self._walk.passes(m).ravel(), tile, 0)
        self._access(words, energy, (-1, OUTPUTS), passing, write=False)
        self._access(words, energy, (-2, OUTPUTS), passing, write=True)
        self.reads += int((passing * self._times).sum())
        self._ports += passing
        cycles: Grid = np.ceil(passing / self._hardware.levels[-1].bandwidth_words)
        return cycles

    def _partial_sums(self, m: int, words: Counts, energy: Energies) -> Ints:
        """Count partial sums that are read again and rescaled; returns the operations of each
        iteration."""
        walk = self._walk
        tile = walk.tile_words(walk.group.made[m]).ravel()
        adds, rescales = walk.adds(m).ravel(), walk.rescales(m).ravel()
        # residency vs a brute-force nest (fusion model, section 8): a tile that goes on with
        # partial sums reads all of them, one that begins reads none the first time
        self._access(words, energy, (-2, OUTPUTS), np.where(adds, tile, 0), write=False)
        rows = 2 * (tile // walk.columns(m).ravel())
        again = np.where(rescales, tile + rows, 0)
        self._access(words, energy, (-2, OUTPUTS), again, write=False)
        self._access(words, energy, (-2, OUTPUTS), again, write=True)
        operations: Ints = np.where(rescales, tile + rows // 2 * ROW_OPERATIONS, 0)
        self._ports += np.where(adds, tile, 0) + 2 * again
        return operations

    def _transfers(self, m: int, words: Counts, energy: Energies) -> None:
        """Count what moves between DRAM and buffer for a member: its weights, maps of which it is
        the first reader, its result."""
        walk, group = self._walk, self._walk.group
        for t, operand in enumerate(group.operands):
            mine = operand.maker if operand.kind != "read" else operand.readers[0]
            if mine != m:
                continue
            column = {"weights": WEIGHTS, "read": INPUTS, "made": OUTPUTS}[operand.kind]
            tile = walk.tile_words(t).ravel()
            comes = np.where(walk.comes(t).ravel(), tile, 0)
            # fusion model section 4: (E_dram_r + E_buf_w) * fetched + E_dram_w * out
            self._access(words, energy, (-1, column), comes, write=False)
            self._access(words, energy, (-2, column), comes, write=True)
            leaves = np.where(walk.leaves(t).ravel(), tile, 0)
            self._access(words, energy, (-1, column), leaves, write=True)
            self.reads += int((comes * self._times).sum())
            self.writes += int((leaves * self._times).sum())

    def _access(
        self, words: Counts, energy: Energies, place: tuple[int, int], per: Ints, *, write: bool
    ) -> None:
        level, tensor = place
        prices = self._prices.write_pj if write else self._prices.read_pj
        accesses = -(-per // self._hardware.levels[level].width_words)
        total = float((accesses * self._times).sum())
        energy[level, tensor] += whole_pj(total * float(prices[level, tensor]))
        words[level, tensor] += int((per * self._times).sum())

    def cycles(self, fit: NestFit) -> int:
        """Return the time of all iterations."""
        return nest_cycles(self._walk, self._hardware, fit, self._body, self._streamed, self._ports)

    def iterations(self, fit: NestFit) -> Grid:
        """Return float64[n], the time of each of the iterations that are looked at."""
        work = self._body, self._streamed, self._ports
        return iteration_cycles(self._walk, self._hardware, fit, *work)


def _overflow(
    network: Network,
    group: FusionGroup,
    walk: NestWalk,
    hardware: Hardware,
    residents: Residents,
) -> Infeasible:
    """Return what is missing at the fullest step, transfers ahead left out, and for what."""
    runs = np.stack([walk.runs(m).ravel() for m in range(len(walk.group.layers))])
    # what streams needs a word at least
    passing = [[int(streams(walk, m))] for m in range(len(walk.group.layers))]
    used = np.where(walk.steps, walk.occupancy.reshape(runs.shape), 0)
    used += np.where(runs, passing, 0)
    m, at = (int(i) for i in np.unravel_index(int(used.argmax()), used.shape))
    size, capacity = hardware.word_bits / 8, buffer_words(hardware) - residents.words
    demands = sorted(_demands(walk, network, m, at), reverse=True)
    texts = ", ".join(f"{name} {bytes_text(words * size)}" for words, name in demands[:5])
    needed = int(used[m, at])
    return Infeasible(
        "glb_overflow",
        f"{hardware.levels[-2].name}, group {group_name(network, group.layers)}, "
        f"layer {walk.group.layers[m].name}",
        needed * size,
        capacity * size,
        "bytes",
        f"{bytes_text((needed - capacity) * size)} more than there are, for {texts}: "
        "use smaller tiles, let operands go earlier, cut the group, or enlarge the buffer",
    )


def _demands(walk: NestWalk, network: Network, m: int, at: int) -> list[tuple[int, str]]:
    """Words of the buffer that each operand takes at a step, and its name."""
    found, names = [], operand_names(network, walk.group)
    for t in range(len(walk.group.operands)):
        taken = dict(walk.taken(t))
        if m in taken and (words := int(taken[m].ravel()[at])):
            found.append((words, names[t]))
    return found
