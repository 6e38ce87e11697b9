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
from .exact_frame import Flags, Frame, leakage, prepare, step_cycles
from .exact_hops import wire
from .exact_lattice import Lattice, fits, lattice_of, tile_at
from .exact_orders import idle
from .exact_ports import Ports, moved, open_ports, room_of


class Ahead(NamedTuple):
    """Least costs by price, level and tile.

    ``here[J, L - 1, size]`` is what ends the runs of the level's keepers at least, inf where the
    tile does not fit; ``ahead`` adds the same of levels outside with tiles that contain it.
    ``beyond[J, size]`` is the least of that over tiles which contain each, and ``least[J]`` that
    of the best path, at the innermost level that was filled. Units count beyond what must move
    anyway.
    """

    here: Float
    ahead: Float
    beyond: Float
    least: Float


class Scratch(NamedTuple):
    """Room for one tile: steps inside, loops outside, extents, units, words that pass, and sums
    by price.
    """

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
        for outer in range(room.units.shape[0]):
            room.units[outer, 0] = room.units[outer, 1] = 0.0
        room.passing[tensor] = 0.0
        energy = end_runs(
            setup, frame, real, tensor, level, level + 1, room.tau, room.factors, run, stays,
            first, room.extents, room.units, room.passing,
        )  # fmt: skip
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


@inlined
def _least_outside(lattice: Lattice, ahead: Float, beyond: Float, stop: Flags) -> None:
    """Set ``beyond[size]`` to the least of ``ahead`` over all tiles that contain each tile."""
    for number in range(lattice.size - 1, -1, -1):
        if stop[0]:
            return
        least = ahead[number]
        for d in range(8):
            place = lattice.places[d]
            position = number // place % lattice.counts[d]
            i = 0
            while i < 15 and lattice.covers[d, position, i] >= 0:
                outside = number + (lattice.covers[d, position, i] - position) * place
                least = min(least, beyond[outside])
                i += 1
        beyond[number] = least


@part
def _fill(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, prices: Float,
    found: Ahead, innermost: int, room: Scratch, stop: Flags,
) -> None:  # fmt: skip
    """Fill what is least; once ``stop`` is set it means nothing."""
    levels, size, beyond = frame.keep.shape[0], lattice.size, found.beyond
    for j in range(len(prices)):
        for number in range(size):
            beyond[j, number] = 0.0
    for level in range(levels - 2, innermost - 1, -1):
        for number in range(size):
            if stop[0]:
                return
            tile_at(lattice, number, room.tau)
            run, fit = 1, beyond[0, number] < np.inf
            if fit and fits(setup, frame, level, room.tau, room.extents[0]):
                for d in range(8):
                    room.factors[d] = frame.steps[d] // room.tau[d]
                    run *= room.factors[d]
                _least_end(setup, frame, real, ports, prices, level, run, room)
            else:
                for j in range(len(prices)):
                    room.sums[2, j] = np.inf
            for j in range(len(prices)):
                found.here[j, level, number] = room.sums[2, j]
                found.ahead[j, level, number] = room.sums[2, j] + beyond[j, number]
        for j in range(len(prices)):
            _least_outside(lattice, found.ahead[j, level], beyond[j], stop)
    for j in range(len(prices)):
        found.least[j] = beyond[j, 0]


@compiled
def potentials(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, prices: Float,
    innermost: int, stop: Flags,
) -> Ahead:  # fmt: skip
    """Return what is least by each of prices[J, 1 + K], for levels from ``innermost`` on; nothing
    holds once ``stop`` is set.
    """
    levels, size, many = frame.keep.shape[0], lattice.size, len(prices)
    room = Scratch(
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.zeros((2, 4, 8), np.int64),
        np.zeros((levels, 2)),
        np.zeros(3),
        np.zeros((3, many)),
    )
    shape = (many, levels - 1, size)
    found = Ahead(np.empty(shape), np.empty(shape), np.empty((many, size)), np.empty(many))
    _fill(setup, frame, real, lattice, ports, prices, found, innermost, room, stop)
    return found


@compiled
def outline(
    setup: Setup, frame: Frame, real: Int, ports: Ports, score: float, stop: Flags
) -> tuple[Lattice, Ahead, Float, Ports]:
    """Prepare a frame and bound what its mappings cost; nothing holds once ``stop`` is set.

    Returns the tiles, what is least in energy and at each port that can decide cycles of mappings
    with less than a score (ln), and: energy that all mappings share, what fills of keepers cost at
    least beside it, cycles that all take, and leakage in a cycle; then those ports.
    """
    fixed, least, total = prepare(setup, frame, real)
    shared, hops = wire(setup, frame, real, total)
    lattice = lattice_of(frame.steps, setup.within)
    cycles, leaked = step_cycles(setup, total), leakage(setup, frame)
    for port in range(len(ports.rate)):
        needed = moved(ports, port, frame.units) / ports.rate[port]
        cycles = max(cycles, np.ceil((1 - 1e-11) * needed))
    facts = np.array([fixed + shared, least + hops, cycles, leaked])
    most = room_of(setup, score, cycles, leaked + setup.leakage_pj) * (1 + 1e-9)
    some = open_ports(setup, frame, ports, most - facts[0] - facts[1], cycles)
    found = potentials(setup, frame, real, lattice, some, np.eye(1 + len(some.rate)), 0, stop)
    return lattice, found, facts, some


@compiled
def bare_lattice(setup: Setup, frame: Frame, real: Int) -> Lattice:
    """Prepare a frame and return its tiles."""
    _, _, total = prepare(setup, frame, real)
    wire(setup, frame, real, total)
    return lattice_of(frame.steps, setup.within)
