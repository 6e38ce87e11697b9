"""What ends the runs of a level's keepers, if all loops outside stand at the next level."""

from typing import NamedTuple

import numpy as np

from ..evaluators.compiled import inlined
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from ..space.dims import P
from .exact_closing import NOTHING, end_runs, may_stay, run_of, tries
from .exact_frame import Frame
from .exact_orders import idle
from .exact_ports import Ports, moved


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
    cost = float(prices[j, 0] * energy)
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
    energy: float = end_runs(
        setup, frame, real, tensor, level, level + 1, room.tau, room.factors, run, stays, first,
        room.extents, room.units, room.passing,
    )  # fmt: skip
    return energy


@inlined
def least_of_tensor(
    setup: Setup, frame: Frame, real: Int, ports: Ports, prices: Float, level: int, tensor: int,
    stays: int, run: int, room: Scratch, to: int,
) -> None:  # fmt: skip
    """Add what the runs of one keeper cost at least to ``sums[to]``; ``sums[1]`` is overwritten."""
    least, sums, found = room.sums[1], room.sums[to], False
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
def least_end(
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
                least_of_tensor(
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
                    0,
                )
        for j in range(len(prices)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True


@inlined
def scratch(levels: int, many: int) -> Scratch:
    """Return room for one tile and so many prices."""
    return Scratch(
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.zeros((3, 4, 8), np.int64),
        np.zeros((levels, 2)),
        np.zeros(3),
        np.zeros((6, many)),
    )
