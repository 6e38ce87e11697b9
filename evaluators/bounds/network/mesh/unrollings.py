"""What the two axes of a mesh may unroll together, in whole numbers: compiled."""

from typing import Final

import numpy as np

from archloom.evaluators.jit import allocating, helper

from ....arrays import Ints

#: steps up to which what is unrolled is told apart, over the fewest
LONGER: Final = 1.3

#: bits of a key
_BITS: Final = 62


@helper
def _is_maximal(bounds: Ints, dims: int, most: int, factors: Ints, product: int) -> bool:
    for d in range(8):
        longer = product // factors[d] * (factors[d] + 1)
        if dims >> d & 1 and factors[d] < bounds[d] and longer <= most:
            return False
    return True


@allocating
def _of_axis(bounds: Ints, dims: int, most: int) -> Ints:
    """Return int64[n, 8], factors of dimensions along an axis with so many children, none of which
    can be larger alone."""
    found, count = np.ones((64, 8), np.int64), 0
    factors, product = np.ones(8, np.int64), 1
    while True:
        if _is_maximal(bounds, dims, most, factors, product):
            if count == len(found):
                more = np.ones((2 * count, 8), np.int64)
                more[:count] = found
                found = more
            for d in range(8):
                found[count, d] = factors[d]
            count += 1
        d = 0
        while d < 8:
            if dims >> d & 1 and factors[d] < bounds[d]:
                larger = product // factors[d] * (factors[d] + 1)
                if larger <= most:
                    factors[d] += 1
                    product = larger
                    break
            product //= factors[d]
            factors[d] = 1
            d += 1
        if d == 8:
            return found[:count]


@helper
def steps_of(bounds: Ints, factors: Ints) -> float:
    """Return the steps that a mesh takes at least which unrolls so much of each dimension. Images
    may run in parts of any size, so they count in fractions."""
    steps = bounds[0] / factors[0]
    for d in range(1, 8):
        steps *= -(-bounds[d] // factors[d])
    return float(steps)


@helper
def _place(table: Ints, key: int) -> int:
    """Return where a key is, or where it may stand."""
    at = (key * 0x5851F42D4C957F2D >> 20) & (len(table) - 1)
    while table[at] >= 0 and table[at] != key:
        at = (at + 1) & (len(table) - 1)
    return at


@allocating
def _places_of(bounds: Ints, most: int) -> Ints:
    """Return int64[9], the first bit of each dimension in a key, and how many bits there are."""
    first, bits = np.zeros(9, np.int64), 0
    for d in range(8):
        while min(int(bounds[d]), most) >> bits - first[d] > 0:
            bits += 1
        first[d + 1] = bits
    return first


@allocating
def _keys(bounds: Ints, over_x: Ints, over_y: Ints, first: Ints, enough: float) -> Ints:
    """Return keys of what both axes unroll, each once; some of more steps are left out."""
    table, keys, number = np.full(1 << 12, -1), np.empty(1 << 11, np.int64), 0
    factors, fewest = np.ones(8, np.int64), np.inf
    for i in range(len(over_x)):
        for j in range(len(over_y)):
            key = 0
            for d in range(8):
                factors[d] = min(bounds[d], over_x[i, d] * over_y[j, d])
                key |= factors[d] << first[d]
            at = _place(table, key)
            steps = steps_of(bounds, factors)
            fewest = min(fewest, steps)
            if table[at] == key or steps > max(enough, LONGER * fewest):
                continue
            if number == len(keys):
                more, table = np.empty(2 * number, np.int64), np.full(2 * len(table), -1)
                for n in range(number):
                    more[n] = keys[n]
                    table[_place(table, keys[n])] = keys[n]
                keys, at = more, _place(table, key)
            table[at] = keys[number] = key
            number += 1
    return keys[:number]


@allocating
def unrollings(bounds: Ints, along: Ints, most: Ints, enough: float) -> Ints:
    """Return int64[n, 8], what both axes unroll of each dimension, each once.

    Whatever else they may unroll is no more of any dimension than one of these, or takes more than
    ``enough`` steps and more than 1.3 times the fewest.

    Args:
        bounds: int64[8] of the layer.
        along: int64[2], dimensions that each axis may unroll, as bits.
        most: int64[2], children of each.
        enough: steps.

    Returns:
        Nothing if numbers are too large for it.
    """
    first, long = _places_of(bounds, int(most[0] * most[1])), 0
    for d in range(8):
        long |= int(bounds[d] > 1) << d
    if first[8] > _BITS:
        return np.ones((0, 8), np.int64)
    over_x = _of_axis(bounds, int(along[0]) & long, int(most[0]))
    over_y = _of_axis(bounds, int(along[1]) & long, int(most[1]))
    keys = _keys(bounds, over_x, over_y, first, enough)
    found, fewest, some = np.ones((len(keys), 8), np.int64), np.inf, 0
    for n in range(len(keys)):
        for d in range(8):
            found[n, d] = keys[n] >> first[d] & ((1 << first[d + 1] - first[d]) - 1)
        fewest = min(fewest, steps_of(bounds, found[n]))
    for n in range(len(keys)):
        if steps_of(bounds, found[n]) <= max(enough, LONGER * fewest):
            for d in range(8):
                found[some, d] = found[n, d]
            some += 1
    return found[:some]
