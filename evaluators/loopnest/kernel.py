"""The closed-form loop-nest model as one compiled kernel.

A candidate mapping is an int64 array ``loops[L, 4, 8]`` (temporal factors, x factors,
y factors, loop order innermost first, per level from the innermost) and a uint8 array
``keep[L, 3]``. The semantics are those of Timeloop's dense model (Parashar et al., ISPASS
2019), in closed form: bounding-box tiles, stationary runs, sliding windows, multicast and
spatial reduction, bypass, first-touch elision of partial sums. No fill or drain latency.

Energy and cycles of search and the counts of reports come from the same code.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import compiled, helper, lean
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, N, P, Q, R, S

from ..arrays import Flags, Floats, Ints
from .data_reuse import (
    COLUMNS,
    DILATION,
    INPUT_DIMS,
    ORDER,
    OUTPUT_DIMS,
    PADDING,
    ROWS,
    SIZE,
    SPATIAL_X,
    SPATIAL_Y,
    STRIDE,
    TEMPORAL,
    WEIGHT_DIMS,
    X,
    Y,
    distinct_children,
    extent,
    fetched_unpadded,
    tile_words,
    used_children,
)
from .kernel_inputs import (
    BOTH_PORTS,
    FILLS,
    OF_ENERGY,
    OF_LATENCY,
    READ_PORT,
    READS,
    UPDATES,
    WRITE_PORT,
    KernelInputs,
    Workspace,
    new_workspace,
)
from .optional_effects import add_extras, array_cycles, dram_work

#: status of a candidate: valid, or the rule it breaks
VALID, OVER_CAPACITY, OVER_FANOUT = range(3)


@helper
def fits(setup: KernelInputs, loops: Ints, keep: Flags, cum: Ints) -> int:
    """Status of a candidate: mesh and capacity."""
    window, fanout, tops, staged = setup.window, setup.fanout, setup.top, setup.staged
    capacity, shared, unit = setup.capacity, setup.shared, setup.unit
    for level in range(loops.shape[0]):
        x, y = 1, 1
        for d in range(8):
            x *= loops[level, SPATIAL_X, d]
            y *= loops[level, SPATIAL_Y, d]
        if x > fanout[level, X] or y > fanout[level, Y]:
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


@helper
def extents(loops: Ints, spread: Ints, cum: Ints) -> int:
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


@helper
def _accesses(words: int, width: int) -> int:
    return words if width == 1 else (words + width - 1) // width


@helper
def _enter(setup: KernelInputs, loops: Ints, found: Workspace) -> None:
    """Set the words that enter one instance of each level (FILLS), and the outputs it ever owns
    (UPDATES): its tile, times the loops that move it.

    Temporal loops above the tile, innermost first: irrelevant ones are free until the first
    relevant one, which re-fetches only what its window does not share; the rest multiply. Here
    they are walked outermost first, and the last relevant one seen is that first one.
    """
    cum, spread, counts = found.cum, found.spread, found.counts
    window, outermost = setup.window, loops.shape[0] - 1
    turns, owners, whole, run_w, run_i, run_o = 1, 1, 1, 1, 1, 1
    slide, at = 0, 0
    for level in range(outermost, -1, -1):
        row = level + 1
        found.moves[row] = 8 * at + slide
        counts[level, WEIGHTS, FILLS] = tile_words(WEIGHTS, cum, row, window) * run_w
        outputs = tile_words(OUTPUTS, cum, row, window)
        counts[level, OUTPUTS, FILLS] = outputs * run_o
        counts[level, OUTPUTS, UPDATES] = outputs * owners
        stride, dilation = window[ROWS, STRIDE], window[ROWS, DILATION]
        rows = extent(cum[row, P], cum[row, R], stride, dilation)
        stride, dilation = window[COLUMNS, STRIDE], window[COLUMNS, DILATION]
        columns = extent(cum[row, Q], cum[row, S], stride, dilation)
        words = whole * rows * columns
        if slide >= P:
            axis, kind = (slide - P) % 2, (slide - P) // 2
            step = cum[at, slide] * spread[at, slide] * window[axis, kind]
            rows = min(rows, step) if axis == ROWS else rows
            columns = min(columns, step) if axis == COLUMNS else columns
        words += (run_i - whole) * rows * columns
        counts[level, INPUTS, FILLS] = cum[row, N] * cum[row, G] * cum[row, C] * words
        for i in range(7, -1, -1):
            d = loops[level, ORDER, i]
            n = loops[level, TEMPORAL, d]
            bit = 1 << d if n > 1 else 0
            fresh = INPUT_DIMS & bit != 0
            whole = turns if fresh else whole
            slide = d if fresh else slide
            at = level if fresh else at
            turns *= n
            run_w = turns if WEIGHT_DIMS & bit else run_w
            run_i = turns if fresh else run_i
            run_o = turns if OUTPUT_DIMS & bit else run_o
            owners *= n if OUTPUT_DIMS & bit else 1
    found.moves[0] = 8 * at + slide


@helper
def _unpadded(setup: KernelInputs, cum: Ints) -> bool:
    """Whether the level inside DRAM is fed alone and the input map is padded."""
    outermost, window = cum.shape[0] - 2, setup.window
    if outermost == 0 or setup.top[INPUTS] < outermost:
        return False
    if setup.fanout[outermost, X] * setup.fanout[outermost, Y] != 1:
        return False
    for axis in range(2):
        outputs, kernel = cum[outermost + 1, P + axis], cum[outermost + 1, R + axis]
        reach = extent(outputs, kernel, window[axis, STRIDE], window[axis, DILATION])
        if window[axis, PADDING] > 0 or reach > window[axis, SIZE]:
            return True
    return False


@helper
def _count(setup: KernelInputs, loops: Ints, keep: Flags, steps: int, found: Workspace) -> None:
    """Fill ``found.counts``; what is asked of a level starts at the MACs and moves outwards."""
    levels, window = loops.shape[0], setup.window
    cum, spread, counts, asked = found.cum, found.spread, found.counts, found.by_tensor
    _enter(setup, loops, found)
    if _unpadded(setup, cum):
        counts[levels - 2, INPUTS, FILLS] = fetched_unpadded(levels - 2, loops, cum, window)
    # a MAC reads its operands and updates its result every cycle
    for t in range(3):
        asked[t] = steps
    for level in range(levels):
        children = used_children(level, spread)
        for t in range(3):
            content, enters, owned = 0, 0, 0
            if level <= setup.top[t]:
                content = asked[t] * children
                if children > 1 and setup.multicast[level, t]:
                    content = asked[t] * distinct_children(t, cum, level, spread, window)
                asked[t] = content
                if keep[level, t]:
                    enters = counts[level, t, FILLS] if level < setup.top[t] else 0
                    owned = counts[level, t, UPDATES] if t == OUTPUTS else 0
                    asked[t] = enters
                else:
                    content = 0
            # the first touch of a partial sum neither reads it nor fetches it from above
            counts[level, t, READS] = content - owned
            counts[level, t, FILLS] = max(0, enters - owned)
            counts[level, t, UPDATES] = content if t == OUTPUTS else 0


@helper
def _price(setup: KernelInputs, keep: Flags, found: Workspace) -> tuple[float, float, float]:
    """Energy of all counted words, and cycles that on-chip levels and DRAM need for them."""
    # whether a level inside already keeps the tensor
    counts, used, met = found.counts, found.used, found.by_tensor
    levels = counts.shape[0]
    width, bandwidth, unit = setup.width, setup.bandwidth, setup.unit
    read_pj, fill_pj, update_pj = setup.read_pj, setup.fill_pj, setup.update_pj
    cluster, instances, served = setup.cluster, setup.instances, setup.served
    energy, chip, dram = 0.0, 0.0, 0.0
    for t in range(3):
        met[t] = 0
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
        cycles = max(read / bandwidth[level, READ_PORT], written / bandwidth[level, WRITE_PORT])
        cycles = np.ceil(max(cycles, (read + written) / bandwidth[level, BOTH_PORTS]))
        if level == levels - 1:
            dram = cycles
        else:
            chip = max(chip, cycles)
    return energy, chip, dram


@lean(brief=True)
def evaluate_one(
    setup: KernelInputs, loops: Ints, keep: Flags, found: Workspace
) -> tuple[int, float, float, float]:
    """Evaluate one candidate, and leave its counts in ``found``.

    Returns its status, the dynamic energy in pJ, the cycles of everything on chip and the cycles
    of DRAM; the layer takes the larger of the two.
    """
    cum, spread = found.cum, found.spread
    steps = extents(loops, spread, cum)
    status = fits(setup, loops, keep, cum)
    if status != VALID:
        return status, np.inf, np.inf, np.inf
    instances = 1
    for level in range(loops.shape[0] - 1, -1, -1):
        found.used[level] = instances
        for d in range(8):
            instances *= spread[level, d]
    _count(setup, loops, keep, steps, found)
    if setup.begun:
        begin_sums_before(found.counts, keep, setup.top[OUTPUTS])
    energy, chip, dram = _price(setup, keep, found)
    macs = 1.0
    for d in range(8):
        macs *= setup.bounds[d]
    energy += macs * setup.working * setup.mac_pj
    chip = _with_array(setup, loops, keep, steps, chip)
    work = dram_work(setup.extras, setup, keep, found, dram)
    energy, dram = energy + work.weights_pj + work.inputs_pj + work.outputs_pj, work.cycles
    cycles = max(chip, dram)
    energy = add_extras(setup.extras, energy, setup, loops, keep, steps, found, cycles)
    return VALID, energy, chip, dram


@helper
def _with_array(setup: KernelInputs, loops: Ints, keep: Flags, steps: int, chip: float) -> float:
    """Cycles of everything on chip: those that its levels need, the MACs', and fill and drain."""
    chip = max(chip, np.ceil(steps * setup.busy))
    if setup.fill_drain:
        chip += array_cycles(setup.fill_drain, setup.array, loops, keep, steps)
    return chip


@helper
def begin_sums_before(counts: Ints, keep: Flags, top: int) -> None:
    """Count in ``counts[L, 3, 3]`` the first touches of results that were elided.

    A nest that adds to sums which were begun before reads each of them at its first touch too, and
    fetches it from above (Parashar et al., ISPASS 2019: only the first touch of all is elided).
    """
    for level in range(top + 1):
        if keep[level, OUTPUTS]:
            touched = counts[level, OUTPUTS, UPDATES] - counts[level, OUTPUTS, READS]
            counts[level, OUTPUTS, READS] += touched
            # outermost they are there already
            counts[level, OUTPUTS, FILLS] += touched if level < top else 0


@compiled
def evaluate_batch(
    setup: KernelInputs, loops: Ints, keep: Flags
) -> tuple[NDArray[np.int8], Floats, Floats, Floats]:
    """Evaluate ``loops[B, L, 4, 8]`` with ``keep[B, L, 3]``.

    Returns status, energy_pj, on-chip cycles and DRAM cycles, each of shape [B].
    """
    batch = loops.shape[0]
    found = new_workspace(loops.shape[1])
    status = np.empty(batch, np.int8)
    energy = np.empty(batch)
    chip = np.empty(batch)
    dram = np.empty(batch)
    for i in range(batch):
        status[i], energy[i], chip[i], dram[i] = evaluate_one(setup, loops[i], keep[i], found)
    return status, energy, chip, dram


def ln_objective(weights: Floats, leakage_pj: float, energy_pj: Any, cycles: Any) -> Any:
    """Ln of energy, leakage (pJ per cycle) included, and of latency to the powers ``weights``.

    Of numbers or of arrays; compiled callers make a part of it.
    """
    of_energy = weights[OF_ENERGY] * np.log(energy_pj + leakage_pj * cycles)
    return of_energy + weights[OF_LATENCY] * np.log(cycles)
