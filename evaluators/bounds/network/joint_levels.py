"""Least energy of layers that run whole, of all levels together: compiled.

:mod:`..layer_kernel` bounds what each level serves by itself, so each may keep another tensor and
unroll other loops there. Here one mapping has to do for all of them
(docs/explanation/bounds_proofs.md, lemmas 12 to 15, 17 and 18).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, P, Q, R, S

from ...arrays import Floats, Ints
from ..layer_kernel import LayerBatch
from ..layer_work import PADDED, one_work
from ..level_capacity import Design, limits_in, sliding_both, tiles_of, unrolled
from ..rounding import ROUNDING
from ..traffic import least_shared
from ..word_prices import BY_MACS, Prices
from .crossing_words import (
    Beside,
    boundaries,
    crossing,
    crossing_whole,
    crossing_with,
    keepers,
    nothing_beside,
    single,
)
from .tile_extents import extents_of, undilated
from .whole_tiles import MACS, Whole

#: in the place of an axis that may unroll taps: no axis, and several
_NO_AXIS: Final = -1
_SEVERAL: Final = -2


class _Asked(NamedTuple):
    """What MACs ask for, and how far unrolled loops let a word serve several of them.

    Attributes:
        at: int64[3], the innermost level that keeps each tensor.
        price: float64[4] of a word there.
        taps: the only axis (level x 2 + axis) that may unroll taps, or one of the above.
        children: on that axis.
        outputs: K that may be unrolled among what the level of inputs serves.
        rows, columns, both: P, Q and their product, at the level of that axis alone.
        channels: C that may be unrolled beside that axis.
        held: weights that may be in use at once.
        several: MACs that a word of inputs serves by windows, if several axes may unroll taps.
    """

    at: Ints
    price: Floats
    taps: int
    children: int
    outputs: float
    rows: float
    columns: float
    both: float
    channels: float
    held: float
    several: float


@helper
def _axis_of_taps(design: Design, long: int) -> int:
    found = _NO_AXIS
    for place in range(2 * len(design.shared)):
        level, axis = place // 2, place % 2
        if design.fanout[level, axis] > 1 and design.dims[level, axis] & long & (1 << R | 1 << S):
            if found >= 0:
                return _SEVERAL
            found = place
    return found


@helper
def _by_level(design: Design, bounds: Ints, long: int, last: int) -> float:
    """Return the MACs that a word of inputs serves by windows at most: children of different levels
    share no windows.
    """
    fanout, dims, sent, served = design.fanout, design.dims, design.multicast[INPUTS], 1.0
    for p in range(last + 1):
        rows = unrolled(bounds, long & 1 << P, fanout, dims, sent, p, p)
        columns = unrolled(bounds, long & 1 << Q, fanout, dims, sent, p, p)
        both = unrolled(bounds, long & (1 << P | 1 << Q), fanout, dims, sent, p, p)
        high = unrolled(bounds, long & 1 << R, fanout, dims, sent, p, p)
        wide = unrolled(bounds, long & 1 << S, fanout, dims, sent, p, p)
        served *= sliding_both(rows, columns, both, high, wide)
    return float(served)


@allocating
def _asked(layer: Whole) -> _Asked:
    """Return what MACs ask for."""
    design, limits, bounds = layer.design, layer.limits, layer.bounds
    at, price, long = np.empty(3, np.int64), np.empty(4), 0
    for d in range(8):
        long |= int(bounds[d] > 1) << d
    held = layer.work.macs
    for p in range(len(design.shared) - 1, -1, -1):
        for t in range(3):
            at[t] = p if design.must[p, t] else at[t]
        if design.must[p, WEIGHTS] and design.tiled[p, WEIGHTS]:
            held = min(held, limits.passes[p, WEIGHTS] * limits.used[p])
    for i in range(4):
        price[i] = layer.prices.accesses_pj[at[min(i, OUTPUTS)], BY_MACS, i]
    taps, children, others = _axis_of_taps(design, long), 1, design.dims.copy()
    fanout, dims, sent, pi = design.fanout, design.dims, design.multicast, at[INPUTS]
    # children of different levels share no windows
    first, last = 0, pi
    if taps >= 0:
        children = design.fanout[taps // 2, taps % 2]
        others[taps // 2, taps % 2] = 0
        first, last = taps // 2, min(pi, taps // 2)
    return _Asked(
        at,
        price,
        taps,
        children,
        unrolled(bounds, long & 1 << K, fanout, dims, sent[INPUTS], 0, pi),
        unrolled(bounds, long & 1 << P, fanout, dims, sent[INPUTS], first, last),
        unrolled(bounds, long & 1 << Q, fanout, dims, sent[INPUTS], first, last),
        unrolled(bounds, long & (1 << P | 1 << Q), fanout, dims, sent[INPUTS], first, last),
        unrolled(bounds, long & 1 << C, fanout, others, sent[OUTPUTS], 0, at[OUTPUTS]),
        held,
        _by_level(design, bounds, long, pi),
    )


@helper
def _windows(asked: _Asked, r: int, s: int) -> float:
    """Return the MACs that a word of inputs serves by windows, with so many taps unrolled."""
    if asked.taps == _SEVERAL:
        return asked.several
    return float(sliding_both(asked.rows, asked.columns, asked.both, float(r), float(s)))


@helper
def _served(layer: Whole, asked: _Asked, r: int, s: int, served: Floats) -> None:
    """Fill ``served[3]``: MACs that a word serves at most, with so many taps unrolled."""
    for t in range(3):
        served[t] = layer.limits.shares[asked.at[t], t]
    if asked.taps == _SEVERAL:
        return
    bounds = layer.bounds
    served[INPUTS] = min(served[INPUTS], asked.outputs * _windows(asked, r, s))
    left = 1
    if asked.taps >= 0 and layer.design.dims[asked.taps // 2, asked.taps % 2] >> C & 1:
        left = asked.children // (r * s)
    # whole factors: parts of one beyond are rounding
    channels = max(1, int(min(float(bounds[C]), asked.channels * left) * (1 + ROUNDING)))
    summed = bounds[C] / -(-bounds[C] // channels)
    summed *= bounds[R] / -(-bounds[R] // r) * bounds[S] / -(-bounds[S] // s)
    served[OUTPUTS] = min(served[OUTPUTS], summed)


@allocating
def _by_macs(layer: Whole, asked: _Asked, price: Floats, served: Floats, windows: float) -> float:
    """Return the least energy of the words that MACs ask for, at the given prices: level by level,
    or of all levels with the weights that are in use at once.
    """
    work, limits, each = layer.work, layer.limits, np.empty(4)
    apart, least_owned = 0.0, work.macs
    for p in range(len(layer.design.shared)):
        some = False
        for i in range(4):
            here = asked.at[min(i, OUTPUTS)] == p
            each[i] = price[i] if here else 0.0
            some = some or each[i] > 0
        if some:
            owned = min(work.macs, work.words[PADDED, OUTPUTS] * limits.copies[p])
            apart += least_shared(work.macs, each, owned, served, limits.shared[p])
    copies = limits.copies[asked.at[OUTPUTS]]
    least_owned = min(least_owned, work.words[PADDED, OUTPUTS] * copies)
    children = limits.shares[asked.at[WEIGHTS], WEIGHTS] * windows * asked.held
    return max(apart, least_shared(work.macs, price, least_owned, served, children))


@allocating
def _beside(layer: Whole, asked: _Asked, rest: Floats) -> Beside:
    """Return what MACs ask for across the outermost boundary that no inputs are kept inside of, and
    take it out of ``rest[4]``, prices of what they ask for.
    """
    design, levels = layer.design, len(layer.design.shared)
    inner, outer, counts = np.empty(3, np.int64), np.empty(3, np.int64), boundaries(design)
    where, price, serves = -1, np.zeros(3), np.ones(3)
    for b in range(levels - 2, -1, -1):
        keepers(design, b, inner, outer)
        if where < 0 and counts[b] and inner[INPUTS] == MACS and single(design, b + 2):
            where = b
            for t in (WEIGHTS, INPUTS):
                if inner[t] == MACS:
                    price[t], rest[t] = asked.price[t], 0.0
    serves[WEIGHTS] = layer.limits.shares[asked.at[WEIGHTS], WEIGHTS]
    serves[INPUTS] = asked.outputs
    return Beside(where, price, serves, np.zeros((levels, 3)), 0)


@allocating
def _together(layer: Whole) -> float:
    """Return the least energy of all words, over all taps that may be unrolled; 0 if not known."""
    asked, bounds, served = _asked(layer), layer.bounds, np.empty(3)
    rest = asked.price.copy()
    beside = _beside(layer, asked, rest)
    inputs = beside.price[INPUTS]
    nothing = nothing_beside(len(layer.design.shared), 0)
    apart = crossing(layer, nothing)
    if apart < 0.0:
        return 0.0
    whole = undilated(bounds, layer.window)
    extents = extents_of(bounds, layer.window)
    if whole:
        apart = max(apart, crossing_whole(layer, extents, nothing, beside.where < 0))
    least, crossed, before = np.inf, 0.0, -1.0
    for r in range(1, bounds[R] + 1):
        for s in range(1, bounds[S] + 1):
            if r * s > (asked.children if asked.taps >= 0 else 1):
                break
            windows = _windows(asked, r, s)
            _served(layer, asked, r, s, served)
            energy = apart + _by_macs(layer, asked, asked.price, served, windows)
            if beside.where >= 0 and energy < least:
                if windows != before:
                    beside.price[INPUTS] = inputs / windows
                    crossed, before = crossing_with(layer, beside), windows
                    if whole:
                        crossed = max(crossed, crossing_whole(layer, extents, beside, True))
                fewer = crossed + _by_macs(layer, asked, rest, served, windows)
                energy = max(energy, fewer)
            least = min(least, energy)
    return least


@compiled
def joint_energies(
    design: Design, prices: Prices, batch: LayerBatch, bounds: Ints, windows: Ints, cycles: Floats
) -> Floats:
    """Return float64[B], energy (pJ) without leakage of the chip that no layer goes below.

    Args:
        design: one on which no tensor may bypass a level.
        prices: of its words.
        batch: the layers, as :func:`archloom.evaluators.bounds.layer_kernel.batch_costs` has them.
        bounds, windows: int64[B, 8] and int64[B, 2, 4] of them.
        cycles: float64[B], that they take at least.
    """
    count, tiles = len(bounds), tiles_of(design)
    found = np.empty(count)
    for i in range(count):
        work, limits = one_work(batch.works, i), limits_in(batch.shares, i, tiles)
        layer = Whole(design, prices, work, limits, bounds[i], windows[i])
        energy = work.macs * prices.macs_pj + _together(layer)
        for p in range(len(design.shared)):
            running = max(cycles[i], work.macs * prices.busy / limits.below[p])
            energy += prices.leakage_pj[p] * running
        found[i] = energy * (1 - ROUNDING)
    return found
