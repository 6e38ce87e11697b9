"""Arrays that the kernel reads about a problem, and those in which it leaves what it finds."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import compiled
from archloom.evaluators.technology.dram import FIGURES

from ..arrays import Flags, Floats, Ints

#: columns of ``counts[L, 3, 3]``
READS, FILLS, UPDATES = range(3)

#: columns of ``bandwidth[L, 3]``: ports that read, ports that write, and what both share
READ_PORT, WRITE_PORT, BOTH_PORTS = range(3)

#: entries of ``array[3]``
ARRAY_ROWS, ARRAY_COLUMNS, ARRAY_LEVELS = range(3)

#: exponents in the objective, entries of ``weights[2]``
OF_ENERGY, OF_LATENCY = range(2)

#: most storage levels of a hardware; scratch space of searches is laid out for so many
MAX_LEVELS: Final = 8

#: what of filling and draining an array counts: nothing, what cells that are double-buffered do not
#: hide, or all of it
NO_FILL, OVERLAPPED, EXPOSED = range(3)

#: bits of ``extras``: network, addresses and leakage by level; rows and banks of DRAM
BY_LEVEL, DRAM_ROWS = 1, 2

#: entries of ``dram[23]`` after the figures of a channel: share of a channel, bits of a word of
#: each tensor, cycles of a burst on all channels together with refresh, energy of opening a row,
#: for each tensor of a cycle of standby with open rows above one with closed ones, of a bit that
#: is read and of one that is written, whether channels are the innermost dimension,
#: and how many channels of the memory there are
(
    CHANNEL_SHARE,
    WORD_BITS,
    BURST_CYCLES,
    OPEN_PJ,
    STANDBY_PJ,
    READ_BIT_PJ,
    WRITE_BIT_PJ,
    CHANNELS_LAST,
    CHANNELS,
) = (FIGURES + offset for offset in (0, 1, 4, 5, 6, 7, 8, 9, 10))
DRAM_NUMBERS: Final = FIGURES + 11


class KernelInputs(NamedTuple):
    """Everything about a problem that does not depend on the candidate.

    L levels, 3 tensors, 8 dimensions; words of level and tensor take ``unit[L, 3]`` units of
    storage and bandwidth (1 where all words are as wide).

    The nest:
        bounds: int64[8], loop bounds.
        window: int64[2, 4], see :mod:`archloom.evaluators.loopnest.data_reuse`.
        top: int64[3], the outermost level that takes part for a tensor: DRAM, or the buffer for an
            operand that lives there whole.
        staged: uint8[3], whether an operand lives in the buffer.
        begun: 1 if partial sums were begun before, so that their first touch is read, too; else 0.

    Limits:
        allowed, optional: uint8[L, 3], whether a level may keep a tensor, and may leave it out.
        fanout: int64[L, 2], children along x and y.
        spatial: uint8[L, 2, 8], dimensions that may be unrolled over them.
        multicast: uint8[L, 3], whether one read serves all children that need the word.
        shared, capacity: int64[L] and [L, 3], units of shared and of private buffers (-1 where
            there is no limit).
        unit: int64[L, 3].
        width: int64[L, 3], words per access.
        cluster, instances: int64[L], instances that are accessed together, and all there are.
        bandwidth: float64[L, 3], units per cycle by :data:`READ_PORT` and so on.

    Prices:
        read_pj, fill_pj, update_pj: float64[L, 3], of an access.
        hop_pj, router_pj, address_pj, used_leakage_pj: float64[L], network, addresses, and
            leakage of an instance in use per cycle.
        mac_pj, leakage_pj: of a multiply-accumulate, and of the chip per cycle.
        extras: bits of what :mod:`archloom.evaluators.loopnest.optional_effects` counts,
            :data:`BY_LEVEL` and :data:`DRAM_ROWS`; None for nothing: a type of its own, for which
            kernels compile without all of that.
        dram: float64[23], of DRAM with rows and banks: the figures of a channel, then
            :data:`CHANNEL_SHARE` and so on; zeros without.
        weights: float64[2], exponents :data:`OF_ENERGY` and :data:`OF_LATENCY` in the objective.

    Effects:
        served: float64[3], share of the MACs' accesses to each tensor that zeros leave.
        working, busy: share of the MACs' energy and of their cycles that zeros leave.
        fill_drain: how far filling and draining the array of a PE counts, :data:`NO_FILL` to
            :data:`EXPOSED`.
        array: int64[3], rows and columns of a PE, and how many levels are in it.

    Constraints:
        fixed: int64[L, 2, 8], factors that are unrolled in every mapping, where ``spatial`` is 0
            (1 where there is none).
        both_axes: 0 if no dimension may be unrolled along x and y of one mesh.
        ranks: int64[L, A, 8], up to A ways to order the loops of a level: those of lower rank
            stand inside those of higher rank; rows after the last way are -1, and A is 0 if all
            orders are permitted.
        within: uint8[8], dimensions that have all their loops over time in the innermost level.
        across: int64[L, 2, 8], orders of the spatial loops, which matter for hops alone.
    """

    bounds: Ints
    window: Ints
    allowed: NDArray[np.uint8]
    optional: NDArray[np.uint8]
    fanout: Ints
    spatial: NDArray[np.uint8]
    shared: Ints
    capacity: Ints
    unit: Ints
    top: Ints
    staged: NDArray[np.uint8]
    begun: int
    multicast: NDArray[np.uint8]
    across: Ints
    read_pj: Floats
    fill_pj: Floats
    update_pj: Floats
    hop_pj: Floats
    router_pj: Floats
    address_pj: Floats
    used_leakage_pj: Floats
    width: Ints
    cluster: Ints
    instances: Ints
    bandwidth: Floats
    served: Floats
    working: float
    busy: float
    mac_pj: float
    leakage_pj: float
    extras: int | None
    dram: Floats
    fill_drain: int
    array: Ints
    weights: Floats
    fixed: Ints
    both_axes: int
    ranks: Ints
    within: NDArray[np.uint8]


class Workspace(NamedTuple):
    """Arrays that the kernel fills with what it finds about one candidate.

    Attributes:
        counts: int64[L, 3, 3], :data:`READS`, :data:`FILLS` and :data:`UPDATES` of each tensor in
            one used instance.
        used: int64[L], instances in use.
        cum, spread: int64[L + 1, 8] and [L, 8], those of
            :class:`archloom.evaluators.loopnest.data_reuse.TiledNest`.
        by_tensor, outwards: int64[3] and [3, 8], scratch space.
        moves: int64[L + 1], by number of levels from the innermost: the innermost loop outside of
            them that moves an input tile, as its dimension and 8 times its level; 0 where none
            does.
    """

    counts: Ints
    used: Ints
    cum: Ints
    spread: Ints
    by_tensor: Ints
    outwards: Ints
    moves: Ints


class CountedNest(NamedTuple):
    """A candidate, the product of its temporal factors, and what the kernel found about it."""

    loops: Ints
    keep: Flags
    steps: int
    found: Workspace


@compiled(brief=True)
def new_workspace(levels: int) -> Workspace:
    """Return arrays for candidates of so many levels."""
    return Workspace(
        np.zeros((levels, 3, 3), np.int64),
        np.zeros(levels, np.int64),
        np.ones((levels + 1, 8), np.int64),
        np.ones((levels, 8), np.int64),
        np.zeros(3, np.int64),
        np.zeros((3, 8), np.int64),
        np.zeros(levels + 1, np.int64),
    )


def unlimited(bounds: Ints, window: Ints, levels: int) -> KernelInputs:
    """Return inputs by which everything fits and nothing costs: what others start from."""
    flags, words = np.ones((levels, 3), np.uint8), np.ones((levels, 3), np.int64)
    free = np.zeros((levels, 3))
    return KernelInputs(
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
        begun=0,
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
        dram=np.zeros(DRAM_NUMBERS),
        fill_drain=NO_FILL,
        array=np.ones(3, np.int64),
        weights=np.ones(2),
        fixed=np.ones((levels, 2, 8), np.int64),
        both_axes=1,
        ranks=np.zeros((levels, 0, 8), np.int64),
        within=np.zeros(8, np.uint8),
    )
