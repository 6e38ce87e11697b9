"""Steps of layers that run whole, or image by image: spatial factors are whole numbers.

docs/explanation/bounds_proofs.md has the proof (lemma 11). Axes that may unroll the same dimensions
count as one axis with the product of their children. Axes that have no dimension in common with
others are treated apart. What remains is a dynamic program over the children that are left on each
axis, dimension by dimension.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, helper
from archloom.space.workload import K, N

from ...arrays import Floats, Ints
from ..level_capacity import ANY, SHARING_WEIGHTS, SUMMING, Design, Shares, unrolled

#: all dimensions, as bits
_ALL: Final = 255

#: Axes that one program has at most, and numbers of children left on them, together: a few
#: microseconds for each dimension. Where there are more, axes are treated one by one.
_MOST_AXES: Final = 3
_MOST_STATES: Final = 768

#: The same of a single axis, of which each number of children has more numbers to go on to.
_MOST_ALONE: Final = 64


@compiled
def whole_shares(design: Design, bounds: Ints, shares: Shares) -> Shares:
    """Return the shares of layers with loop bounds ``bounds[B, 8]``, as :func:`shares_of` gives
    them, with those of layers that are not cut but into images: MACs that work at once on average,
    and MACs that a word serves on average.
    """
    at_once, served, most = shares.at_once.copy(), shares.shares.copy(), shares.shared.copy()
    last, sent, left = len(design.fanout) - 1, design.multicast, np.ones(4)
    for i in range(len(bounds)):
        long = _long(bounds[i])
        left[:] = 1.0
        for p in range(last + 1):
            # a level with a single child inside it leaves what that leaves
            several = design.fanout[p, 0] * design.fanout[p, 1] > 1
            for t, dims in enumerate((SHARING_WEIGHTS, 1 << K, SUMMING, _ALL)):
                part = _Part(long & dims, t, p)
                if several and part.dims:
                    fanout = design.fanout
                    free = unrolled(bounds[i], part.dims, fanout, design.dims, sent[t], 0, p)
                    left[t] = 1.0
                    if free > 1.0:
                        left[t] = min(1.0, _working(design, bounds[i], part) / free)
                # what windows add to the shares of inputs stays
                if t == ANY:
                    most[i, p] *= left[t]
                else:
                    served[i, p, t] *= left[t]
        # at_once may know of whole taps, which is the same again
        free = unrolled(bounds[i], long, design.fanout, design.dims, sent[ANY], 0, last)
        at_once[i] = min(at_once[i], free * left[ANY])
    return Shares(at_once, shares.used, shares.below, shares.copies, served, most, shares.apart)


class _Part(NamedTuple):
    """Which axes count: those that may unroll the dimensions ``dims`` (bits), from the innermost
    level to the level ``last``, where words of the tensor ``sent`` may go to all children."""

    dims: int
    sent: int
    last: int


@allocating
def _working(design: Design, bounds: Ints, part: _Part) -> float:
    """Return the most that axes unroll on average, in whole numbers."""
    masks, sizes = _axes(design, bounds, part)
    every = (1 << len(masks)) - 1
    together, alone, left = 1.0, np.inf, every
    while left:
        own, some = _connected(masks, left)
        left &= ~own
        places = np.empty(len(masks), np.int64)
        count, states = 0, 1
        for a in range(len(masks)):
            if own >> a & 1:
                places[count] = a
                count, states = count + 1, states * len(_quotients(sizes[a]))
        most = _MOST_STATES if count > 1 else _MOST_ALONE
        if count <= _MOST_AXES and states <= most:
            chosen = places[:count]
            together *= _most(bounds, some, masks[chosen], sizes[chosen])
            continue
        together *= _rest(design, bounds, part, masks, own)
        for a in places[:count]:
            if len(_quotients(sizes[a])) <= _MOST_ALONE:
                whole = _most(bounds, masks[a], masks[a : a + 1], sizes[a : a + 1])
                alone = min(alone, whole * _rest(design, bounds, part, masks, every & ~(1 << a)))
    return min(together, alone)


@helper
def _long(bounds: Ints) -> int:
    """Return the dimensions with a bound above 1, as bits."""
    long = 0
    for d in range(8):
        long |= int(bounds[d] > 1) << d
    return long


@allocating
def _axes(design: Design, bounds: Ints, part: _Part) -> tuple[Ints, Ints]:
    """Return the dimensions that axes may unroll, as bits, and their children; merged."""
    places, count = 2 * part.last + 2, 0
    masks, sizes = np.empty(places, np.int64), np.ones(places, np.int64)
    for place in range(places):
        level, axis = place // 2, place % 2
        usable, children = design.dims[level, axis] & part.dims, design.fanout[level, axis]
        if not usable or children < 2 or not design.multicast[part.sent, level]:
            continue
        a = 0
        while a < count and masks[a] != usable:
            a += 1
        if a == count:
            masks[a], count = usable, count + 1
        sizes[a] *= children
    for a in range(count):
        most = 1.0
        for d in range(8):
            if masks[a] >> d & 1:
                most *= bounds[d]
        # more children than that are of no use
        sizes[a] = int(min(float(sizes[a]), most))
    return masks[:count], sizes[:count]


@allocating
def _connected(masks: Ints, left: int) -> tuple[int, int]:
    """Return axes, as bits, that share dimensions, one with another, and these dimensions."""
    own, some, before = 0, 0, -1
    while own != before:
        before = own
        for a in range(len(masks)):
            if left >> a & 1 and (not own or masks[a] & some):
                own |= 1 << a
                some |= masks[a]
    return own, some


@allocating
def _rest(design: Design, bounds: Ints, part: _Part, masks: Ints, kept: int) -> float:
    """Return the most that some of the merged axes unroll, in fractions too."""
    dims = design.dims.copy()
    for place in range(2 * part.last + 2):
        level, axis = place // 2, place % 2
        of_kept = False
        for a in range(len(masks)):
            of_kept = of_kept or bool(kept >> a & 1 and masks[a] == dims[level, axis] & part.dims)
        if not of_kept:
            dims[level, axis] = 0
    sent = design.multicast[part.sent]
    return unrolled(bounds, part.dims, design.fanout, dims, sent, 0, part.last)


@allocating
def _quotients(size: int) -> Ints:
    """Return the values of size // f for whole f up to it, the largest first."""
    found, count, left = np.empty(2 * int(np.sqrt(float(size))) + 2, np.int64), 0, size
    while left > 0:
        found[count] = left
        count += 1
        # the least f with a smaller quotient
        left = size // (size // left + 1)
    return found[:count]


class _Left(NamedTuple):
    """Numbers of children that may be left on up to three axes, the largest first, as
    :func:`_quotients` has them; of an axis that is none, 1."""

    first: Ints
    second: Ints
    third: Ints


@allocating
def _most(bounds: Ints, some: int, masks: Ints, sizes: Ints) -> float:
    """Return the most of the product of b / ceil(b / s) over dimensions, for whole factors s of
    which each axis has no more than it has children.
    """
    second = sizes[1] if len(sizes) > 1 else 1
    third = sizes[2] if len(sizes) > 2 else 1
    axes = _Left(_quotients(sizes[0]), _quotients(second), _quotients(third))
    # by the children that are left for the dimensions so far
    best = np.ones((len(axes.first), len(axes.second), len(axes.third)))
    for d in range(8):
        if not some >> d & 1:
            continue
        # the images of a batch may run one after another, in parts of any size
        takes, after = int(d == N) << 3, np.empty_like(best)
        for a in range(len(masks)):
            takes |= (masks[a] >> d & 1) << a
        for i in range(len(axes.first)):
            for j in range(len(axes.second)):
                for k in range(len(axes.third)):
                    after[i, j, k] = _with(bounds[d], takes, i, j, k, axes, best)
        best = after
    return float(best[0, 0, 0])


@allocating
def _with(bound: int, takes: int, i: int, j: int, k: int, axes: _Left, best: Floats) -> float:
    """Return ``best`` with one more dimension, where children ``i``, ``j`` and ``k`` of the axes
    are left for it and those before; only axes of the bits ``takes`` may unroll it. The bit
    above says that it counts in fractions.

    Of the factors that leave as many children, the largest is best.
    """
    most = 0.0
    for x in range(i, len(axes.first) if takes & 1 else i + 1):
        along_x = axes.first[i] // axes.first[x]
        if axes.first[i] // along_x != axes.first[x]:
            continue
        for y in range(j, len(axes.second) if takes & 2 else j + 1):
            along_y = axes.second[j] // axes.second[y]
            if axes.second[j] // along_y != axes.second[y]:
                continue
            for z in range(k, len(axes.third) if takes & 4 else k + 1):
                along_z = axes.third[k] // axes.third[z]
                if axes.third[k] // along_z == axes.third[z]:
                    spatial = along_x * along_y * along_z
                    working = bound / -(-bound // spatial)
                    if takes & 8:
                        working = float(min(bound, spatial))
                    most = max(most, working * best[x, y, z])
    return most
