"""Effects that are off in most designs: array fill and drain, network, addresses, used leakage."""

import numpy as np
from numpy.typing import NDArray

from ..space.dims import OUTPUTS
from .compiled import compiled, part
from .noc import network_pj
from .setup import EXPOSED, FILLS, READS, UPDATES, Setup
from .words import (
    SPATIAL_X,
    SPATIAL_Y,
    Float,
    Int,
    distinct_children,
    fetched,
    tile_changes,
    used_children,
)


@part
def array_cycles(
    fill_drain: int, array: Int, loops: Int, keep: NDArray[np.uint8], steps: int
) -> float:
    """Cycles in which the array of a PE fills, drains or loads what it holds still.

    An array of r rows and c columns in use takes r to load a tile, r + c - 2 from the first to
    the last cell (SCALE-Sim, Samajdar et al., ISPASS 2020: 2 r + c + T - 2 for T steps). The
    tensor that changes least often in the innermost level is the one that stands still.
    """
    rows, columns = 1, 1
    for level in range(array[2]):
        for d in range(8):
            columns *= loops[level, SPATIAL_X, d]
            rows *= loops[level, SPATIAL_Y, d]
    rows, columns = min(rows, array[0]), min(columns, array[1])
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
def extras_pj(
    setup: Setup,
    loops: Int,
    keep: NDArray[np.uint8],
    steps: int,
    cum: Int,
    spread: Int,
    counts: Int,
    used: Int,
    cycles: float,
) -> Float:
    """Energy [L, 3] of what most designs leave out: network, addresses, leakage by level.

    Leakage of a level is spread evenly over the tensors.
    """
    levels, window = loops.shape[0], setup.window
    energy = np.empty((levels, 3))
    asked = np.empty(3)
    for t in range(3):
        asked[t] = steps
    for level in range(levels):
        # Timeloop: instances in use leak in every cycle of the run
        leaked = setup.used_leakage_pj[level] * cycles * used[level] / 3
        hop_pj, router_pj = setup.hop_pj[level], setup.router_pj[level]
        clusters = min(used[level], setup.instances[level] // setup.cluster[level])
        for t in range(3):
            energy[level, t] = leaked
            if level > setup.top[t]:
                continue
            multicast = bool(setup.multicast[level, t])
            if multicast:
                asked[t] *= distinct_children(t, cum, level, spread, window)
            else:
                asked[t] *= used_children(level, spread)
            if hop_pj + router_pj > 0:
                # what enters a child's tile, whether that child keeps it or not
                stream = fetched(t, level - 1, loops, spread, cum, window) if level else steps
                energy[level, t] += used[level] * network_pj(
                    t,
                    loops,
                    level,
                    setup.across,
                    cum,
                    spread,
                    window,
                    setup.fanout,
                    multicast,
                    asked[t],
                    float(stream),
                    hop_pj,
                    router_pj,
                )
            if keep[level, t]:
                # one address for each access of a word, in a cluster as a whole (Timeloop)
                made = counts[level, t, UPDATES if t == OUTPUTS else READS]
                made += counts[level, t, FILLS]
                energy[level, t] += made * clusters * setup.address_pj[level]
                asked[t] = float(fetched(t, level, loops, spread, cum, window))
    return energy


@part
def add_extras(
    extras: int | None,
    energy: float,
    setup: Setup,
    loops: Int,
    keep: NDArray[np.uint8],
    steps: int,
    cum: Int,
    spread: Int,
    counts: Int,
    used: Int,
    cycles: float,
) -> float:
    """Add the energy of :func:`extras_pj`, if ``setup.extras`` asks for it.

    Apart as an argument it decides whether that compiles at all.
    """
    if extras is None:
        return energy
    return _with_extras(energy, setup, loops, keep, steps, cum, spread, counts, used, cycles)


@compiled
def _with_extras(
    energy: float,
    setup: Setup,
    loops: Int,
    keep: NDArray[np.uint8],
    steps: int,
    cum: Int,
    spread: Int,
    counts: Int,
    used: Int,
    cycles: float,
) -> float:
    extra = extras_pj(setup, loops, keep, steps, cum, spread, counts, used, cycles)
    for level in range(extra.shape[0]):
        for t in range(3):
            energy += extra[level, t]
    return energy
