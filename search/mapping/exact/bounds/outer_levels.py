"""What runs cost at least outside all meshes, where a frame's costs depend on extents alone.

Filled once for tiles of all extents, it serves all frames that keep the same there (theorem 5f of
docs/exact_mapping.md).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    Lattice,
    Ports,
    Subproblem,
    next_tile,
    prepare,
    scratch,
)

from .lattice_min import least_outside
from .siblings import fill_siblings, new_siblings, new_tile_scratch, note


class Outside(NamedTuple):
    """What runs of keepers from ``level`` on cost at least, outside which nothing is unrolled.

    For each kind, a way to keep tensors from there on: ``beyond[B, 1 + K, size]`` are for tiles
    that contain each tile of the lattice, which is that of all extents;
    ``here[B, L - 1, 1 + K, size]`` what ends the runs of each level's keepers, inf where the tile
    does not fit. There is none if ``size`` is 0.
    """

    lattice: Lattice
    level: int
    beyond: Floats
    here: Floats
    size: int


@helper
def _place_of(outside: Outside, d: int, extent: int) -> int:
    """What an extent adds to the number of a tile."""
    lattice, i = outside.lattice, 0
    # the one tile that must hold all steps is no smaller
    while i < lattice.counts[d] - 1 and lattice.values[d, i] < extent:
        i += 1
    return int(i * lattice.places[d])


@helper
def outside_at(outside: Outside, inside: Ints) -> int:
    """Number of the tile of so many extents."""
    number = 0
    for d in range(8):
        number += _place_of(outside, d, inside[d])
    return number


@inlined
def numbers_of(outside: Outside, frame: Subproblem, lattice: Lattice, numbers: Ints) -> None:
    """Set numbers[size] to those that the tiles of a frame have among those of all extents."""
    places = np.zeros((8, lattice.values.shape[1]), np.int64)
    for d in range(8):
        for i in range(lattice.counts[d]):
            extent = lattice.values[d, i] * frame.inside[outside.level, d]
            places[d, i] = _place_of(outside, d, extent)
    at, tau = np.zeros(8, np.int64), np.empty(8, np.int64)
    for number in range(lattice.size):
        there = 0
        for d in range(8):
            there += places[d, at[d]]
        numbers[number] = there
        next_tile(lattice, at, tau)


@compiled
def outside_of(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, keeps:
        Flags,
    level: int, stop: Flags,
) -> Outside:  # fmt: skip
    """Return what is known from ``level`` on of keeps[B, L, 3]; the frame is overwritten."""
    kinds, levels, many, size = len(keeps), keeps.shape[1], 1 + len(ports.rate), lattice.size
    siblings = new_siblings(keeps)
    frame.spread[:], frame.guess[:] = 1, 0
    for kind in range(kinds):
        frame.keep[:] = keeps[kind]
        prepare(setup, frame, real)
        note(siblings, frame, kind)
    here = np.full((kinds, levels - 1, many, size), np.inf)
    ends, beyond = np.empty((kinds, many, size)), np.zeros((kinds, many, size))
    rest, room = np.full((kinds, levels - 1), np.inf), scratch(levels, many)
    desk = new_tile_scratch(kinds, levels, many)
    for at in range(levels - 2, level - 1, -1):
        fill_siblings(
            setup, frame, real, lattice, ports, siblings, at, rest, ends, beyond, room, desk, stop
        )
        for kind in range(kinds):
            here[kind, at] = ends[kind]
            least_outside(lattice, beyond[kind], beyond[kind])
    return Outside(lattice, level, beyond, here, size)
