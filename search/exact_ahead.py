"""What all that is outside a tile costs at least, for energy, ports, and prices that mix them.

A *price* is what a picojoule counts, and then what a unit through each port does. Whatever the
prices, costs are local (theorem 3 of docs/exact_mapping.md), so the same bounds hold.
"""

from typing import NamedTuple

import numpy as np

from ..evaluators.compiled import compiled, inlined, part
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from ..space.dims import P
from .exact_closing import NOTHING, end_runs, may_stay, run_of, tries
from .exact_frame import Flags, Frame, prepare
from .exact_hops import wire
from .exact_lattice import (
    Lattice,
    as_guessed,
    first_tile,
    has_room,
    last_along,
    lattice_of,
    next_tile,
)
from .exact_orders import idle
from .exact_ports import Ports, moved


class Ahead(NamedTuple):
    """Least costs by price, level and tile.

    ``here[J, L - 1, size]`` is what ends the runs of the level's keepers at least, inf where the
    tile does not fit; ``ahead`` adds the same of levels outside with tiles that contain it.
    ``beyond[J, size]`` is the least of that over tiles which contain each, outside the innermost
    level that was filled, and ``least[J]`` that of the best path from there. Units count beyond
    what must move anyway.
    """

    here: Float
    ahead: Float
    beyond: Float
    least: Float


class Scratch(NamedTuple):
    """Room for one tile: positions of steps inside, these, loops outside, extents, units, words
    that pass, and sums by price.
    """

    at: Int
    tau: Int
    factors: Int
    extents: Int
    units: Float
    passing: Float
    sums: Float


@inlined
def priced(prices: Float, j: int, energy: float, ports: Ports, units: Float) -> float:
    """Cost of an energy and of units[L, 2], by price j."""
    cost = prices[j, 0] * energy
    for port in range(prices.shape[1] - 1):
        cost += prices[j, 1 + port] * moved(ports, port, units)
    return cost


@inlined
def end_of_run(
    setup: Setup, frame: Frame, real: Int, level: int, tensor: int, stays: int, first: int,
    run: int, room: Scratch,
) -> float:  # fmt: skip
    """Energy of the run of one keeper, if all loops outside stand at the next level; ``room.units``
    is set to what moves through ports.
    """
    for outer in range(room.units.shape[0]):
        room.units[outer, 0] = room.units[outer, 1] = 0.0
    room.passing[tensor] = 0.0
    return end_runs(
        setup, frame, real, tensor, level, level + 1, room.tau, room.factors, run, stays, first,
        room.extents, room.units, room.passing,
    )  # fmt: skip


@inlined
def _least_of_tensor(
    setup: Setup, frame: Frame, real: Int, ports: Ports, prices: Float, level: int, tensor: int,
    stays: int, run: int, room: Scratch,
) -> None:  # fmt: skip
    """Add what the runs of one keeper cost at least to ``sums[0]``; ``sums[1]`` is overwritten."""
    least, sums, found = room.sums[1], room.sums[0], False
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(tensor, stays, first, room.factors, found, False):
            continue
        energy = end_of_run(setup, frame, real, level, tensor, stays, first, run, room)
        for j in range(len(prices)):
            cost = priced(prices, j, energy, ports, room.units)
            if not found or cost < least[j]:
                least[j] = cost
        found = True
    for j in range(len(prices)):
        sums[j] += least[j]


@inlined
def _least_end(
    setup: Setup, frame: Frame, real: Int, ports: Ports, prices: Float, level: int, run: int,
    room: Scratch,
) -> None:  # fmt: skip
    """Set ``sums[2]`` to the least with which the keepers of a level can end their runs, whatever
    is outside. For the level below DRAM it is what they do cost.
    """
    sums, best, found = room.sums[0], room.sums[2], False
    for j in range(len(prices)):
        best[j] = 0.0
    for stays in range(4):
        still = idle(stays, room.factors)
        if not may_stay(stays, still, found, False):
            continue
        for j in range(len(prices)):
            sums[j] = 0.0
        for t in range(3):
            if frame.runs[level, t]:
                _least_of_tensor(
                    setup,
                    frame,
                    real,
                    ports,
                    prices,
                    level,
                    t,
                    stays,
                    run_of(t, stays, still, run),
                    room,
                )
        for j in range(len(prices)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True


@part
def least_outside(lattice: Lattice, ahead: Float, beyond: Float) -> None:
    """Set ``beyond[J, size]`` to the least of ``ahead[J, size]`` over all tiles that contain each
    tile.
    """
    for j in range(len(beyond)):
        for number in range(lattice.size):
            beyond[j, number] = ahead[j, number]
        _lower(lattice, beyond[j])


@inlined
def _lower(lattice: Lattice, beyond: Float) -> None:
    """One dimension after another, so that the inner loop is over neighbours."""
    for d in range(8):
        place, count = lattice.places[d], lattice.counts[d]
        for block in range(0, lattice.size, place * count):
            for position in range(count - 2, -1, -1):
                here, i = block + position * place, 0
                while i < 15 and lattice.covers[d, position, i] >= 0:
                    outside = block + lattice.covers[d, position, i] * place
                    for n in range(place):
                        if beyond[outside + n] < beyond[here + n]:
                            beyond[here + n] = beyond[outside + n]
                    i += 1


@part
def least_inside(lattice: Lattice, inside: Float) -> None:
    """Lower inside[size] to the least over all tiles that each tile contains."""
    for d in range(8):
        place, count = lattice.places[d], lattice.counts[d]
        for block in range(0, lattice.size, place * count):
            for position in range(count):
                here, i = block + position * place, 0
                while i < 15 and lattice.covers[d, position, i] >= 0:
                    outside = block + lattice.covers[d, position, i] * place
                    for n in range(place):
                        if inside[here + n] < inside[outside + n]:
                            inside[outside + n] = inside[here + n]
                    i += 1


@inlined
def _fill_level(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, prices: Float,
    known: Float, rest: float, found: Ahead, level: int, room: Scratch, stop: Flags,
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
                _least_end(setup, frame, real, ports, prices, level, run, room)
                if room.sums[2, 0] + beyond[0, number] < rest:
                    for j in range(len(prices)):
                        found.here[j, level, number] = room.sums[2, j]
                        found.ahead[j, level, number] = room.sums[2, j] + beyond[j, number]
        next_tile(lattice, room.at, room.tau)
        number += 1


@part
def fill(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, prices: Float,
    known: Float, rest: Float, found: Ahead, levels: tuple[int, int], room: Scratch, stop: Flags,
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


@inlined
def scratch(levels: int, many: int) -> Scratch:
    """Return room for one tile and so many prices."""
    return Scratch(
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.zeros((2, 4, 8), np.int64),
        np.zeros((levels, 2)),
        np.zeros(3),
        np.zeros((3, many)),
    )


@compiled
def potentials(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, prices: Float,
    known: Float, rest: Float, innermost: int, stop: Flags,
) -> Ahead:  # fmt: skip
    """Return what is least by each of prices[J, 1 + K], for levels from ``innermost`` on; nothing
    holds once ``stop`` is set.

    Tiles are left out, as if they did not fit, whose cost by the first price, with what is
    outside, is not below rest[L - 1] for their level; so are those for which known[L - 1, size]
    is not.
    """
    levels, size, many = frame.keep.shape[0], lattice.size, len(prices)
    shape = (many, levels - 1, size)
    found = Ahead(np.empty(shape), np.empty(shape), np.zeros((many, size)), np.empty(many))
    fill(
        setup, frame, real, lattice, ports, prices, known, rest, found, (levels - 2, innermost),
        scratch(levels, many), stop,
    )  # fmt: skip
    return found


@compiled
def bare_lattice(setup: Setup, frame: Frame, real: Int) -> Lattice:
    """Prepare a frame and return its tiles."""
    _, _, total = prepare(setup, frame, real)
    wire(setup, frame, real, total)
    return lattice_of(frame.steps, setup.within)
