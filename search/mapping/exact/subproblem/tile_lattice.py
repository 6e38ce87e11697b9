"""Tiles of a level as a lattice: the steps inside them, which divide all steps over time.

A tile has the number ``sum(place[d] * i)``, with ``i`` the position of ``tau[d]`` among the
divisors of ``steps[d]``, ascending. A tile that contains another has a larger number.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import KernelInputs, tile_words
from archloom.space.workload import P, Q, R, S

from .noc_hops import shares_as_coded
from .subproblem import Subproblem, meets, starts


class Lattice(NamedTuple):
    """Tiles between one step and all of them.

    ``values[8, n]`` are divisors, ``counts[8]`` how many, ``places[8]`` their weights in a tile's
    number, ``multiples[8, n, n]`` positions of the multiples of each, ``many[8, n]`` how many,
    ``covers[8, n, 15]`` positions of its multiples by a single prime, -1 after the last.
    ``size`` is the number of tiles.
    """

    values: Ints
    counts: Ints
    places: Ints
    multiples: Ints
    many: Ints
    covers: Ints
    size: int


@compiled(brief=True)
def lattice_of(steps: Ints, within: Flags) -> Lattice:
    """Return the tiles of so many steps; those hold all steps of dimensions ``within[8]``."""
    counts, widest, size = np.zeros(8, np.int64), 1, 1
    places = np.ones(8, np.int64)
    for d in range(8):
        # the one tile that holds all steps
        counts[d], i = within[d], 1
        while not within[d] and i * i <= steps[d]:
            if steps[d] % i == 0:
                counts[d] += 1 if i * i == steps[d] else 2
            i += 1
        places[d] = size
        size *= counts[d]
        widest = max(widest, counts[d])
    values = np.ones((8, widest), np.int64)
    multiples = np.zeros((8, widest, widest), np.int64)
    many = np.zeros((8, widest), np.int64)
    covers = np.full((8, widest, 15), -1)
    for d in range(8):
        low, high, i = 0, counts[d] - 1, 1
        values[d, 0] = steps[d]
        while not within[d] and low <= high:
            if steps[d] % i == 0:
                values[d, low], values[d, high] = i, steps[d] // i
                low, high = low + 1, high - 1
            i += 1
        for a in range(counts[d]):
            found = 0
            for b in range(a, counts[d]):
                ratio = values[d, b] // values[d, a]
                if values[d, b] % values[d, a] == 0:
                    multiples[d, a, many[d, a]] = b
                    many[d, a] += 1
                    if _prime(ratio):
                        covers[d, a, found] = b
                        found += 1
    return Lattice(values, counts, places, multiples, many, covers, size)


@helper
def _prime(number: int) -> bool:
    i = 2
    while i * i <= number:
        if number % i == 0:
            return False
        i += 1
    return number > 1


@helper
def tile_at(lattice: Lattice, number: int, tau: Ints) -> None:
    """Set the steps inside the tile of a number."""
    for d in range(8):
        position = number // lattice.places[d] % lattice.counts[d]
        tau[d] = lattice.values[d, position]


@helper
def first_tile(lattice: Lattice, at: Ints, tau: Ints) -> int:
    """Go to the tile of number 0; return the first dimension with a choice: tiles along it are
    neighbours.
    """
    line = 0
    while line < 7 and lattice.counts[line] == 1:
        line += 1
    for d in range(8):
        at[d], tau[d] = 0, lattice.values[d, 0]
    return line


@helper
def last_along(lattice: Lattice, line: int, number: int, at: Ints) -> int:
    """Go on to the last of the neighbours along a dimension, for :func:`next_tile` to go on from;
    return its number.
    """
    number += lattice.counts[line] - 1 - at[line]
    at[line] = lattice.counts[line] - 1
    return number


@helper
def next_tile(lattice: Lattice, at: Ints, tau: Ints) -> None:
    """Go on to the tile of the next number: positions at[8] of its steps inside, tau[8]."""
    for d in range(8):
        at[d] += 1
        if at[d] == lattice.counts[d]:
            at[d] = 0
        tau[d] = lattice.values[d, at[d]]
        if at[d] > 0:
            return


@helper
def steps_outside(lattice: Lattice, d: int, position: int) -> int:
    """Steps of a dimension outside the tile at a position: divisors come in pairs."""
    last = lattice.counts[d] - 1
    # the one tile holds all steps
    return int(lattice.values[d, last - position]) if last > 0 else 1


@helper
def has_room(setup: KernelInputs, subproblem: Subproblem, level: int, extents: Ints) -> bool:
    """Whether a level holds a tile of extents[1, 8]; if not, it holds no tile that contains it."""
    used = 0
    for t in range(3):
        top = setup.top[t]
        if subproblem.keep[level, t] and (level < top or (level == top and not setup.staged[t])):
            units = tile_words(t, extents, 0, setup.window) * setup.unit[level, t]
            used += units
            if 0 <= setup.capacity[level, t] < units:
                return False
    return not 0 <= setup.shared[level] < used


@helper
def as_guessed(setup: KernelInputs, subproblem: Subproblem, outer: int, e: Ints) -> bool:
    """Whether tiles of extents e[8] start as many stretches of inputs as was guessed, and share
    them so, if they are those of the children of a level.
    """
    if outer >= subproblem.keep.shape[0] or subproblem.guess[outer] == 0:
        return True
    if not meets(setup, subproblem.spread, outer):
        return True
    if starts(setup, subproblem.spread, outer, e[P], e[Q], e[R], e[S]) != subproblem.guess[outer]:
        return False
    return shares_as_coded(setup, subproblem, outer, e)
