"""Limits of one hardware on the mappings of one layer: sharing, replication and capacity. Every
valid mapping respects them, and bounds divide by them.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, helper, lean
from archloom.evaluators.loopnest import INPUT_DIMS, OUTPUT_DIMS, WEIGHT_DIMS, KernelInputs
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, N, P, Q, R, S

from ..arrays import Flags, Floats, Ints

#: place of what holds for any word, after those of the three tensors
ANY: Final = 3

_ALL = 255
SHARING_WEIGHTS: Final = 1 << N | 1 << P | 1 << Q
SUMMING: Final = 1 << C | 1 << R | 1 << S


class Design(NamedTuple):
    """Part of :class:`KernelInputs` that bounds need: L levels, tensors in the order of TENSORS.

    Attributes:
        fanout: int64[L, 2], children along x and y.
        dims: int64[L, 2], bit d says whether dimension d may be unrolled over them.
        multicast: int64[4, L], by tensor; last, ones.
        must, may: int64[L, 3], whether a mapping must, or may, keep a tensor in a level.
        tiled: int64[L, 3], whether a tensor is cut in tiles there.
        private, shared: float64[L, 3] and [L], units of capacity; infinite if unlimited.
        unit: float64[L, 3], units of one word.
        top: int64[3], outermost level with a part in a tensor.
        alone: whether DRAM feeds a single instance.
        strict: whether rows and columns of windows share the children that unroll them, and taps
            are unrolled in whole numbers; planners and bounds of layers take looser figures.
        begun: whether sums were begun before, so that their first touch is read as well.
    """

    fanout: Ints
    dims: Ints
    multicast: Ints
    must: Ints
    may: Ints
    tiled: Ints
    private: Floats
    shared: Floats
    unit: Floats
    top: Ints
    alone: bool
    strict: bool = False
    begun: bool = False


class Limits(NamedTuple):
    """Figures that no mapping of a layer exceeds.

    Attributes:
        at_once: MACs that work in a cycle.
        used: float64[L], instances of each level that work.
        below: float64[L], MACs below one instance.
        copies: float64[L], instances with a part of the same sum.
        shares: float64[L, 3], MACs that one word read from a level serves in a cycle.
        shared: float64[L], most that the three shares of a level can multiply to.
        apart: float64[L, L, 4], [inner, outer]: instances of the inner level below one of the
            outer that hold different words of each tensor; last, those that work at all.
        stays: float64[L, 3], words of a tensor that one instance holds while the others change.
        passes: float64[L, 3], words of a tensor that one instance holds at all.
    """

    at_once: float
    used: Floats
    below: Floats
    copies: Floats
    shares: Floats
    shared: Floats
    apart: Floats
    stays: Floats
    passes: Floats


class Shares(NamedTuple):
    """The part of the limits of B layers that capacities do not change: the first fields of
    :class:`Limits`, each with an axis for the layers.
    """

    at_once: Floats
    used: Floats
    below: Floats
    copies: Floats
    shares: Floats
    shared: Floats
    apart: Floats


class Tiles(NamedTuple):
    """The other part, which is the same for all layers."""

    stays: Floats
    passes: Floats


def design_of(setup: KernelInputs) -> Design:
    """Return what bounds need of a problem, the layer aside."""
    held = _held(
        len(setup.shared),
        setup.allowed.tobytes(),
        setup.optional.tobytes(),
        setup.spatial.tobytes(),
        setup.multicast.tobytes(),
        tuple(setup.top.tolist()),
    )
    private, shared = setup.capacity.astype(np.float64), setup.shared.astype(np.float64)
    private[setup.capacity < 0] = np.inf
    shared[setup.shared < 0] = np.inf
    return Design(
        fanout=setup.fanout,
        dims=held.dims,
        multicast=held.multicast,
        must=held.must,
        may=held.may,
        tiled=held.tiled,
        private=private,
        shared=shared,
        unit=setup.unit.astype(np.float64),
        top=setup.top,
        alone=int(setup.fanout[-1, 0]) * int(setup.fanout[-1, 1]) == 1,
        begun=bool(setup.begun),
    )


class _Held(NamedTuple):
    """The fields of a :class:`Design` that all designs of a template have in common."""

    dims: Ints
    multicast: Ints
    must: Ints
    may: Ints
    tiled: Ints


@lru_cache(maxsize=256)
def _held(
    count: int, allowed: bytes, optional: bytes, spatial: bytes, sent: bytes, top: tuple[int, ...]
) -> _Held:
    """Return these fields from the bytes of the arrays of :class:`KernelInputs`."""
    outermost, levels = np.array(top), np.arange(count)[:, None]
    taking_part = (_flags(allowed, count, 3) > 0) & (levels <= outermost)
    dims = (_flags(spatial, count, 2, 8).astype(np.int64) << np.arange(8)).sum(axis=2)
    multicast = np.ascontiguousarray(_flags(sent, count, 3).T, np.int64)
    return _Held(
        dims=dims,
        multicast=np.pad(multicast, ((0, 1), (0, 0)), constant_values=1),
        must=(taking_part & (_flags(optional, count, 3) == 0)).astype(np.int64),
        may=taking_part.astype(np.int64),
        tiled=(taking_part & (levels < outermost)).astype(np.int64),
    )


def _flags(data: bytes, *shape: int) -> Flags:
    return np.frombuffer(data, np.uint8).reshape(shape)


@lean
def unrolled(
    bounds: Ints, dims: int, fanout: Ints, allowed: Ints, multicast: Ints, first: int, last: int
) -> float:
    """Return the largest product of spatial factors of ``dims`` at levels first to last.

    In logarithms it is a flow, from axes with so many children to dimensions with such bounds.
    So it is the least cut (Ford and Fulkerson, 1956): over all sets of dimensions, their bounds
    times the children along axes that may unroll any other. A least cut takes all dimensions of
    the axes whose children it leaves out, and no more, so sets of axes will do where these are
    fewer.

    ``dims`` are bits, of dimensions with a bound above 1; others only cost time. Levels where
    ``multicast[L]`` is zero count as if they had one child.
    """
    axes, some, excess = 0, 0, 0
    for place in range(2 * first, 2 * last + 2):
        level, axis = place // 2, place % 2
        usable = allowed[level, axis] & dims
        if usable and multicast[level] and fanout[level, axis] > 1:
            axes |= 1 << place
            some |= usable
            excess += 1
    for d in range(8):
        excess -= some >> d & 1
    by_axes = excess < 0
    every = axes if by_axes else some
    least, chosen = np.inf, every
    while True:
        cut = chosen
        if by_axes:
            cut = 0
            for place in range(2 * first, 2 * last + 2):
                if chosen >> place & 1:
                    cut |= allowed[place // 2, place % 2] & dims
        least = min(least, _cut(bounds, dims, fanout, allowed, axes, cut))
        if chosen == 0:
            return least
        chosen = (chosen - 1) & every


@helper
def _cut(bounds: Ints, dims: int, fanout: Ints, allowed: Ints, axes: int, cut: int) -> float:
    """Return the bounds of dimensions times the children along axes that may unroll any other.

    Axes are bits, two for each level.
    """
    product, d, place = 1.0, 0, 0
    taken = cut
    while taken:
        if taken & 1:
            product *= bounds[d]
        taken >>= 1
        d += 1
    while axes:
        if axes & 1 and allowed[place // 2, place % 2] & dims & ~cut:
            product *= fanout[place // 2, place % 2]
        axes >>= 1
        place += 1
    return product


@helper
def _sliding(outputs: float, taps: float) -> float:
    """Return the MACs that a row serves: a outputs and b taps read a + b - 1 rows or more."""
    return outputs * taps / (outputs + taps - 1.0)


@helper
def sliding_both(rows: float, columns: float, both: float, high: float, wide: float) -> float:
    """Return the most MACs that a word serves by windows along both axes.

    Of at most ``rows`` x ``columns`` outputs, ``both`` together, with ``high`` x ``wide`` taps. In
    logarithms of the rows it is concave: greatest where neither axis gains by giving rows to the
    other, or at an end of the range.
    """
    most = min(rows, both)
    chosen = most if wide <= 1.0 else max(1.0, both / columns)
    if high > 1.0 and wide > 1.0:
        balanced = np.sqrt(both * (high - 1.0) / (wide - 1.0))
        chosen = min(most, max(chosen, balanced))
    return _sliding(chosen, high) * _sliding(min(columns, both / chosen), wide)


@helper
def _served(bounds: Ints, long: int, design: Design, level: int, shares: Floats) -> float:
    """Fill ``shares[3]`` of one level; return the most that they can multiply to.

    Without multicast each child takes a word of its own.
    """
    dims, fanout, sent = design.dims, design.fanout, design.multicast
    weights, inputs, outputs = sent[WEIGHTS], sent[INPUTS], sent[OUTPUTS]
    shares[WEIGHTS] = unrolled(bounds, long & SHARING_WEIGHTS, fanout, dims, weights, 0, level)
    shares[OUTPUTS] = unrolled(bounds, long & SUMMING, fanout, dims, outputs, 0, level)
    shares[INPUTS] = unrolled(bounds, long & 1 << K, fanout, dims, inputs, 0, level)
    rows = unrolled(bounds, long & 1 << P, fanout, dims, inputs, 0, level)
    columns = unrolled(bounds, long & 1 << Q, fanout, dims, inputs, 0, level)
    high = unrolled(bounds, long & 1 << R, fanout, dims, inputs, 0, level)
    wide = unrolled(bounds, long & 1 << S, fanout, dims, inputs, 0, level)
    windows = _sliding(rows, high) * _sliding(columns, wide)
    if design.strict and windows > 1.0:
        both = unrolled(bounds, long & (1 << P | 1 << Q), fanout, dims, inputs, 0, level)
        windows = sliding_both(rows, columns, both, high, wide)
    shares[INPUTS] *= windows
    return unrolled(bounds, long, fanout, dims, sent[ANY], 0, level) * windows


@helper
def _largest_tiles(design: Design, level: int, stays: Floats, passes: Floats) -> None:
    """Fill the largest tiles of one instance.

    If tensor t stays, the tiles of the others hold at least a and b words with a b >= t, so
    they take 2 sqrt(a b) units or more.
    """
    for t in range(3):
        stays[t] = passes[t] = np.inf
        if not design.tiled[level, t]:
            continue
        others, product, least = 0, 1.0, 0.0
        for o in range(3):
            if o != t and design.must[level, o] and design.tiled[level, o]:
                others += 1
                product *= design.unit[level, o]
                least += design.unit[level, o]
        own, shared = design.unit[level, t], design.shared[level]
        private = np.floor(design.private[level, t] / own)
        passes[t] = stays[t] = min(private, (shared - least) / own)
        if others == 2 and shared < np.inf:
            root = np.sqrt(product)
            stays[t] = ((np.sqrt(product + own * shared) - root) / own) ** 2


@helper
def _fill_shares(design: Design, bounds: Ints, shares: Shares, i: int) -> None:
    """Fill the shares of layer ``i``, with loop bounds ``bounds[8]``."""
    levels = len(design.shared)
    fanout, dims, last = design.fanout, design.dims, len(design.shared) - 1
    long, every = 0, design.multicast[ANY]
    for d in range(8):
        long |= int(bounds[d] > 1) << d
    for level in range(levels):
        outside = level + 1
        shares.used[i, level] = unrolled(bounds, long, fanout, dims, every, outside, last)
        shares.below[i, level] = unrolled(bounds, long, fanout, dims, every, 0, level)
        summing = long & SUMMING
        shares.copies[i, level] = unrolled(bounds, summing, fanout, dims, every, outside, last)
        shares.shared[i, level] = _served(bounds, long, design, level, shares.shares[i, level])
        for outer in range(outside, levels):
            for t, bits in enumerate((WEIGHT_DIMS, INPUT_DIMS, OUTPUT_DIMS, _ALL)):
                most = unrolled(bounds, long & bits, fanout, dims, every, outside, outer)
                shares.apart[i, level, outer, t] = most
    shares.at_once[i] = unrolled(bounds, long, fanout, dims, every, 0, last)


@allocating
def _whole_taps(design: Design, bounds: Ints, at_once: float) -> float:
    """Return ``at_once``, or the MACs that work on average if some axis may unroll taps alone.

    No tile cuts taps, so f children along it take ceil(R / f) steps for R taps, and R / ceil(R / f)
    of them work in each. The other axes unroll what they can, taps as well.
    """
    long, last = 0, len(design.shared) - 1
    for d in range(8):
        long |= int(bounds[d] > 1) << d
    for place in range(2 * last + 2):
        level, axis = place // 2, place % 2
        usable, children = design.dims[level, axis] & long, design.fanout[level, axis]
        if children > 1 and usable and not usable & ~(1 << R | 1 << S):
            rows = min(children, bounds[R]) if usable >> R & 1 else 1
            working = 1.0
            for f in range(1, rows + 1):
                beside = min(children // f, bounds[S]) if usable >> S & 1 else 1
                for g in range(1, beside + 1):
                    steps = -(-bounds[R] // f) * -(-bounds[S] // g)
                    working = max(working, bounds[R] * bounds[S] / steps)
            others = design.dims.copy()
            others[level, axis] = 0
            every, fanout = design.multicast[ANY], design.fanout
            rest = unrolled(bounds, long, fanout, others, every, 0, last)
            at_once = min(at_once, working * rest)
    return at_once


@compiled(brief=True)
def shares_of(design: Design, bounds: Ints) -> Shares:
    """Return the shares of layers with loop bounds ``bounds[B, 8]``: all that limits have to do
    with the layer. Of the design they depend on meshes and on what may be unrolled over them.
    """
    count, levels = len(bounds), len(design.shared)
    found = Shares(
        np.empty(count),
        np.empty((count, levels)),
        np.empty((count, levels)),
        np.empty((count, levels)),
        np.empty((count, levels, 3)),
        np.empty((count, levels)),
        np.ones((count, levels, levels, 4)),
    )
    for i in range(count):
        _fill_shares(design, bounds[i], found, i)
        if design.strict:
            found.at_once[i] = _whole_taps(design, bounds[i], found.at_once[i])
    return found


@compiled
def tiles_of(design: Design) -> Tiles:
    """Return the largest tiles of a design."""
    levels = len(design.shared)
    stays, passes = np.empty((levels, 3)), np.empty((levels, 3))
    for level in range(levels):
        _largest_tiles(design, level, stays[level], passes[level])
    return Tiles(stays, passes)


@allocating
def limits_in(shares: Shares, i: int, tiles: Tiles) -> Limits:
    """Return the limits of one of several layers."""
    return Limits(
        shares.at_once[i],
        shares.used[i],
        shares.below[i],
        shares.copies[i],
        shares.shares[i],
        shares.shared[i],
        shares.apart[i],
        tiles.stays,
        tiles.passes,
    )


@compiled
def limits_of(design: Design, bounds: Ints) -> Limits:
    """Return the limits of a design for a layer with loop bounds ``bounds[8]``."""
    return limits_in(shares_of(design, bounds.reshape(1, 8)), 0, tiles_of(design))
