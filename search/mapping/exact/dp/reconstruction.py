"""The mapping that a search has found, out of its labels."""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.spatial import NocLayout, axes_of, set_array_axes
from archloom.search.mapping.exact.subproblem import Lattice, Subproblem, order_of

from .labels import Workspace


def rebuilt(
    setup: KernelInputs,
    subproblem: Subproblem,
    wiring: NocLayout,
    lattice: Lattice,
    space: Workspace,
) -> Ints:
    """Return the loops [L, 4, 8] of the best mapping of a search of a subproblem."""
    spread, keep = subproblem.spread, subproblem.keep
    labels, outcome = space.labels, space.outcome[0]
    tiles, orders, label = [lattice.size - 1], [int(outcome["order"])], int(outcome["label"])
    while label >= 0:
        tiles.append(int(labels.tile[label]))
        orders.append(int(labels.order[label]))
        label = int(labels.parent[label])
    loops = np.ones((len(spread), 4, 8), np.int64)
    inner = np.ones(8, np.int64)
    for level, (tile, order) in enumerate(zip(reversed(tiles), reversed(orders), strict=True)):
        positions = tile // lattice.places % lattice.counts
        tau = lattice.values[np.arange(8), positions]
        loops[level, 0] = tau // inner
        if spread[level].max() > 1:
            loops[level, 1], loops[level, 2] = _axes(setup, level, spread, wiring)
        loops[level, 3] = order_of(setup, level, order)
        inner = tau
    set_array_axes(setup, loops, keep)
    return loops


def alone(setup: KernelInputs, subproblem: Subproblem, wiring: NocLayout) -> Ints:
    """Return the loops [1, 4, 8] of the mapping of a subproblem of one level."""
    spread = subproblem.spread
    loops = np.ones((1, 4, 8), np.int64)
    loops[0, 0], loops[0, 3] = setup.bounds // spread[0], np.arange(8)
    loops[0, 1], loops[0, 2] = _axes(setup, 0, spread, wiring)
    set_array_axes(setup, loops, subproblem.keep)
    return loops


def _axes(setup: KernelInputs, level: int, spread: Ints, wiring: NocLayout) -> tuple[Ints, Ints]:
    """Return factors along x and y."""
    placed = wiring.layouts.get(level)
    return axes_of(setup, level, spread[level]) if placed is None else (placed.x, placed.y)
