"""What runs cost at least outside all meshes, where a frame's costs depend on extents alone.

Filled once for tiles of all extents, it serves all frames that keep the same there (theorem 5f of
docs/exact_mapping.md).
"""

from typing import NamedTuple

import numpy as np

from ..evaluators.compiled import compiled, inlined, part
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .exact_ahead import least_outside, potentials
from .exact_frame import Flags, Frame
from .exact_lattice import Lattice, next_tile
from .exact_ports import Ports


class Outside(NamedTuple):
    """What runs of keepers from ``level`` on cost at least, outside which nothing is unrolled.

    ``beyond[1 + K, size]`` are for tiles that contain each tile of the lattice, which is that of
    all extents; there is none if ``size`` is 0.
    """

    lattice: Lattice
    level: int
    beyond: Float
    size: int


@part
def _place_of(outside: Outside, d: int, extent: int) -> int:
    """What an extent adds to the number of a tile."""
    lattice, i = outside.lattice, 0
    # the one tile that must hold all steps is no smaller
    while i < lattice.counts[d] - 1 and lattice.values[d, i] < extent:
        i += 1
    return int(i * lattice.places[d])


@part
def outside_at(outside: Outside, inside: Int) -> int:
    """Number of the tile of so many extents."""
    number = 0
    for d in range(8):
        number += _place_of(outside, d, inside[d])
    return number


@inlined
def beyond_tiles(
    outside: Outside, frame: Frame, lattice: Lattice, rows: Int, beyond: Float
) -> None:
    """Set beyond[J, size] to rows[J] of what is known, for each tile of a frame."""
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
        for j in range(len(rows)):
            beyond[j, number] = outside.beyond[rows[j], there]
        next_tile(lattice, at, tau)


@compiled
def outside_of(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, level: int, stop: Flags
) -> Outside:
    """Return what is known from ``level`` on, of a frame that unrolls nothing."""
    levels, many = frame.keep.shape[0], 1 + len(ports.rate)
    known, rest = np.zeros((levels - 1, lattice.size)), np.full(levels - 1, np.inf)
    found = potentials(setup, frame, real, lattice, ports, np.eye(many), known, rest, level, stop)
    least_outside(lattice, found.ahead[:, level], found.beyond)
    return Outside(lattice, level, found.beyond, lattice.size)
