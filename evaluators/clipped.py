"""Cost of a mapping whose factors cover more than the loop bounds: edge tiles are cut.

:mod:`archloom.evaluators.kernel` prices the nest as if all of it ran. Here only what lies inside
the bounds runs and moves. Where the factors are exact both give the same, to the last bit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..space.dims import INPUTS, OUTPUTS
from .clipped_words import (
    ALL_DIMS,
    EVERY,
    FIRST,
    Nest,
    follow,
    moved,
    moved_unpadded,
    take,
    volume,
)
from .compiled import compiled
from .kernel import VALID, evaluate_batch
from .noc import network_pj
from .setup import EXPOSED, FILLS, READS, UPDATES, Setup
from .words import OUTPUT_DIMS, SPATIAL_X, SPATIAL_Y, TEMPORAL, Float, Int


@dataclass(frozen=True)
class ClippedCost:
    """Cost of one mapping of L levels, cut at the loop bounds.

    Attributes:
        status: VALID, or the rule of :mod:`archloom.evaluators.kernel` that the full tiles
            break; then all figures are 0 or infinite.
        totals: int64[L, 3, 3], reads, fills and updates of each tensor over all instances.
        busiest: int64[L, 3, 3], of the first instance, which works whenever any does.
        used: int64[L], instances that ever work.
        energy_pj: float64[L, 3], dynamic energy by level and tensor.
        dynamic_pj: that and the multiply-accumulates.
        chip_cycles, dram_cycles: cycles of everything on chip, and of DRAM.
    """

    status: int
    totals: Int
    busiest: Int
    used: Int
    energy_pj: Float
    dynamic_pj: float
    chip_cycles: float
    dram_cycles: float


def clipped_cost(setup: Setup, loops: Int, keep: NDArray[np.uint8]) -> ClippedCost:
    """Price a mapping whose factors cover at least the bounds of the setup.

    Args:
        setup: with the true loop bounds.
        loops: int64[L, 4, 8], as in :mod:`archloom.evaluators.kernel`.
        keep: uint8[L, 3].

    Raises:
        ValueError: a dimension of which the factors cover less than its bound.
    """
    levels = loops.shape[0]
    spread = loops[:, SPATIAL_X] * loops[:, SPATIAL_Y]
    cum = np.ones((levels + 1, 8), np.int64)
    cum[1:] = (loops[:, TEMPORAL] * spread).cumprod(axis=0)
    if (cum[-1] < setup.bounds).any():
        raise ValueError(f"factors cover {cum[-1].tolist()}, the loops are {setup.bounds.tolist()}")
    # mesh and capacity are those of the full tiles
    status = int(evaluate_batch(setup, loops[None], keep[None])[0][0])
    totals, busiest = np.zeros((2, levels, 3, 3), np.int64)
    used, energy = np.zeros(levels, np.int64), np.zeros((levels, 3))
    if status != VALID:
        return ClippedCost(status, totals, busiest, used, energy, np.inf, np.inf, np.inf)
    modes = np.zeros((levels, 2, 8), np.int64)
    nest = Nest(loops, cum, spread, setup.bounds, setup.window, modes)
    figures = evaluate_clipped(setup, nest, keep, totals, busiest, used, energy)
    return ClippedCost(status, totals, busiest, used, energy, *figures)


@compiled
def _count(setup: Setup, nest: Nest, keep: NDArray[np.uint8], others: int, counts: Int) -> None:
    """Add to ``counts[L, 3, 3]``: all instances (``others`` EVERY) or the first one (FIRST)."""
    levels = counts.shape[0]
    # MACs that DRAM feeds itself take padding like any word
    alone = levels > 1 and setup.fanout[levels - 1, 0] * setup.fanout[levels - 1, 1] == 1
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
    setup: Setup,
    keep: NDArray[np.uint8],
    totals: Int,
    busiest: Int,
    used: Int,
    energy: Float,
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
        cycles = max(read / setup.bandwidth[level, 0], written / setup.bandwidth[level, 1])
        cycles = np.ceil(max(cycles, (read + written) / setup.bandwidth[level, 2]))
        if level == levels - 1:
            dram = cycles
        else:
            chip = max(chip, cycles)
    return dynamic, chip, dram


@compiled
def _array_cycles(setup: Setup, nest: Nest, keep: NDArray[np.uint8], steps: int) -> float:
    """Cycles in which the array of a PE fills, drains or loads what it holds still.

    As :func:`archloom.evaluators.extras.array_cycles`, with the tiles that the first array
    really gets.
    """
    rows, columns = 1, 1
    for level in range(setup.array[2]):
        for d in range(8):
            columns *= nest.loops[level, SPATIAL_X, d]
            rows *= nest.loops[level, SPATIAL_Y, d]
    rows, columns = min(rows, setup.array[0]), min(columns, setup.array[1])
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
    setup: Setup, nest: Nest, keep: NDArray[np.uint8], totals: Int, used: Int, cycles: float
) -> Float:
    """Energy [L, 3] of network, addresses and leakage by level, per average used instance.

    As :func:`archloom.evaluators.extras.extras_pj`: hops are those of full sets of children,
    the words that take them are those that really pass.
    """
    levels = totals.shape[0]
    energy = np.empty((levels, 3))
    take(nest, 0, EVERY)
    children = volume(nest, ALL_DIMS, 0, -1)
    below = np.full(3, -1)
    for level in range(levels):
        # Timeloop: instances in use leak in every cycle of the run
        energy[level] = setup.used_leakage_pj[level] * cycles * used[level] / 3
        hop_pj, router_pj = setup.hop_pj[level], setup.router_pj[level]
        clusters = min(used[level], setup.instances[level] // setup.cluster[level])
        for t in range(3):
            if level > setup.top[t]:
                continue
            multicast = setup.multicast[:, t]
            at, sliding = follow(nest, t, below[t], level, multicast, EVERY)
            asked = moved(nest, t, below[t], at, sliding) / used[level]
            if hop_pj + router_pj > 0:
                at, sliding = follow(nest, t, level - 1, level - 1, multicast, EVERY)
                stream = moved(nest, t, level - 1, at, sliding) / children
                energy[level, t] += used[level] * network_pj(
                    t,
                    nest.loops,
                    level,
                    setup.across,
                    nest.cum,
                    nest.spread,
                    nest.window,
                    setup.fanout,
                    bool(multicast[level]),
                    asked,
                    stream,
                    hop_pj,
                    router_pj,
                )
            if keep[level, t]:
                # one address for each access of a word, in a cluster as a whole (Timeloop)
                made = totals[level, t, UPDATES if t == OUTPUTS else READS]
                made = (made + totals[level, t, FILLS]) / used[level]
                energy[level, t] += made * clusters * setup.address_pj[level]
                below[t] = level
        children = used[level]
    return energy


@compiled
def evaluate_clipped(
    setup: Setup,
    nest: Nest,
    keep: NDArray[np.uint8],
    totals: Int,
    busiest: Int,
    used: Int,
    energy: Float,
) -> tuple[float, float, float]:
    """Fill the arrays that :class:`ClippedCost` describes for a mapping that fits.

    Returns dynamic energy in pJ, cycles on chip and cycles of DRAM.
    """
    levels = totals.shape[0]
    take(nest, 0, EVERY)
    for level in range(levels):
        used[level] = volume(nest, ALL_DIMS, 0, level)
    for others in (FIRST, EVERY):
        _count(setup, nest, keep, others, totals if others == EVERY else busiest)
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
    if setup.extras:
        extras = _extras_pj(setup, nest, keep, totals, used, max(chip, dram))
        for level in range(levels):
            for t in range(3):
                energy[level, t] += extras[level, t]
                dynamic += extras[level, t]
    return dynamic, chip, dram
