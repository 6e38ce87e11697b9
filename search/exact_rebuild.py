"""The mapping that a walk has found, out of its labels."""

import numpy as np

from ..evaluators.setup import Setup
from ..evaluators.words import Int
from .exact_labels import Labels
from .exact_lattice import Lattice
from .exact_orders import order_of
from .exact_spread import axes_of
from .exact_wiring import Wiring


def rebuilt(
    setup: Setup, spread: Int, wiring: Wiring, lattice: Lattice, labels: Labels, tally: Int
) -> Int:
    """Return the loops [L, 4, 8] of the best mapping of a walk that unrolls ``spread[L, 8]``."""
    tiles, choices = [lattice.size - 1], [int(tally[1])]
    label = int(tally[0])
    while label >= 0:
        tiles.append(int(labels.tile[label]))
        choices.append(int(labels.how[label]))
        label = int(labels.parent[label])
    loops = np.ones((len(spread), 4, 8), np.int64)
    inner = np.ones(8, np.int64)
    for level, (tile, how) in enumerate(zip(reversed(tiles), reversed(choices), strict=True)):
        positions = tile // lattice.places % lattice.counts
        tau = lattice.values[np.arange(8), positions]
        loops[level, 0] = tau // inner
        loops[level, 1], loops[level, 2] = _axes(setup, level, spread, wiring)
        loops[level, 3] = order_of(setup, level, how)
        inner = tau
    return loops


def alone(setup: Setup, spread: Int, wiring: Wiring) -> Int:
    """Return the loops [1, 4, 8] of the mapping of one level that unrolls ``spread[1, 8]``."""
    loops = np.ones((1, 4, 8), np.int64)
    loops[0, 0], loops[0, 3] = setup.bounds // spread[0], np.arange(8)
    loops[0, 1], loops[0, 2] = _axes(setup, 0, spread, wiring)
    return loops


def _axes(setup: Setup, level: int, spread: Int, wiring: Wiring) -> tuple[Int, Int]:
    """Return factors along x and y."""
    placed = wiring.layouts.get(level)
    return axes_of(setup, level, spread[level]) if placed is None else (placed.x, placed.y)
