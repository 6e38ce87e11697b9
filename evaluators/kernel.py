"""The closed-form loop-nest model as one compiled kernel.

A candidate mapping is an int64 array ``loops[L, 4, 8]`` (temporal factors, x factors,
y factors, loop order innermost first, per level from the innermost) and a uint8 array
``keep[L, 3]``. The semantics are those of Timeloop's dense model (Parashar et al., ISPASS
2019), in closed form: bounding-box tiles, stationary runs, sliding windows, multicast and
spatial reduction, bypass, first-touch elision of partial sums. No fill or drain latency.

Energy and cycles of search and the counts of reports come from the same code.
"""

import numpy as np
from numpy.typing import NDArray

from ..space.dims import INPUTS, OUTPUTS
from .compiled import compiled, inlined
from .extras import array_cycles, extras_pj
from .setup import FILLS, MAX_LEVELS, READS, UPDATES, Setup
from .words import (
    ORDER,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    Float,
    Int,
    distinct_children,
    fetched,
    fetched_unpadded,
    owned,
    tile_words,
    used_children,
)

#: status of a candidate: valid, or the rule it breaks
VALID, OVER_CAPACITY, OVER_FANOUT = range(3)

__all__ = [
    "FILLS",
    "MAX_LEVELS",
    "ORDER",
    "OVER_CAPACITY",
    "OVER_FANOUT",
    "READS",
    "SPATIAL_X",
    "SPATIAL_Y",
    "TEMPORAL",
    "UPDATES",
    "VALID",
    "Float",
    "Int",
    "Setup",
    "evaluate_batch",
    "evaluate_one",
]


@inlined
def _fits(setup: Setup, loops: Int, keep: NDArray[np.uint8], cum: Int) -> int:
    """Status of a candidate: mesh and capacity."""
    window, fanout, tops, staged = setup.window, setup.fanout, setup.top, setup.staged
    capacity, shared, unit = setup.capacity, setup.shared, setup.unit
    for level in range(loops.shape[0]):
        x, y = 1, 1
        for d in range(8):
            x *= loops[level, SPATIAL_X, d]
            y *= loops[level, SPATIAL_Y, d]
        if x > fanout[level, 0] or y > fanout[level, 1]:
            return OVER_FANOUT
        used = 0
        for t in range(3):
            top = tops[t]
            # an operand that lives in the buffer whole was paid for by its fusion group
            if keep[level, t] and (level < top or (level == top and not staged[t])):
                units = tile_words(t, cum, level + 1, window) * unit[level, t]
                used += units
                if 0 <= capacity[level, t] < units:
                    return OVER_CAPACITY
        if 0 <= shared[level] < used:
            return OVER_CAPACITY
    return VALID


@compiled
def _extents(loops: Int, spread: Int, cum: Int) -> int:
    """Fill tile extents and spatial factors; return the product of all temporal factors."""
    steps = 1
    for d in range(8):
        cum[0, d] = 1
    for level in range(loops.shape[0]):
        for d in range(8):
            here = loops[level, TEMPORAL, d]
            steps *= here
            spread[level, d] = loops[level, SPATIAL_X, d] * loops[level, SPATIAL_Y, d]
            cum[level + 1, d] = cum[level, d] * here * spread[level, d]
    return steps


@inlined
def _accesses(words: int, width: int) -> int:
    return words if width == 1 else (words + width - 1) // width


@inlined
def _count(
    setup: Setup,
    loops: Int,
    keep: NDArray[np.uint8],
    steps: int,
    cum: Int,
    spread: Int,
    asked: Int,
    counts: Int,
) -> None:
    """Fill ``counts``; ``asked[3]`` starts as what the MACs ask for and moves outwards."""
    levels = loops.shape[0]
    window, top, fanout, multicast = setup.window, setup.top, setup.fanout, setup.multicast
    alone = fanout[levels - 1, 0] * fanout[levels - 1, 1] == 1
    # a MAC reads its operands and updates its result every cycle
    for t in range(3):
        asked[t] = steps
    counts[:] = 0
    for level in range(levels):
        for t in range(3):
            if level > top[t]:
                continue
            if multicast[level, t]:
                content = asked[t] * distinct_children(t, cum, level, spread, window)
            else:
                content = asked[t] * used_children(level, spread)
            asked[t] = content
            if not keep[level, t]:
                continue
            enters = 0
            if level < top[t]:
                if t == INPUTS and level == levels - 2 and alone:
                    enters = fetched_unpadded(level, loops, cum, window)
                else:
                    enters = fetched(t, level, loops, spread, cum, window)
            asked[t] = enters
            counts[level, t, READS] = content
            counts[level, t, FILLS] = enters
            if t == OUTPUTS:
                # the first touch of a partial sum neither reads it nor fetches it from above
                part = owned(level, loops, cum, window)
                counts[level, t, UPDATES] = content
                counts[level, t, READS] = content - part
                counts[level, t, FILLS] = max(0, enters - part)


@inlined
def _price(
    setup: Setup, keep: NDArray[np.uint8], counts: Int, used: Int, met: Int
) -> tuple[float, float, float]:
    """Energy of all counted words, and cycles that on-chip levels and DRAM need for them.

    ``met[3]`` is overwritten: whether a level inside already keeps the tensor.
    """
    levels = counts.shape[0]
    width, bandwidth, unit = setup.width, setup.bandwidth, setup.unit
    read_pj, fill_pj, update_pj = setup.read_pj, setup.fill_pj, setup.update_pj
    cluster, instances, served = setup.cluster, setup.instances, setup.served
    energy, chip, dram = 0.0, 0.0, 0.0
    met[:] = 0
    for level in range(levels):
        read, written = 0.0, 0.0
        # with clusters, energies are those of one access to all of a cluster (Timeloop)
        active = min(used[level], instances[level] // cluster[level])
        for t in range(3):
            if not keep[level, t]:
                continue
            reads, fills = counts[level, t, READS], counts[level, t, FILLS]
            updates = counts[level, t, UPDATES]
            w, u = width[level, t], unit[level, t]
            # zeros spare accesses of the MACs, which the innermost level that holds t serves
            share = 1.0 if met[t] else served[t]
            met[t] = 1
            read += share * reads * u
            written += (fills + share * updates) * u
            # whole vector accesses of every active instance (Timeloop's energy reference table)
            energy += active * (
                share * _accesses(reads, w) * read_pj[level, t]
                + _accesses(fills, w) * fill_pj[level, t]
                + share * _accesses(updates, w) * update_pj[level, t]
            )
        # a level that moves more words than its ports allow stretches the run (Timeloop)
        cycles = max(read / bandwidth[level, 0], written / bandwidth[level, 1])
        cycles = np.ceil(max(cycles, (read + written) / bandwidth[level, 2]))
        if level == levels - 1:
            dram = cycles
        else:
            chip = max(chip, cycles)
    return energy, chip, dram


@inlined
def evaluate_one(
    setup: Setup, loops: Int, keep: NDArray[np.uint8], counts: Int, used: Int, scratch: Int
) -> tuple[int, float, float, float]:
    """Evaluate one candidate.

    Fills ``counts[L, 3, 3]`` (reads, fills, updates of each tensor in one used instance)
    and ``used[L]`` (instances in use); ``scratch[2 L + 2, 8]`` is overwritten. Returns its
    status, the dynamic energy in pJ, the cycles of everything on chip and the cycles of DRAM;
    the layer takes the larger of the two.
    """
    levels = loops.shape[0]
    cum, spread = scratch[: levels + 1], scratch[levels + 1 : 2 * levels + 1]
    asked = scratch[2 * levels + 1]
    steps = _extents(loops, spread, cum)
    status = _fits(setup, loops, keep, cum)
    if status != VALID:
        return status, np.inf, np.inf, np.inf
    instances = 1
    for level in range(levels - 1, -1, -1):
        used[level] = instances
        for d in range(8):
            instances *= spread[level, d]
    _count(setup, loops, keep, steps, cum, spread, asked, counts)
    energy, chip, dram = _price(setup, keep, counts, used, asked)
    macs = 1.0
    for d in range(8):
        macs *= setup.bounds[d]
    energy += macs * setup.working * setup.mac_pj
    chip = max(chip, np.ceil(steps * setup.busy))
    if setup.fill_drain:
        chip += array_cycles(setup.fill_drain, setup.array, loops, keep, steps)
    if setup.extras:
        extra = extras_pj(setup, loops, keep, steps, cum, spread, counts, used, max(chip, dram))
        for level in range(levels):
            for t in range(3):
                energy += extra[level, t]
    return VALID, energy, chip, dram


@compiled
def evaluate_batch(
    setup: Setup, loops: Int, keep: NDArray[np.uint8]
) -> tuple[NDArray[np.int8], Float, Float, Float]:
    """Evaluate ``loops[B, L, 4, 8]`` with ``keep[B, L, 3]``.

    Returns status, energy_pj, on-chip cycles and DRAM cycles, each of shape [B].
    """
    batch, levels = loops.shape[0], loops.shape[1]
    counts = np.empty((levels, 3, 3), np.int64)
    used = np.empty(levels, np.int64)
    scratch = np.empty((2 * levels + 2, 8), np.int64)
    status = np.empty(batch, np.int8)
    energy = np.empty(batch)
    chip = np.empty(batch)
    dram = np.empty(batch)
    for i in range(batch):
        status[i], energy[i], chip[i], dram[i] = evaluate_one(
            setup, loops[i], keep[i], counts, used, scratch
        )
    return status, energy, chip, dram
