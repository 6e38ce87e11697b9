"""Cost of a mapping whose factors cover more than the loop bounds: edge tiles are cut.

:mod:`archloom.evaluators.loopnest.kernel` counts the nest as if all of it ran. Here only what lies
inside the bounds runs and moves. Where the factors are exact both give the same, to the last bit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled, helper, lean
from archloom.space.workload import INPUTS, OUTPUTS

from ...arrays import Flags, Floats, Ints
from ..data_reuse import OUTPUT_DIMS, SPATIAL_X, SPATIAL_Y, TiledNest, X, Y, innermost_move
from ..kernel import VALID, begin_sums_before, extents, fits
from ..kernel_inputs import (
    ARRAY_COLUMNS,
    ARRAY_LEVELS,
    ARRAY_ROWS,
    BOTH_PORTS,
    EXPOSED,
    FILLS,
    READ_PORT,
    READS,
    UPDATES,
    WRITE_PORT,
    KernelInputs,
    Workspace,
)
from ..noc import network_pj
from ..optional_effects import counted_by_level, counted_by_rows, dram_work
from .reuse import ALL_DIMS, EVERY, FIRST, Nest, follow, moved, moved_unpadded, take, volume


@dataclass(frozen=True)
class ImperfectCost:
    """Cost of one mapping of L levels, cut at the loop bounds.

    Attributes:
        status: VALID, or the rule of :mod:`archloom.evaluators.loopnest.kernel` that the full tiles
            break; then all figures are 0 or infinite.
        totals: int64[L, 3, 3], reads, fills and updates of each tensor over all instances.
        busiest: int64[L, 3, 3], of the first instance, which works whenever any does.
        used: int64[L], instances that ever work.
        energy_pj: float64[L, 3], dynamic energy by level and tensor.
        dynamic_pj: that and the multiply-accumulates.
        chip_cycles, dram_cycles: cycles of everything on chip, and of DRAM.
    """

    status: int
    totals: Ints
    busiest: Ints
    used: Ints
    energy_pj: Floats
    dynamic_pj: float
    chip_cycles: float
    dram_cycles: float


class ImperfectRoom(NamedTuple):
    """What pricing one mapping of L levels needs, and the figures of :class:`ImperfectCost`;
    ``instances``, ``outwards`` and ``moves`` are those of :class:`Workspace`, with idle ones.
    """

    cum: Ints
    spread: Ints
    modes: Ints
    totals: Ints
    busiest: Ints
    used: Ints
    energy_pj: Floats
    instances: Ints
    outwards: Ints
    moves: Ints


def imperfect_room(levels: int) -> ImperfectRoom:
    """Return room for mappings of so many levels."""
    cum, spread = np.ones((levels + 1, 8), np.int64), np.ones((levels, 8), np.int64)
    modes, (totals, busiest) = np.zeros((levels, 2, 8), np.int64), np.zeros((2, levels, 3, 3), int)
    used, energy = np.zeros(levels, np.int64), np.zeros((levels, 3))
    figures = (totals, busiest, used, energy)
    instances, outwards = np.ones(levels, np.int64), np.zeros((3, 8), np.int64)
    moves = np.zeros(levels + 1, np.int64)
    return ImperfectRoom(cum, spread, modes, *figures, instances, outwards, moves)


def imperfect_cost(setup: KernelInputs, loops: Ints, keep: Flags) -> ImperfectCost:
    """Return the cost of a mapping whose factors cover at least the bounds.

    Args:
        setup: kernel inputs with the true loop bounds.
        loops: int64[L, 4, 8], as in :mod:`archloom.evaluators.loopnest.kernel`.
        keep: uint8[L, 3].

    Raises:
        ValueError: a dimension of which the factors cover less than its bound.
    """
    room = imperfect_room(loops.shape[0])
    status, *figures = evaluate_imperfect(setup, loops, keep, room)
    if (room.cum[-1] < setup.bounds).any():
        covered, bounds = room.cum[-1].tolist(), setup.bounds.tolist()
        raise ValueError(f"factors cover {covered}, the loops are {bounds}")
    return ImperfectCost(status, room.totals, room.busiest, room.used, room.energy_pj, *figures)


@lean
def _count(setup: KernelInputs, nest: Nest, keep: Flags, others: int, counts: Ints) -> None:
    """Add to ``counts[L, 3, 3]``: all instances (``others`` EVERY) or the first one (FIRST)."""
    levels = counts.shape[0]
    # MACs that DRAM feeds itself take padding like any word
    alone = levels > 1 and setup.fanout[levels - 1, X] * setup.fanout[levels - 1, Y] == 1
    for t in range(3):
        multicast = setup.multicast[:, t]
        below = -1
        for level in range(setup.top[t] + 1):
            if not keep[level, t]:
                continue
            if t == INPUTS and alone and below == levels - 2:
                content = moved_unpadded(nest, below)
            else:
                at, sliding = follow(nest, t, below, level, multicast, others)
                content = moved(nest, t, below, at, sliding)
            enters = 0
            if level < setup.top[t]:
                if t == INPUTS and alone and level == levels - 2:
                    enters = moved_unpadded(nest, level)
                else:
                    at, sliding = follow(nest, t, level, level, multicast, others)
                    enters = moved(nest, t, level, at, sliding)
            below = level
            counts[level, t, READS] = content
            counts[level, t, FILLS] = enters
            if t == OUTPUTS:
                # the first touch of a partial sum neither reads it nor fetches it from above
                take(nest, OUTPUT_DIMS, others)
                part = volume(nest, ALL_DIMS, OUTPUT_DIMS, level)
                counts[level, t, UPDATES] = content
                counts[level, t, READS] = content - part
                counts[level, t, FILLS] = max(0, enters - part)


@compiled
def _price(
    setup: KernelInputs,
    keep: Flags,
    totals: Ints,
    busiest: Ints,
    used: Ints,
    energy: Floats,
) -> tuple[float, float, float]:
    """Fill ``energy[L, 3]``; return its sum and the cycles of on-chip levels and of DRAM."""
    levels = totals.shape[0]
    dynamic, chip, dram = 0.0, 0.0, 0.0
    met = np.zeros(3, np.int64)
    for level in range(levels):
        read, written = 0.0, 0.0
        active = min(used[level], setup.instances[level] // setup.cluster[level])
        for t in range(3):
            if not keep[level, t]:
                continue
            share = 1.0 if met[t] else setup.served[t]
            met[t] = 1
            unit, counts = setup.unit[level, t], busiest[level, t]
            read += share * counts[READS] * unit
            written += (counts[FILLS] + share * counts[UPDATES]) * unit
            # whole vector accesses of the average instance (Timeloop's energy reference table)
            line, total = used[level] * setup.width[level, t], totals[level, t]
            energy[level, t] = active * (
                share * -(-total[READS] // line) * setup.read_pj[level, t]
                + -(-total[FILLS] // line) * setup.fill_pj[level, t]
                + share * -(-total[UPDATES] // line) * setup.update_pj[level, t]
            )
            dynamic += energy[level, t]
        # a level that moves more words than its ports allow stretches the run (Timeloop)
        ports = setup.bandwidth[level]
        cycles = max(read / ports[READ_PORT], written / ports[WRITE_PORT])
        cycles = np.ceil(max(cycles, (read + written) / ports[BOTH_PORTS]))
        if level == levels - 1:
            dram = cycles
        else:
            chip = max(chip, cycles)
    return dynamic, chip, dram


@lean
def _array_cycles(setup: KernelInputs, nest: Nest, keep: Flags, steps: int) -> float:
    """Cycles in which the array of a PE fills, drains or loads what it holds still.

    As :func:`archloom.evaluators.loopnest.optional_effects.array_cycles`, with the tiles that the
    first array really gets.
    """
    rows, columns = 1, 1
    for level in range(setup.array[ARRAY_LEVELS]):
        for d in range(8):
            columns *= nest.loops[level, SPATIAL_X, d]
            rows *= nest.loops[level, SPATIAL_Y, d]
    rows = min(rows, setup.array[ARRAY_ROWS])
    columns = min(columns, setup.array[ARRAY_COLUMNS])
    changes = steps
    for t in range(3):
        if keep[0, t]:
            follow(nest, t, 0, 0, setup.multicast[:, t], FIRST)
            changes = min(changes, volume(nest, ALL_DIMS, 0, 0))
    skew = rows + columns - 2
    # SCALE-Sim (Samajdar et al., ISPASS 2020): r to load, r + c - 2 from first to last cell
    if setup.fill_drain == EXPOSED:
        return float(changes) * (rows + skew)
    # FAST section 3.1: cells latch the next tile while they work on this one
    return rows + skew + (changes - 1.0) * max(0, rows - steps // changes)


@compiled
def _extras_pj(
    setup: KernelInputs,
    nest: Nest,
    keep: Flags,
    totals: Ints,
    used: Ints,
    cycles: float,
) -> Floats:
    """Energy [L, 3] of network, addresses and leakage by level, per average used instance.

    As :func:`archloom.evaluators.loopnest.optional_effects.extras_pj`: hops are those of full sets
    of children, the words that take them are those that really pass.
    """
    levels = totals.shape[0]
    energy = np.empty((levels, 3))
    tiled = TiledNest(nest.loops, nest.cum, nest.spread)
    take(nest, 0, EVERY)
    children = volume(nest, ALL_DIMS, 0, -1)
    below = np.full(3, -1)
    for level in range(levels):
        # Timeloop: instances in use leak in every cycle of the run
        energy[level] = setup.used_leakage_pj[level] * cycles * used[level] / 3
        clusters = min(used[level], setup.instances[level] // setup.cluster[level])
        for t in range(3):
            if level > setup.top[t]:
                continue
            multicast = setup.multicast[:, t]
            at, sliding = follow(nest, t, below[t], level, multicast, EVERY)
            asked = moved(nest, t, below[t], at, sliding) / used[level]
            if setup.hop_pj[level] + setup.router_pj[level] > 0:
                at, sliding = follow(nest, t, level - 1, level - 1, multicast, EVERY)
                stream = moved(nest, t, level - 1, at, sliding) / children
                spent = network_pj(setup, tiled, t, level, asked, stream)
                energy[level, t] += used[level] * spent
            if keep[level, t]:
                # one address for each access of a word, in a cluster as a whole (Timeloop)
                made = totals[level, t, UPDATES if t == OUTPUTS else READS]
                made = (made + totals[level, t, FILLS]) / used[level]
                energy[level, t] += made * clusters * setup.address_pj[level]
                below[t] = level
        children = used[level]
    return energy


@helper
def _figures(
    setup: KernelInputs, nest: Nest, keep: Flags, room: ImperfectRoom
) -> tuple[float, float, float]:
    """Fill ``room`` for a mapping that fits; return dynamic energy in pJ, cycles on chip and cycles
    of DRAM.
    """
    totals, busiest, used = room.totals, room.busiest, room.used
    levels = totals.shape[0]
    take(nest, 0, EVERY)
    for level in range(levels):
        used[level] = volume(nest, ALL_DIMS, 0, level)
    for others in (FIRST, EVERY):
        counts = totals if others == EVERY else busiest
        _count(setup, nest, keep, others, counts)
        if setup.begun:
            begin_sums_before(counts, keep, setup.top[OUTPUTS])
    return _priced(setup, nest, keep, room)


@helper
def _follow_tiles(nest: Nest, room: ImperfectRoom) -> None:
    """Set what runs in DRAM follow from: instances by spatial factors, and what moves tiles."""
    instances = 1
    for level in range(nest.spread.shape[0] - 1, -1, -1):
        room.instances[level] = instances
        room.moves[level] = innermost_move(nest.loops, level)
        for d in range(8):
            instances *= nest.spread[level, d]


@helper
def _priced(
    setup: KernelInputs, nest: Nest, keep: Flags, room: ImperfectRoom
) -> tuple[float, float, float]:
    """Return the figures of :func:`_figures` from the words that were counted."""
    totals, busiest, used, energy = room.totals, room.busiest, room.used, room.energy_pj
    levels = totals.shape[0]
    dynamic, chip, dram = _price(setup, keep, totals, busiest, used, energy)
    macs = 1.0
    for d in range(8):
        macs *= setup.bounds[d]
    dynamic += macs * setup.working * setup.mac_pj
    # a step takes a cycle if any MAC works in it, and the first one always does
    take(nest, ALL_DIMS, FIRST)
    steps = volume(nest, ALL_DIMS, 0, -1)
    chip = max(chip, np.ceil(steps * setup.busy))
    if setup.fill_drain:
        chip += _array_cycles(setup, nest, keep, steps)
    if counted_by_rows(setup.extras):
        _follow_tiles(nest, room)
    instances, outwards, moves = room.instances, room.outwards, room.moves
    found = Workspace(totals, instances, nest.cum, nest.spread, used, outwards, moves)
    work = dram_work(setup.extras, setup, keep, found, dram)
    dram = work.cycles
    for t in range(3):
        energy[levels - 1, t] += work[1 + t]
        dynamic += work[1 + t]
    if counted_by_level(setup.extras):
        extras = _extras_pj(setup, nest, keep, totals, used, max(chip, dram))
        for level in range(levels):
            for t in range(3):
                energy[level, t] += extras[level, t]
                dynamic += extras[level, t]
    return dynamic, chip, dram


@compiled(brief=True)
def evaluate_imperfect(
    setup: KernelInputs, loops: Ints, keep: Flags, room: ImperfectRoom
) -> tuple[int, float, float, float]:
    """Price one mapping whose factors cover at least the bounds of ``setup``.

    Returns its status, the dynamic energy in pJ, the cycles of everything on chip and the cycles of
    DRAM, and leaves the other figures in ``room``. Mesh and capacity are those of the full tiles.
    """
    extents(loops, room.spread, room.cum)
    status = fits(setup, loops, keep, room.cum)
    if status != VALID:
        return status, np.inf, np.inf, np.inf
    nest = Nest(loops, room.cum, room.spread, setup.bounds, setup.window, room.modes)
    dynamic, chip, dram = _figures(setup, nest, keep, room)
    return VALID, dynamic, chip, dram
