"""What runs cost at least outside all meshes, where a subproblem's costs depend on extents alone.

Filled once for tiles of all extents, it serves all subproblems that keep the same there (theorem 5f
of docs/explanation/mapping_proofs.md).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, compiled, copy_table, fill_row, helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    Lattice,
    Ports,
    Subproblem,
    next_tile,
    prepare,
)

from .lattice_min import least_outside
from .siblings import SiblingCosts, copy_keepers, fill_siblings, new_siblings, new_tile_scratch


class OuterLevels(NamedTuple):
    """What runs of keepers from ``level`` on cost at least, outside which nothing is unrolled.

    For each kind, a way to keep tensors from there on, in energy and at each of K ports:
    ``outside[B, 1 + K, size]`` are for tiles that contain each tile of the lattice, which is that
    of all extents; ``own[B, L - 1, 1 + K, size]`` what ends the runs of each level's keepers, inf
    where the tile does not fit. There is none if ``size`` is 0.
    """

    lattice: Lattice
    ports: Ports
    level: int
    outside: Floats
    own: Floats
    size: int


@helper
def _place_of(outer: OuterLevels, d: int, extent: int) -> int:
    """What an extent adds to the number of a tile."""
    lattice, i = outer.lattice, 0
    # the one tile that must hold all steps is no smaller
    while i < lattice.counts[d] - 1 and lattice.values[d, i] < extent:
        i += 1
    return int(i * lattice.places[d])


@helper
def number_at(outer: OuterLevels, inside: Ints) -> int:
    """Number of the tile of so many extents."""
    number = 0
    for d in range(8):
        number += _place_of(outer, d, inside[d])
    return number


@allocating
def numbers_of(outer: OuterLevels, subproblem: Subproblem, lattice: Lattice, numbers: Ints) -> None:
    """Set numbers[size] to those that a subproblem's tiles have among those of all extents."""
    places = np.zeros((8, lattice.values.shape[1]), np.int64)
    for d in range(8):
        for i in range(lattice.counts[d]):
            extent = lattice.values[d, i] * subproblem.inside[outer.level, d]
            places[d, i] = _place_of(outer, d, extent)
    at, tau = np.zeros(8, np.int64), np.empty(8, np.int64)
    for number in range(lattice.size):
        there = 0
        for d in range(8):
            there += places[d, at[d]]
        numbers[number] = there
        next_tile(lattice, at, tau)


@compiled(brief=True)
def outer_levels_of(
    setup: KernelInputs,
    subproblem: Subproblem,
    lattice: Lattice,
    ports: Ports,
    keeps: Flags,
    level: int,
    stop: Flags,
) -> OuterLevels:
    """Return what is known from ``level`` on of keeps[B, L, 3]; the subproblem is overwritten."""
    kinds, levels, many, size = len(keeps), keeps.shape[1], 1 + len(ports.rate), lattice.size
    siblings = new_siblings(keeps)
    fill_row(subproblem.spread, 1)
    fill_row(subproblem.guess, 0)
    for kind in range(kinds):
        copy_table(subproblem.keep, keeps[kind])
        prepare(setup, subproblem)
        copy_keepers(siblings, subproblem, kind)
    own = np.full((kinds, levels - 1, many, size), np.inf)
    costs = SiblingCosts(
        lattice,
        ports,
        np.full((kinds, levels - 1), np.inf),
        np.empty((kinds, many, size)),
        np.zeros((kinds, many, size)),
    )
    scratch = new_tile_scratch(kinds, levels, many)
    for at in range(levels - 2, level - 1, -1):
        fill_siblings(setup, subproblem, siblings, costs, at, scratch, stop)
        for kind in range(kinds):
            copy_table(own[kind, at], costs.own[kind])
            least_outside(lattice, costs.outside[kind], costs.outside[kind])
    return OuterLevels(lattice, ports, level, costs.outside, own, size)
