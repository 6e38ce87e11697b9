"""Effects that are off in most designs: array fill and drain, network, addresses, used leakage."""

import numpy as np

from archloom.evaluators.jit import compiled, helper
from archloom.space.workload import OUTPUTS

from ..arrays import Flags, Floats, Ints
from .data_reuse import (
    SPATIAL_X,
    SPATIAL_Y,
    TiledNest,
    distinct_children,
    fetched,
    tile_changes,
    used_children,
)
from .kernel_inputs import (
    ARRAY_COLUMNS,
    ARRAY_LEVELS,
    ARRAY_ROWS,
    EXPOSED,
    FILLS,
    READS,
    UPDATES,
    CountedNest,
    KernelInputs,
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
def add_extras(
    extras: int | None, energy: float, setup: KernelInputs, nest: CountedNest, cycles: float
) -> float:
    """Add the energy of :func:`extras_pj`, if ``setup.extras`` asks for it.

    Apart as an argument it decides whether that compiles at all.
    """
    if extras is None:
        return energy
    return _with_extras(energy, setup, nest, cycles)


@compiled
def _with_extras(energy: float, setup: KernelInputs, nest: CountedNest, cycles: float) -> float:
    extra = extras_pj(setup, nest, cycles)
    for level in range(extra.shape[0]):
        for t in range(3):
            energy += extra[level, t]
    return energy
