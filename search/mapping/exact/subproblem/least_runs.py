"""The least that it costs to end runs at the next level outside a tile, whatever follows there."""

from typing import Final, NamedTuple

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
from archloom.space.workload import INPUTS, K, P

from .loop_orders import idle
from .noc_hops import passing_pj
from .ports import Ports, Prices
from .stationary_runs import (
    NOTHING,
    Ending,
    Tile,
    ends,
    entering,
    least_entering,
    may_stay,
    new_tile,
    run_of,
    stretches_of,
    tries,
)
from .subproblem import Subproblem, charge
from .tile_lattice import Lattice, steps_outside

#: rows of ``Scratch.sums``: of all tensors for one that stays; the least over all that may stay.
#: For pairs of levels, what a run costs if its tensor stays and if it moves, and the least over
#: tiles of the next level.
ALL, LEAST, STAYING, MOVING, NEXT = range(5)


#: places for what runs of inputs cost, by the position of K in the lattice
PLACES: Final = 32


class Memo(NamedTuple):
    """What runs of a level's keepers cost at least, which many tiles have in common.

    Words that enter over a run are those of a tile times its runs, in which each dimension that a
    tensor depends on counts whole, whatever the tile takes of it. So runs of weights and of results
    depend on the steps alone that leave them where they are, and those of inputs on the loops over
    K, P, Q, R and S alone: words of tiles are no products of the latter.

    By tensor, parent, place (0 but for inputs) and what stays (:func:`slot_of`), ``keys[3, L,
    PLACES, 4]`` say of which tiles ``costs[3, L, PLACES, 4, J]`` are.
    """

    keys: Ints
    costs: Floats


class Scratch(NamedTuple):
    """Room for one tile: its positions ``at[8]`` in a lattice, the tile, its ``extents[1, 8]``,
    units that go with a run (``moved[3]``), costs by price, ``sums[5, J]``, and what is known of
    runs.
    """

    at: Ints
    tile: Tile
    extents: Ints
    moved: Floats
    sums: Floats
    memo: Memo


class StepsLeft(NamedTuple):
    """What is left outside a tile of a ``level``: steps, a bit of ``ways`` for each tensor that may
    stay there and for none, and key and place of runs of inputs in a :class:`Memo`.
    """

    level: int
    steps: int
    ways: int
    key: int
    place: int


class Feed(NamedTuple):
    """What feeds a keeper: its parent, and the words that one sends for a word that enters, but
    for stretches that the tile decides.
    """

    parent: int
    chain: int


@allocating
def new_scratch(levels: int, prices: int) -> Scratch:
    """Return room for one tile and so many levels and prices."""
    at, extents = np.empty(8, np.int64), np.zeros((1, 8), np.int64)
    memo = Memo(
        np.empty((3, levels, PLACES, 4), np.int64), np.empty((3, levels, PLACES, 4, prices))
    )
    return Scratch(at, new_tile(), extents, np.zeros(3), np.zeros((5, prices)), memo)


@helper
def forget(lattice: Lattice, memo: Memo) -> None:
    """Forget what runs cost: keepers are those of another level."""
    places = min(lattice.counts[K], PLACES)
    for t in range(3):
        for parent in range(memo.keys.shape[1]):
            for place in range(places if t == INPUTS else 1):
                for slot in range(4):
                    memo.keys[t, parent, place, slot] = 0


@helper
def slot_of(t: int, stays: int) -> int:
    """Place of a run by what stays: weights and results mind only whether it is they."""
    return stays if t == INPUTS else int(stays != t)


@helper
def steps_left(lattice: Lattice, level: int, number: int, scratch: Scratch) -> StepsLeft:
    """Set the loops outside a tile of a level; return how many steps they are, and what may stay
    there.
    """
    steps, ways, factors = 1, 0, scratch.tile.factors
    for d in range(8):
        factor = steps_outside(lattice, d, scratch.at[d])
        factors[d] = factor
        steps *= factor
    for stays in range(4):
        if may_stay(stays, idle(stays, factors), ways > 0, False):
            ways |= 1 << stays
    # where nothing moves inputs, K may not count
    key, position = 0, scratch.at[K]
    if ends(INPUTS, factors):
        key = 1 + number // lattice.places[P] * lattice.counts[K] + position
    return StepsLeft(level, steps, ways, key, min(position, PLACES - 1))


@helper
def is_known(memo: Memo, t: int, parent: int, stays: int, left: StepsLeft, factors: Ints) -> bool:
    """Whether it is known what the run of a keeper costs; it is taken to be from now on."""
    place, key = 0, left.key
    if t == INPUTS:
        place = left.place
    else:
        key = 1 if stays == t else idle(t, factors)
    keys = memo.keys[t, parent, place]
    slot = slot_of(t, stays)
    if key > 0 and keys[slot] == key:
        return True
    keys[slot] = key
    return False


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
    sums: Floats,
) -> None:
    """Add what the run of one keeper costs at least, whichever loop is first, to sums[J]."""
    level, table = ending.outer - 1, prices.table
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
def add_run(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    tensor: int,
    stays: int,
    left: StepsLeft,
    scratch: Scratch,
    row: int,
) -> None:
    """Add what the run of a keeper costs at least to a row of the sums."""
    memo, factors = scratch.memo, scratch.tile.factors
    place = left.place if tensor == INPUTS else 0
    costs = memo.costs[tensor, 0, place, slot_of(tensor, stays)]
    if not is_known(memo, tensor, 0, stays, left, factors):
        for j in range(len(costs)):
            costs[j] = 0.0
        steps = run_of(tensor, stays, idle(stays, factors), left.steps)
        ending = Ending(left.level + 1, steps, stays, NOTHING)
        least_of_tensor(setup, subproblem, prices, tensor, ending, scratch, costs)
    for j in range(len(costs)):
        scratch.sums[row, j] += costs[j]


@helper
def least_end(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    left: StepsLeft,
    scratch: Scratch,
) -> None:
    """Set row :data:`LEAST` of the sums to the least with which the keepers of a level can end
    their runs, whatever is outside. For the level below DRAM it is what they do cost.
    """
    sums, best, found = scratch.sums[ALL], scratch.sums[LEAST], False
    for stays in range(4):
        if not left.ways >> stays & 1:
            continue
        for j in range(len(best)):
            sums[j] = 0.0
        for t in range(3):
            if subproblem.runs[left.level, t]:
                add_run(setup, subproblem, prices, t, stays, left, scratch, ALL)
        for j in range(len(best)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True
