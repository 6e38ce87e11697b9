"""The least that it costs to end runs at the next level outside a tile, whatever follows there."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import (
    BOTH_PORTS,
    FILLS,
    READ_PORT,
    READS,
    UPDATES,
    KernelInputs,
)
from archloom.space.workload import P

from .loop_orders import idle
from .noc_hops import passing_pj
from .ports import Ports, Prices
from .stationary_runs import (
    NOTHING,
    Ending,
    Tile,
    entering,
    least_entering,
    may_stay,
    new_tile,
    run_of,
    stretches_of,
    tries,
)
from .subproblem import Subproblem, charge

#: rows of ``Scratch.sums``: of all tensors for one that stays; the least over all that may stay.
#: For pairs of levels, what a run costs if its tensor stays and if it moves, and the least over
#: tiles of the next level.
ALL, LEAST, STAYING, MOVING, NEXT = range(5)


class Scratch(NamedTuple):
    """Room for one tile: its positions ``at[8]`` in a lattice, the tile, its ``extents[1, 8]``,
    units that go with a run (``moved[3]``), and costs by price, ``sums[5, J]``.
    """

    at: Ints
    tile: Tile
    extents: Ints
    moved: Floats
    sums: Floats


class Feed(NamedTuple):
    """What feeds a keeper: its parent, and the words that one sends for a word that enters, but
    for stretches that the tile decides.
    """

    parent: int
    chain: int


@allocating
def new_scratch(_levels: int, prices: int) -> Scratch:
    """Return room for one tile and so many prices, whatever the levels."""
    at, extents = np.empty(8, np.int64), np.zeros((1, 8), np.int64)
    return Scratch(at, new_tile(), extents, np.zeros(3), np.zeros((5, prices)))


@helper
def least_of_keeper(
    setup: KernelInputs,
    subproblem: Subproblem,
    tensor: int,
    ending: Ending,
    feed: Feed,
    least: Floats,
    scratch: Scratch,
) -> float:
    """Least energy of the run of the keeper just inside the level where it ends, whichever loop is
    first there, if all loops outside stand there; ``feed`` says what feeds it. ``scratch.moved`` is
    set to the units beyond ``least[3]`` that go with it.

    Energy and units alike grow with the words that enter: the fewest are the least of all.
    """
    level, outside = ending.outer - 1, scratch.moved
    words = least_entering(setup, subproblem, tensor, ending, scratch.tile)
    stretches = stretches_of(setup, subproblem, tensor, level, scratch.tile.tau)
    sent = words * feed.chain * stretches
    energy, fills, reads, updates = charge(
        setup, subproblem, tensor, level, feed.parent, words, sent
    )
    outside[FILLS] = fills - least[FILLS]
    outside[READS] = reads - least[READS]
    outside[UPDATES] = updates - least[UPDATES]
    return float(energy + words * subproblem.stream_pj[ending.outer, tensor])


@helper
def moved_for(ports: Ports, port: int, level: int, parent: int, units: Floats) -> float:
    """Units through a port for the run of a keeper at a level, of units[3] that fill it, and that
    are read from and updated in its parent.
    """
    at, kind = ports.level[port], ports.kind[port]
    if at == level:
        return 0.0 if kind == READ_PORT else float(units[FILLS])
    if at != parent:
        return 0.0
    if kind == BOTH_PORTS:
        return float(units[READS] + units[UPDATES])
    return float(units[READS] if kind == READ_PORT else units[UPDATES])


@helper
def _add_passing(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    tensor: int,
    ending: Ending,
    scratch: Scratch,
    sums: Floats,
) -> None:
    """Add to sums[J] the least energy of the network over which a tensor passes a level; nothing
    goes through ports.
    """
    least, found, level = 0.0, False, ending.outer - 1
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(tensor, ending.stays, first, scratch.tile.factors, found, False):
            continue
        end = Ending(ending.outer, ending.steps, ending.stays, first)
        words = entering(setup, subproblem, tensor, level, end, scratch.tile)
        energy = passing_pj(subproblem, tensor, ending.outer, float(words), 0.0)
        least = energy if not found else min(least, energy)
        found = True
    for j in range(len(sums)):
        sums[j] += prices.table[j, 0] * least


@helper
def least_of_tensor(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    tensor: int,
    ending: Ending,
    scratch: Scratch,
    row: int,
) -> None:
    """Add what the run of one keeper costs at least, whichever loop is first, to a row of the
    sums.
    """
    level, sums, table = ending.outer - 1, scratch.sums[row], prices.table
    feed = Feed(subproblem.parent[level, tensor], subproblem.chain[level, tensor])
    if feed.parent < 0:
        _add_passing(setup, subproblem, prices, tensor, ending, scratch, sums)
        return
    least = subproblem.least_units[level, tensor]
    energy = least_of_keeper(setup, subproblem, tensor, ending, feed, least, scratch)
    for j in range(len(sums)):
        cost = table[j, 0] * energy
        for port in range(table.shape[1] - 1):
            units = moved_for(prices.ports, port, level, feed.parent, scratch.moved)
            cost += table[j, 1 + port] * units
        sums[j] += cost


@helper
def least_end(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    level: int,
    steps: int,
    scratch: Scratch,
) -> None:
    """Set row :data:`LEAST` of the sums to the least with which the keepers of a level can end
    their runs, whatever is outside. For the level below DRAM it is what they do cost.

    ``steps`` are all steps outside the tile.
    """
    sums, best, found = scratch.sums[ALL], scratch.sums[LEAST], False
    for j in range(len(best)):
        best[j] = 0.0
    for stays in range(4):
        still = idle(stays, scratch.tile.factors)
        if not may_stay(stays, still, found, False):
            continue
        for j in range(len(best)):
            sums[j] = 0.0
        for t in range(3):
            if subproblem.runs[level, t]:
                end = Ending(level + 1, run_of(t, stays, still, steps), stays, NOTHING)
                least_of_tensor(setup, subproblem, prices, t, end, scratch, ALL)
        for j in range(len(best)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True
