"""Blocks of outputs and of kernel positions against sets of coordinates."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.bounds.layer_work import (
    OF_KERNEL,
    OF_OUTPUTS,
    PADDED,
    REAL,
    SCATTERED,
    inside_taps,
    words_per_mac,
    work_of,
)
from archloom.evaluators.bounds.level_capacity import unrolled
from archloom.space.workload.dims import INPUTS, OUTPUTS, WEIGHTS

#: multicast everywhere
ONE = np.ones(1, np.int64)


@st.composite
def axes(draw):
    """Draw outputs, taps, and (stride, dilation, padding, size) of one axis."""
    outer, kernel = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    pad = draw(st.integers(0, (kernel - 1) * dilation))
    least = max(1, (outer - 1) * stride - pad + 1)
    size = draw(st.integers(least, least + kernel * dilation))
    return outer, kernel, (stride, dilation, pad, size)


def taps(outputs, kernel, axis, inside=True):
    """Return (output, tap) pairs by the row that they read."""
    stride, dilation, pad, size = axis
    rows = {}
    for i, j in product(outputs, kernel):
        row = i * stride + j * dilation - pad
        if not inside or 0 <= row < size:
            rows.setdefault(row, set()).add((i, j))
    return rows


def nest_of(rows, columns):
    (p, r, row_axis), (q, s, column_axis) = rows, columns
    bounds = np.array([1, 1, 1, 1, p, q, r, s])
    return work_of(bounds, np.array([row_axis, column_axis]))


@given(axes())
def test_pairs_and_rows_of_the_real_map(drawn):
    outer, kernel, axis = drawn
    rows = taps(range(outer), range(kernel), axis)
    pairs, count = inside_taps(outer, kernel, np.array(axis))
    assert (pairs, count) == (sum(map(len, rows.values())), len(rows))


def blocks(length, size, offset):
    """Cut a range into blocks of ``size``; the first has ``offset`` fewer."""
    starts = [0, *range(size - offset, length, size)]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], length], strict=True) if b > a]


@settings(max_examples=400)
@given(axes(), st.integers(1, 12), st.data())
def test_blocks_along_an_axis_touch_what_their_rate_says_or_more(drawn, size, data):
    """Blocks of at most ``size``, cut anywhere, of outputs or of taps, padded or not."""
    outer, kernel, axis = drawn
    work = nest_of(drawn, (1, 1, (1, 1, 0, 1)))
    for real, kind in product((PADDED, REAL), (OF_OUTPUTS, OF_KERNEL)):
        length = (outer, kernel)[kind]
        cut = min(size, length)
        offset = data.draw(st.integers(0, cut - 1)) if real == PADDED else 0
        touched = 0
        for block in blocks(length, cut, offset):
            sides = (block, range(kernel)) if kind == OF_OUTPUTS else (range(outer), block)
            touched += len(taps(*sides, axis, inside=real == REAL))
        apart, slope, edge = work.rates[real, kind, 0]
        rate = min(apart, slope + edge / cut)
        assert touched >= rate * outer * kernel - 1e-9


@settings(max_examples=300)
@given(axes(), st.data())
def test_positions_that_are_no_neighbours_touch_what_the_scattered_rate_says(drawn, data):
    """Any set of outputs with all taps, any set of taps with all outputs."""
    outer, kernel, axis = drawn
    work = nest_of(drawn, (1, 1, (1, 1, 0, 1)))
    for kind, length in ((OF_OUTPUTS, outer), (OF_KERNEL, kernel)):
        block = data.draw(st.sets(st.integers(0, length - 1), min_size=1))
        sides = (block, range(kernel)) if kind == OF_OUTPUTS else (range(outer), block)
        touched = len(taps(*sides, axis, inside=False))
        apart, slope, edge = work.rates[SCATTERED, kind, 0]
        rate = min(apart, slope + edge / len(block))
        assert touched >= rate * outer * kernel * len(block) / length - 1e-9


@given(axes())
def test_rates_are_exact_where_nothing_is_padded(drawn):
    outer, kernel, axis = drawn
    work = nest_of(drawn, (1, 1, (1, 1, 0, 1)))
    for size in (d for d in range(1, outer + 1) if outer % d == 0):
        touched = outer // size * len(taps(range(size), range(kernel), axis, inside=False))
        apart, slope, edge = work.rates[PADDED, OF_OUTPUTS, 0]
        assert min(apart, slope + edge / size) == pytest.approx(touched / (outer * kernel))


@given(axes(), axes(), st.integers(1, 150))
def test_words_per_mac_is_below_every_rectangle_and_near_the_best(rows, columns, positions):
    work = nest_of(rows, columns)
    p, q = rows[0], columns[0]
    for real in (PADDED, REAL):
        rates, sides = work.rates[real, OF_OUTPUTS], work.sides[OF_OUTPUTS]
        least = words_per_mac(float(positions), rates, sides)

        def rate(axis, size, rates=rates):
            return min(rates[axis, 0], rates[axis, 1] + rates[axis, 2] / size)

        steps = np.linspace(1, p, 12 * p)
        real_sides = [
            rate(0, a) * rate(1, min(q, positions / a)) for a in steps if positions / a >= 1
        ]
        assert least <= min(real_sides) + 1e-12
        # the sides that it thinks of are on the grid or between two of its points
        assert least >= min(real_sides) * 0.97


@given(axes(), axes())
def test_rates_fall_and_words_of_blocks_grow(rows, columns):
    """What the search of intervals rests on: docs/explanation/bounds_proofs.md, lemma 2."""
    work = nest_of(rows, columns)
    for real, kind in product((PADDED, REAL, SCATTERED), (OF_OUTPUTS, OF_KERNEL)):
        rates, sides = work.rates[real, kind], work.sides[kind]
        xs = np.geomspace(1, 400, 60)
        each = np.array([words_per_mac(float(x), rates, sides) for x in xs])
        assert (np.diff(each) <= 1e-12).all()
        assert (np.diff(xs * each) >= -1e-9).all()


@settings(max_examples=50)
@given(axes(), axes(), st.tuples(*[st.integers(1, 4)] * 4))
def test_distinct_words_are_those_of_the_sets(rows, columns, others):
    n, g, k, c = others
    (p, r, row_axis), (q, s, column_axis) = rows, columns
    work = work_of(np.array([n, g, k, c, p, q, r, s]), np.array([row_axis, column_axis]))
    for real in (PADDED, REAL):
        sides = [
            len(taps(range(out), range(kernel), axis, inside=real == REAL))
            for out, kernel, axis in (rows, columns)
        ]
        assert work.words[real, INPUTS] == n * g * c * prod(sides)
        assert work.words[real, WEIGHTS] == g * k * c * r * s
        assert work.words[real, OUTPUTS] == n * g * k * p * q


def greatest(bounds, axes_of):
    """Try all factors up to the bounds on each axis, and return the largest product that works."""
    best = 0
    dims = range(len(bounds))
    options = [
        [f for f in product(*(range(1, b + 1) for b in bounds)) if fits(f, children, allowed)]
        for children, allowed in axes_of
    ]
    for chosen in product(*options):
        factors = [prod(f[d] for f in chosen) for d in dims]
        if all(f <= b for f, b in zip(factors, bounds, strict=True)):
            best = max(best, prod(factors))
    return best


def fits(factors, children, allowed):
    return prod(factors) <= children and all(f == 1 or d in allowed for d, f in enumerate(factors))


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(1, 6), st.sets(st.integers(0, 2))), min_size=2, max_size=2),
)
def test_no_factors_unroll_more_than_the_cut(bounds, mesh):
    fanout = np.array([[children for children, _ in mesh]])
    dims = np.array([[sum(1 << d for d in allowed) for _, allowed in mesh]])
    padded = np.array([*bounds, 1, 1, 1, 1, 1])
    most = unrolled(padded, 0b111, fanout, dims, ONE, 0, 0)
    found = greatest(bounds, mesh)
    assert most >= found
    # whole numbers lose less than half on each of two axes
    assert most <= 4 * found


def test_a_cut_by_hand():
    """Of 16 x 16 children, along x any of K = 2, P = 4, Q = 4, along y K and P: 2 * 4 * 4."""
    bounds = np.array([1, 1, 2, 9, 4, 4, 1, 1])
    fanout, dims = np.array([[16, 16]]), np.array([[0b110100, 0b010100]])
    assert unrolled(bounds, 255, fanout, dims, ONE, 0, 0) == 32
    assert unrolled(bounds, 0b000100, fanout, dims, ONE, 0, 0) == 2
    assert unrolled(bounds, 0b001000, fanout, dims, ONE, 0, 0) == 1
    assert unrolled(bounds * 9, 255, fanout, dims, ONE, 0, 0) == 256
    assert unrolled(bounds, 255, fanout, dims, 0 * ONE, 0, 0) == 1


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 9), min_size=8, max_size=8),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 255)), min_size=6, max_size=6),
    st.integers(0, 255),
    st.integers(0, 7),
)
def test_a_cut_is_the_least_over_all_sets_of_dimensions(bounds, axes_of, dims, sent):
    """Whether it went over sets of dimensions or of axes."""
    fanout = np.array([children for children, _ in axes_of]).reshape(3, 2)
    allowed = np.array([bits for _, bits in axes_of]).reshape(3, 2)
    multicast = np.array([sent >> level & 1 for level in range(3)])
    least = np.inf
    for cut in range(256):
        product = float(prod(bounds[d] for d in range(8) if cut >> d & 1))
        for level, axis in np.ndindex(3, 2):
            if multicast[level] and allowed[level, axis] & dims & ~cut:
                product *= fanout[level, axis]
        least = min(least, product)
    assert unrolled(np.array(bounds), dims, fanout, allowed, multicast, 0, 2) == least
