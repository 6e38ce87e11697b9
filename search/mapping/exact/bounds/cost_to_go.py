"""What all that is outside a tile costs at least, for energy, ports, and prices that mix them.

A *price* is what a picojoule counts, and then what a unit through each port does. Whatever the
prices, costs are local (theorem 3 of docs/exact_mapping.md), so the same bounds hold.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    Lattice,
    Ports,
    Scratch,
    Subproblem,
    as_guessed,
    first_tile,
    has_room,
    last_along,
    lattice_of,
    least_end,
    next_tile,
    prepare,
    scratch,
    wire,
)

from .lattice_min import least_outside


class CostToGo(NamedTuple):
    """Least costs by price, level and tile.

    ``here[J, L - 1, size]`` is what ends the runs of the level's keepers at least, inf where the
    tile does not fit; ``ahead`` adds the same of levels outside with tiles that contain it.
    ``beyond[J, size]`` is the least of that over tiles which contain each, outside the innermost
    level that was filled, and ``least[J]`` that of the best path from there. Units count beyond
    what must move anyway.
    """

    here: Floats
    ahead: Floats
    beyond: Floats
    least: Floats


@inlined
def _fill_level(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, prices:
        Floats,
    known: Floats, rest: float, found: CostToGo, level: int, room: Scratch, stop: Flags,
) -> None:  # fmt: skip
    """Fill what runs of a level's keepers cost at least, and with what is outside it."""
    beyond, number = found.beyond, 0
    found.here[:, level], found.ahead[:, level] = np.inf, np.inf
    line = first_tile(lattice, room.at, room.tau)
    while number < lattice.size:
        if stop[0]:
            return
        if max(known[level, number], beyond[0, number]) < rest:
            extents, run = room.extents[0], 1
            for d in range(8):
                extents[0, d] = room.tau[d] * frame.inside[level, d]
            if not has_room(setup, frame, level, extents):
                number = last_along(lattice, line, number, room.at)
            elif as_guessed(setup, frame, level + 1, extents[0]):
                for d in range(8):
                    room.factors[d] = frame.steps[d] // room.tau[d]
                    run *= room.factors[d]
                least_end(setup, frame, real, ports, prices, level, run, room)
                if room.sums[2, 0] + beyond[0, number] < rest:
                    for j in range(len(prices)):
                        found.here[j, level, number] = room.sums[2, j]
                        found.ahead[j, level, number] = room.sums[2, j] + beyond[j, number]
        next_tile(lattice, room.at, room.tau)
        number += 1


@helper
def fill(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, prices:
        Floats,
    known: Floats, rest: Floats, found: CostToGo, levels: tuple[int, int], room: Scratch, stop:
        Flags,
) -> None:  # fmt: skip
    """Fill what is least, from the outermost of two levels to the innermost one.

    ``found.beyond`` is given for the former. Once ``stop`` is set nothing holds.
    """
    for level in range(levels[0], levels[1] - 1, -1):
        if level < levels[0]:
            least_outside(lattice, found.ahead[:, level + 1], found.beyond)
        _fill_level(
            setup, frame, real, lattice, ports, prices, known, rest[level], found, level, room,
            stop,
        )  # fmt: skip
    for j in range(len(prices)):
        found.least[j] = np.inf
        for number in range(lattice.size):
            found.least[j] = min(found.least[j], found.ahead[j, levels[1], number])


@compiled
def potentials(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, prices:
        Floats,
    known: Floats, rest: Floats, innermost: int, stop: Flags,
) -> CostToGo:  # fmt: skip
    """Return what is least by each of prices[J, 1 + K], for levels from ``innermost`` on; nothing
    holds once ``stop`` is set.

    Tiles are left out, as if they did not fit, whose cost by the first price, with what is
    outside, is not below rest[L - 1] for their level; so are those for which known[L - 1, size]
    is not.
    """
    levels, size, many = frame.keep.shape[0], lattice.size, len(prices)
    shape = (many, levels - 1, size)
    found = CostToGo(np.empty(shape), np.empty(shape), np.zeros((many, size)), np.empty(many))
    fill(
        setup, frame, real, lattice, ports, prices, known, rest, found, (levels - 2, innermost),
        scratch(levels, many), stop,
    )  # fmt: skip
    return found


@compiled
def bare_lattice(setup: KernelInputs, frame: Subproblem, real: Ints) -> Lattice:
    """Prepare a frame and return its tiles."""
    _, _, total = prepare(setup, frame, real)
    wire(setup, frame, real, total)
    return lattice_of(frame.steps, setup.within)
