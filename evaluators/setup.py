"""What the kernel reads about a problem: limits, prices and switches as arrays."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .words import Float, Int

READS, FILLS, UPDATES = range(3)

#: most storage levels that the scratch space of the kernel is laid out for
MAX_LEVELS: Final = 8

#: values of ``Setup.fill_drain``: nothing, hidden where cells are double-buffered, or all of it
NO_FILL, OVERLAPPED, EXPOSED = range(3)


class Setup(NamedTuple):
    """Everything about a problem that does not depend on the candidate.

    L levels, 3 tensors, 8 dimensions. ``window`` is (stride, dilation, padding, input size)
    for rows, then columns. ``top[t]`` is the outermost level that takes part for the tensor:
    DRAM, or the buffer for an operand that lives there whole. Words of level and tensor take
    ``unit[L, 3]`` units of storage and bandwidth (1 where all words are as wide);
    ``capacity[L, 3]`` holds the units of private buffers, ``shared[L]`` those of shared ones
    (-1 where there is no limit). ``bandwidth[L, 3]`` are units per cycle of reads, of writes and
    of both together. ``width[L, 3]`` are words per access, ``cluster[L]`` instances that are
    accessed together, ``instances[L]`` all there are. ``across[L, 2, 8]`` orders spatial loops,
    which matters for hops alone. ``served[3]`` is the share of the MACs' accesses to each tensor
    that zeros leave, ``busy`` that of their cycles, ``working`` that of their energy.
    ``array`` are the rows and columns of a PE, whose fill and drain is ``fill_drain``, and the
    number of levels in it. ``extras`` is 1 if anything has a price that
    :func:`archloom.evaluators.extras.extras_pj` counts, else None: a type of its own, for which
    kernels compile without all of that. ``weights`` are the exponents of energy and of latency
    in the objective.

    Constraints: ``fixed[L, 2, 8]`` are factors that are unrolled in every mapping, where
    ``spatial`` is 0 (1 where there is none); ``both_axes`` is 0 if no dimension may be unrolled
    along x and y of one mesh. ``ranks[L, A, 8]`` are up to A ways to order the loops of a level:
    those of lower rank stand inside those of higher rank; rows after the last way are -1, and A is
    0 if all orders are permitted. Dimensions of ``within[8]`` have all their loops over time in
    the innermost level.
    """

    bounds: Int
    window: Int
    allowed: NDArray[np.uint8]
    optional: NDArray[np.uint8]
    fanout: Int
    spatial: NDArray[np.uint8]
    shared: Int
    capacity: Int
    unit: Int
    top: Int
    staged: NDArray[np.uint8]
    multicast: NDArray[np.uint8]
    across: Int
    read_pj: Float
    fill_pj: Float
    update_pj: Float
    hop_pj: Float
    router_pj: Float
    address_pj: Float
    used_leakage_pj: Float
    width: Int
    cluster: Int
    instances: Int
    bandwidth: Float
    served: Float
    working: float
    busy: float
    mac_pj: float
    leakage_pj: float
    extras: int | None
    fill_drain: int
    array: Int
    weights: Float
    fixed: Int
    both_axes: int
    ranks: Int
    within: NDArray[np.uint8]


def unlimited(bounds: Int, window: Int, levels: int) -> Setup:
    """Return a setup in which everything fits and nothing costs: what others start from."""
    flags, words = np.ones((levels, 3), np.uint8), np.ones((levels, 3), np.int64)
    free = np.zeros((levels, 3))
    return Setup(
        bounds=bounds,
        window=window,
        allowed=flags,
        optional=flags,
        fanout=np.full((levels, 2), np.iinfo(np.int64).max),
        spatial=np.ones((levels, 2, 8), np.uint8),
        shared=np.full(levels, -1, np.int64),
        capacity=np.full((levels, 3), -1, np.int64),
        unit=words,
        top=np.full(3, levels - 1, np.int64),
        staged=np.zeros(3, np.uint8),
        multicast=flags,
        across=np.tile(np.arange(8), (levels, 2, 1)),
        read_pj=free,
        fill_pj=free,
        update_pj=free,
        hop_pj=np.zeros(levels),
        router_pj=np.zeros(levels),
        address_pj=np.zeros(levels),
        used_leakage_pj=np.zeros(levels),
        width=words,
        cluster=np.ones(levels, np.int64),
        instances=np.full(levels, np.iinfo(np.int64).max),
        bandwidth=np.full((levels, 3), np.inf),
        served=np.ones(3),
        working=1.0,
        busy=1.0,
        mac_pj=0.0,
        leakage_pj=0.0,
        extras=None,
        fill_drain=NO_FILL,
        array=np.ones(3, np.int64),
        weights=np.ones(2),
        fixed=np.ones((levels, 2, 8), np.int64),
        both_axes=1,
        ranks=np.zeros((levels, 0, 8), np.int64),
        within=np.zeros(8, np.uint8),
    )
