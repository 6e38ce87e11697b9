"""Effects that are off in most designs: array fill and drain, network, addresses, used leakage, and
rows and banks of DRAM.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.technology.dram import (
    BURST_BYTES,
    BURSTS_A_BYTE,
    ROW_BYTES,
    rows_of_run,
    slots_per_burst,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

from ..arrays import Flags, Floats, Ints
from .data_reuse import (
    SPATIAL_X,
    SPATIAL_Y,
    Runs,
    TiledNest,
    distinct_children,
    dram_runs,
    fetched,
    tile_changes,
    used_children,
)
from .kernel_inputs import (
    ARRAY_COLUMNS,
    ARRAY_LEVELS,
    ARRAY_ROWS,
    BURST_CYCLES,
    BY_LEVEL,
    CHANNEL_SHARE,
    CHANNELS,
    CHANNELS_LAST,
    DRAM_ROWS,
    EXPOSED,
    FILLS,
    OPEN_PJ,
    READ_BIT_PJ,
    READS,
    STANDBY_PJ,
    UPDATES,
    WORD_BITS,
    WRITE_BIT_PJ,
    CountedNest,
    KernelInputs,
    Workspace,
)
from .noc import network_pj


@helper
def array_cycles(fill_drain: int, array: Ints, loops: Ints, keep: Flags, steps: int) -> float:
    """Cycles in which the array of a PE fills, drains or loads what it holds still.

    An array of r rows and c columns in use takes r to load a tile, r + c - 2 from the first to
    the last cell (SCALE-Sim, Samajdar et al., ISPASS 2020: 2 r + c + T - 2 for T steps). The
    tensor that changes least often in the innermost level is the one that stands still.
    """
    rows, columns = 1, 1
    for level in range(array[ARRAY_LEVELS]):
        for d in range(8):
            columns *= loops[level, SPATIAL_X, d]
            rows *= loops[level, SPATIAL_Y, d]
    rows, columns = min(rows, array[ARRAY_ROWS]), min(columns, array[ARRAY_COLUMNS])
    changes = steps
    for t in range(3):
        if keep[0, t]:
            changes = min(changes, tile_changes(t, 0, loops))
    skew = rows + columns - 2
    if fill_drain == EXPOSED:
        return float(changes) * (rows + skew)
    # FAST section 3.1: cells latch the next tile while they work on this one
    return rows + skew + (changes - 1.0) * max(0, rows - steps // changes)


@compiled
def extras_pj(setup: KernelInputs, nest: CountedNest, cycles: float) -> Floats:
    """Energy [L, 3] of what most designs leave out: network, addresses, leakage by level.

    Leakage of a level is spread evenly over the tensors.
    """
    tiled, window = TiledNest(nest.loops, nest.found.cum, nest.found.spread), setup.window
    loops, cum, spread, used = tiled.loops, tiled.cum, tiled.spread, nest.found.used
    levels = loops.shape[0]
    energy = np.empty((levels, 3))
    asked = np.empty(3)
    for t in range(3):
        asked[t] = nest.steps
    for level in range(levels):
        # Timeloop: instances in use leak in every cycle of the run
        leaked = setup.used_leakage_pj[level] * cycles * used[level] / 3
        clusters = min(used[level], setup.instances[level] // setup.cluster[level])
        for t in range(3):
            energy[level, t] = leaked
            if level > setup.top[t]:
                continue
            if setup.multicast[level, t]:
                asked[t] *= distinct_children(t, cum, level, spread, window)
            else:
                asked[t] *= used_children(level, spread)
            if setup.hop_pj[level] + setup.router_pj[level] > 0:
                # what enters a child's tile, whether that child keeps it or not
                stream = nest.steps
                if level:
                    stream = fetched(t, level - 1, loops, spread, cum, window)
                spent = network_pj(setup, tiled, t, level, asked[t], float(stream))
                energy[level, t] += used[level] * spent
            if nest.keep[level, t]:
                # one address for each access of a word, in a cluster as a whole (Timeloop)
                counts = nest.found.counts[level, t]
                made = counts[UPDATES if t == OUTPUTS else READS] + counts[FILLS]
                energy[level, t] += made * clusters * setup.address_pj[level]
                asked[t] = float(fetched(t, level, loops, spread, cum, window))
    return energy


@helper
def counted_by_level(extras: int | None) -> bool:
    """Whether ``setup.extras`` asks for :func:`extras_pj`."""
    if extras is None:
        return False
    return extras & BY_LEVEL != 0


@helper
def add_extras(
    extras: int | None,
    energy: float,
    setup: KernelInputs,
    loops: Ints,
    keep: Flags,
    steps: int,
    found: Workspace,
    cycles: float,
) -> float:
    """Add the energy of :func:`extras_pj`, if ``setup.extras`` asks for it.

    Apart as an argument it decides whether that compiles at all.
    """
    if extras is None:
        return energy
    if extras & BY_LEVEL == 0:
        return energy
    return _with_extras(energy, setup, CountedNest(loops, keep, steps, found), cycles)


@compiled
def _with_extras(energy: float, setup: KernelInputs, nest: CountedNest, cycles: float) -> float:
    extra = extras_pj(setup, nest, cycles)
    for level in range(extra.shape[0]):
        for t in range(3):
            energy += extra[level, t]
    return energy


class DramWork(NamedTuple):
    """What rows and banks of DRAM add to a nest.

    Attributes:
        cycles: that DRAM needs.
        weights_pj, inputs_pj, outputs_pj: energy of opening rows, of words that bursts hold
            besides those that were asked for, and of standby with rows open.
    """

    cycles: float
    weights_pj: float
    inputs_pj: float
    outputs_pj: float


#: assumption: bytes after which addresses go on in the next channel
_SPREAD_BYTES = 256.0


@helper
def counted_by_rows(extras: int | None) -> bool:
    """Whether ``setup.extras`` asks for rows and banks of DRAM."""
    if extras is None:
        return False
    return extras & DRAM_ROWS != 0


@helper
def dram_work(
    extras: int | None, setup: KernelInputs, keep: Flags, found: Workspace, cycles: float
) -> DramWork:
    """What rows and banks of DRAM add, if ``setup.extras`` asks for it.

    Args:
        extras: ``setup.extras``; apart as an argument it decides whether that compiles at all.
        setup, keep: of the candidate.
        found: its counts, tiles, instances in use and ``moves``.
        cycles: that DRAM needs for its counts by its ports.
    """
    if extras is None:
        return DramWork(cycles, 0.0, 0.0, 0.0)
    if extras & DRAM_ROWS == 0:
        return DramWork(cycles, 0.0, 0.0, 0.0)
    return _dram_work(setup, keep, found, cycles)


class _Moved(NamedTuple):
    """What runs of a tensor move.

    Attributes:
        runs, bursts: runs for each word that is asked for, and bursts of a run.
        rows, channels: rows that a run opens in a channel, and channels that it goes on in.
        row_bytes: of a run in one channel, at most a row.
        more_bits: for each word, that nobody asked for and that bursts hold all the same.
    """

    runs: float
    bursts: float
    rows: float
    channels: float
    row_bytes: float
    more_bits: float


@helper
def _dram_work(setup: KernelInputs, keep: Flags, found: Workspace, cycles: float) -> DramWork:
    dram, outermost, counts = setup.dram, (keep.shape[0] - 1) & 15, found.counts
    runs = dram_runs(setup, keep, found, dram[CHANNELS_LAST] > 0.0)
    w = _moved(dram, runs.weights, WEIGHTS)
    i = _moved(dram, runs.inputs, INPUTS)
    o = _moved(dram, runs.outputs, OUTPUTS)
    w_reads = float(counts[outermost, WEIGHTS, READS])
    i_reads = float(counts[outermost, INPUTS, READS])
    o_reads = float(counts[outermost, OUTPUTS, READS])
    # weights and inputs have none
    updates = float(counts[outermost, OUTPUTS, UPDATES])
    w_runs, i_runs, o_runs = w_reads * w.runs, i_reads * i.runs, (o_reads + updates) * o.runs
    w_bursts, i_bursts, o_bursts = w_runs * w.bursts, i_runs * i.bursts, o_runs * o.bursts
    w_rows = w_runs * w.rows * w.channels
    i_rows = i_runs * i.rows * i.channels
    o_rows = o_runs * o.rows * o.channels
    read_pj = dram[READ_BIT_PJ]
    weights_pj = w_rows * dram[OPEN_PJ] + w.more_bits * (w_reads * read_pj)
    inputs_pj = i_rows * dram[OPEN_PJ] + i.more_bits * (i_reads * read_pj)
    outputs_pj = o_reads * read_pj + updates * dram[WRITE_BIT_PJ]
    outputs_pj = o_rows * dram[OPEN_PJ] + o.more_bits * outputs_pj
    total = w_bursts + i_bursts + o_bursts
    a_burst = 1.0 / total
    opened = (w_rows + i_rows + o_rows) * a_burst
    written = updates * o.runs * o.bursts * a_burst
    lengths = w_bursts * w.row_bytes + i_bursts * i.row_bytes + o_bursts * o.row_bytes
    # a tile moves run by run, so what is next belongs to the same run
    slots = slots_per_burst(dram, opened, written, lengths * a_burst, 1.0)
    busy = total * slots * dram[BURST_CYCLES]
    standby = busy * dram[STANDBY_PJ]
    cycles = max(cycles, np.ceil(busy))
    return DramWork(cycles, weights_pj + standby, inputs_pj + standby, outputs_pj + standby)


@helper
def _moved(dram: Floats, runs: Runs, tensor: int) -> _Moved:
    """What runs of a tensor move; one that starts at any multiple of a step in a burst takes
    (length + burst - step) / burst.
    """
    burst_bytes, bits = dram[BURST_BYTES], dram[WORD_BITS + tensor]
    burst_bits, word_bits = int(8 * burst_bytes), int(bits)
    starts = (runs.starts * word_bits) | burst_bits
    taken = 0.125 * (runs.words * word_bits + burst_bits - (starts & -starts))
    taken = max(taken, burst_bytes)
    a_word = 1.0 / runs.words
    # what one channel has of a run
    run = max(min(taken, _SPREAD_BYTES), taken * dram[CHANNEL_SHARE])
    return _Moved(
        runs=a_word,
        bursts=taken * dram[BURSTS_A_BYTE],
        rows=rows_of_run(dram, run),
        channels=max(1.0, min(taken * (1.0 / _SPREAD_BYTES), dram[CHANNELS])),
        row_bytes=min(run, dram[ROW_BYTES]),
        more_bits=a_word * 8.0 * taken - bits,
    )
