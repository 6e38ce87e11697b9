"""Limits and costs of many candidates at once, as the kernel has them for one.

Loops over a batch are straight arithmetic without exits; what does not depend on the candidate is
decided outside them. Operations on energies and cycles have the kernel's order, so that the
results agree in every bit.
"""

from typing import Any, Final

import numpy as np

from archloom.evaluators.jit import helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

from ..data_reuse import SPATIAL_X, SPATIAL_Y, TEMPORAL, X, Y
from ..kernel_inputs import (
    ARRAY_COLUMNS,
    ARRAY_ROWS,
    BOTH_PORTS,
    EXPOSED,
    READ_PORT,
    WRITE_PORT,
)
from .records import LANES, OF_DRAM, ON_CHIP

#: status of a candidate, as the kernel's, in floats
VALID: Final = 0.0
OVER_CAPACITY: Final = 1.0
OVER_FANOUT: Final = 2.0


@helper
def fits_mesh(fanout: Any, nest: Any, total: Any) -> None:
    """Note which candidates unroll further than a mesh, if they broke no limit further in."""
    width, height = fanout[X], fanout[Y]
    for i in range(LANES):
        x, y = nest.factors[SPATIAL_X, 0, i], nest.factors[SPATIAL_Y, 0, i]
        for d in range(1, 8):
            x *= nest.factors[SPATIAL_X, d, i]
            y *= nest.factors[SPATIAL_Y, d, i]
        status = total.status[i]
        wide = (x > width) | (y > height)
        total.status[i] = OVER_FANOUT if wide & (status == VALID) else status


@helper
def fits_capacity(level: Any, nest: Any, tile: Any, total: Any) -> None:
    """Note which candidates keep more than a level holds, if they broke no limit further in."""
    shared = level.shared
    most_w, most_i, most_o = (
        level.capacity[WEIGHTS],
        level.capacity[INPUTS],
        level.capacity[OUTPUTS],
    )
    unit_w, unit_i, unit_o = level.stored[WEIGHTS], level.stored[INPUTS], level.stored[OUTPUTS]
    for i in range(LANES):
        weights = nest.keep[WEIGHTS, i] * tile.words[WEIGHTS, i] * unit_w
        inputs = nest.keep[INPUTS, i] * tile.words[INPUTS, i] * unit_i
        outputs = nest.keep[OUTPUTS, i] * tile.words[OUTPUTS, i] * unit_o
        over = (weights > most_w) | (inputs > most_i) | (outputs > most_o)
        over |= weights + inputs + outputs > shared
        status = total.status[i]
        total.status[i] = OVER_CAPACITY if over & (status == VALID) else status


@helper
def begin(nest: Any, tile: Any, served: Any, total: Any) -> None:
    """Set what the MACs ask for: an operand of each tensor in every step."""
    weights, inputs, outputs = served[WEIGHTS], served[INPUTS], served[OUTPUTS]
    for i in range(LANES):
        steps = tile.turns[i]
        for d in range(8):
            steps *= nest.factors[TEMPORAL, d, i]
        total.steps[i] = steps
        total.asked[WEIGHTS, i], total.asked[INPUTS, i] = steps, steps
        total.asked[OUTPUTS, i] = steps
        total.share[WEIGHTS, i], total.share[INPUTS, i] = weights, inputs
        total.share[OUTPUTS, i] = outputs
        total.read[i], total.written[i] = 0.0, 0.0
        total.energy[i], total.cycles[ON_CHIP, i], total.cycles[OF_DRAM, i] = 0.0, 0.0, 0.0


@helper
def ask(t: int, multicast: bool, inner: Any, total: Any) -> None:
    """Multiply what children ask for by how many of them ask for different words."""
    for i in range(LANES):
        total.asked[t, i] *= inner.distinct[t, i] if multicast else inner.children[i]


@helper
def count(t: int, inside: float, nest: Any, tile: Any, total: Any) -> None:
    """Set reads, fills and updates of a tensor in a level, and what it asks of the next one.

    ``inside`` is 1 where words come from further out. The first touch of a partial sum neither
    reads it nor fetches it.
    """
    updated = 1.0 if t == OUTPUTS else 0.0
    for i in range(LANES):
        content, keep = total.asked[t, i], nest.keep[t, i]
        enters, part = tile.enters[t, i] * inside, tile.part[t, i]
        total.asked[t, i] = enters if keep > 0.0 else content
        total.reads[i] = (content - part) * keep
        total.fills[i] = max(0.0, enters - part) * keep
        total.updates[i] = content * keep * updated


@helper
def load(t: int, unit: float, total: Any) -> None:
    """Add what a tensor reads and writes to the traffic of a level."""
    for i in range(LANES):
        share = total.share[t, i]
        total.read[i] += share * total.reads[i] * unit
        total.written[i] += (total.fills[i] + share * total.updates[i]) * unit


@helper
def wait(bandwidth: Any, place: int, total: Any) -> None:
    """Let ``place`` (:data:`ON_CHIP`, :data:`OF_DRAM`) wait for a level's ports; forget traffic."""
    reads, writes, both = bandwidth[READ_PORT], bandwidth[WRITE_PORT], bandwidth[BOTH_PORTS]
    for i in range(LANES):
        read, written = total.read[i], total.written[i]
        cycles = np.ceil(max(read / reads, written / writes, (read + written) / both))
        total.cycles[place, i] = max(total.cycles[place, i], cycles)
        total.read[i], total.written[i] = 0.0, 0.0


@helper
def widen(width: float, total: Any) -> None:
    """Turn words into accesses of ``width`` words each, the last of them perhaps not full.

    The nearest whole number of accesses is one too few if words are left over.
    """
    inverse = 1.0 / width
    for i in range(LANES):
        reads, fills, updates = total.reads[i], total.fills[i], total.updates[i]
        near = np.rint(reads * inverse)
        total.reads[i] = near + (1.0 if reads > near * width else 0.0)
        near = np.rint(fills * inverse)
        total.fills[i] = near + (1.0 if fills > near * width else 0.0)
        near = np.rint(updates * inverse)
        total.updates[i] = near + (1.0 if updates > near * width else 0.0)


@helper
def spare(t: int, nest: Any, total: Any) -> None:
    """Take off accesses that zeros spare, which the innermost level that keeps t serves."""
    for i in range(LANES):
        share = total.share[t, i]
        total.reads[i] *= share
        total.updates[i] *= share
        total.share[t, i] = 1.0 if nest.keep[t, i] > 0.0 else share


@helper
def price(t: int, level: Any, tile: Any, total: Any) -> None:
    """Add the energy of a tensor's accesses in all active instances (or clusters) of a level."""
    read_pj, fill_pj, update_pj = level.read_pj[t], level.fill_pj[t], level.update_pj[t]
    clusters = level.clusters
    for i in range(LANES):
        each = total.reads[i] * read_pj + total.fills[i] * fill_pj + total.updates[i] * update_pj
        total.energy[i] += min(tile.used[i], clusters) * each


@helper
def finish(macs_pj: float, busy: float, total: Any) -> None:
    """Add the MACs' energy, and give them the cycles they need."""
    for i in range(LANES):
        total.energy[i] += macs_pj
        total.cycles[ON_CHIP, i] = max(total.cycles[ON_CHIP, i], np.ceil(total.steps[i] * busy))


@helper
def fill_array(problem: Any, nests: Any, tile: Any, total: Any) -> None:
    """Add the cycles in which the array of a PE fills and drains.

    As :func:`archloom.evaluators.loopnest.optional_effects.array_cycles`.

    ``tile`` is the one that the innermost level holds.
    """
    height, width = problem.array[ARRAY_ROWS], problem.array[ARRAY_COLUMNS]
    exposed = problem.fill_drain == EXPOSED
    for i in range(LANES):
        rows, columns = 1.0, 1.0
        for level in range(problem.array_levels):
            for d in range(8):
                columns *= nests[level].factors[SPATIAL_X, d, i]
                rows *= nests[level].factors[SPATIAL_Y, d, i]
        rows, columns = min(rows, height), min(columns, width)
        steps = total.steps[i]
        changes = steps
        for t in range(3):
            changes = min(changes, tile.run[t, i] if nests[0].keep[t, i] > 0.0 else steps)
        skew = rows + columns - 2.0
        if exposed:
            total.cycles[ON_CHIP, i] += changes * (rows + skew)
        else:
            latching = max(0.0, rows - np.floor(steps / changes))
            total.cycles[ON_CHIP, i] += rows + skew + (changes - 1.0) * latching
