"""Records of the SIMD kernel: rows of floats, one entry for each candidate of a batch.

Every quantity that depends on the candidate is a row of LANES floats. Records hold the rows, so
that the compiler knows how far apart they are and can turn loops over them into vector
instructions. What does not depend on the candidate stands in :data:`LEVEL` and :data:`PROBLEM`,
which are passed without counting references, unlike a tuple of arrays.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: candidates of a batch: rows of all levels should fit the second cache, of one level the first
LANES: Final = 64

#: rows of ``cycles``
ON_CHIP, OF_DRAM = range(2)

Records = NDArray[np.void]


def _rows(**shapes: tuple[int, ...]) -> np.dtype[np.void]:
    """Return the record type whose fields are rows of LANES floats."""
    return np.dtype([(name, np.float64, (*shape, LANES)) for name, shape in shapes.items()])


#: what a candidate chooses at one level: factors over time, along x and along y; keys of the
#: loops over time, of which the larger is further out; 1 for each tensor that is kept
_NEST: Final = _rows(factors=(3, 8), key=(8,), keep=(3,))

#: Record j is the tile inside level j (that of a MAC for j = 0, the whole problem for j = L) and
#: what all further out does to it: its extents, the rows and columns of inputs it reaches, its
#: words; ``spread`` over how many children of level j, ``moved`` how far by one step of the
#: loops of level j, ``children`` in use, pairs of them that meet the same rows or columns
#: (``doubled``), those with ``distinct`` data; ``used`` instances that hold one; ``turns`` of all
#: loops outside, ``run`` times that each tensor's tile comes anew, of which it is a ``whole`` new
#: input tile and not moved by a ``step`` of rows or columns; ``owners`` output tiles that one
#: instance ever has. Then the words that enter (``enters``) and those never touched (``part``).
_TILE: Final = _rows(
    extent=(8,),
    reach=(2,),
    planes=(),
    words=(3,),
    spread=(8,),
    moved=(8,),
    children=(),
    doubled=(2,),
    distinct=(3,),
    used=(),
    turns=(),
    run=(3,),
    whole=(),
    step=(2,),
    owners=(),
    enters=(3,),
    part=(3,),
)

#: verdict and sums: what is asked of the next level, and the share of it that zeros leave; words
#: (or accesses) of one tensor in one level; traffic of one level; cycles on chip, and of DRAM
TOTAL: Final = _rows(
    status=(),
    steps=(),
    asked=(3,),
    share=(3,),
    reads=(),
    fills=(),
    updates=(),
    read=(),
    written=(),
    energy=(),
    cycles=(2,),
)

#: Kernel inputs of one level. Flags: ``spreads`` if it may unroll, ``crossed`` if along
#: both outputs and kernel of an axis, ``held`` and ``used`` if it may hold a tensor and takes
#: part for it, ``limited`` in capacity and ``ports`` in bandwidth. ``stored`` are the units of
#: capacity that a word takes (0 where it does not count), ``inside`` is 1 where words of the
#: tensor come from further out.
LEVEL: Final = np.dtype(
    [
        ("spreads", np.int64),
        ("crossed", np.int64, 2),
        ("held", np.int64, 3),
        ("used", np.int64, 3),
        ("multicast", np.int64, 3),
        ("limited", np.int64),
        ("ports", np.int64),
        ("fanout", np.float64, 2),
        ("shared", np.float64),
        ("capacity", np.float64, 3),
        ("stored", np.float64, 3),
        ("inside", np.float64, 3),
        ("unit", np.float64, 3),
        ("width", np.float64, 3),
        ("clusters", np.float64),
        ("bandwidth", np.float64, 3),
        ("read_pj", np.float64, 3),
        ("fill_pj", np.float64, 3),
        ("update_pj", np.float64, 3),
    ]
)

#: Kernel inputs of the whole problem: the ``dims`` dimensions that have loops, listed in
#: ``dim``; whether padding is ``cut`` off what DRAM sends; shape of the tables that
#: are looked up by the extents of outputs and kernel along each axis; stride and dilation.
PROBLEM: Final = np.dtype(
    [
        ("dims", np.int64),
        ("dim", np.int64, 8),
        ("cut", np.int64),
        ("zeros", np.int64),
        ("fill_drain", np.int64),
        ("array_levels", np.int64),
        ("table_rows", np.int64, 2),
        ("table_columns", np.int64, 2),
        ("table_begin", np.int64, 2),
        ("window", np.float64, (2, 2)),
        ("served", np.float64, 3),
        ("busy", np.float64),
        ("macs_pj", np.float64),
        ("array", np.float64, 2),
    ]
)


def new_nests(*shape: int) -> Records:
    """Return candidates without loops that keep nothing."""
    nests = np.ones(shape, _NEST)
    nests["keep"] = 0.0
    return nests


def new_tiles(levels: int) -> Any:
    """Return tiles[levels + 1] as loops over a batch expect them: single words, nothing outside."""
    tiles = np.ones(levels + 1, _TILE)
    tiles["doubled"] = tiles["part"] = 0.0
    tiles["step"] = np.inf
    return tiles
