"""The compiled closed form against a nest that is walked step by step."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, seed, settings, strategies as st

from archloom.evaluators.loopnest.data_reuse import clamped_sum
from archloom.evaluators.loopnest.kernel import (
    OVER_CAPACITY,
    OVER_FANOUT,
    VALID,
    evaluate_batch,
    evaluate_one,
)
from archloom.evaluators.loopnest.kernel_inputs import new_workspace, unlimited

from ...cases.sweeps import sweep
from ...oracles import walked_nest as oracle
from ...oracles.walked_nest import INPUTS, OUTPUTS, WEIGHTS, G, N, Nest, P, Q, R, S

LETTERS = "NGKCPQRS"


def setup_of(nest, **changes):
    """Return arrays without limits for a nest; prices differ at every level and tensor."""
    levels = nest.levels
    fanout = [[prod(nest.x[v]), prod(nest.y[v])] for v in range(levels)]
    if not nest.alone:
        fanout[-1][0] += 1
    window = [
        [nest.stride[a], nest.dilation[a], nest.padding[a], nest.input_size[a]] for a in (0, 1)
    ]
    price = np.arange(1, 3 * levels + 1, dtype=float).reshape(levels, 3)
    staged = [int(top < levels - 1) for top in nest.top]
    base = unlimited(np.array(nest.bounds, np.int64), np.array(window, np.int64), levels)
    base = base._replace(
        fanout=np.array(fanout, np.int64),
        top=np.array(nest.top, np.int64),
        staged=np.array(staged, np.uint8),
        read_pj=price,
        fill_pj=price * 1.5 + 0.25,
        update_pj=price * 2.5 + 0.75,
        width=np.array([[1, 2, 1], [3, 1, 2], [4, 4, 4], [2, 3, 5]][:levels], np.int64),
        bandwidth=np.array([[2.5, 4, 5], [1.5, 1, 2], [0.75, 9, 9], [0.5, 1, 0.6]][:levels]),
        mac_pj=0.5,
    )
    return base._replace(**changes)


def arrays(nest):
    loops = np.array(
        [
            [t, x, y, o]
            for t, x, y, o in zip(nest.temporal, nest.x, nest.y, nest.order, strict=True)
        ],
        np.int64,
    )
    return loops, np.array(nest.keep, np.uint8)


def evaluated(nest, setup=None):
    """Return (status, energy, chip cycles, DRAM cycles), counts and used instances."""
    loops, keep = arrays(nest)
    found = new_workspace(nest.levels)
    setup = setup_of(nest) if setup is None else setup
    return evaluate_one(setup, loops, keep, found), found.counts, found.used


@st.composite
def nests(draw, levels=(2, 4), buffer_tops=True):
    """Draw a nest of at most some thousand MACs: small primes thrown into random slots."""
    height = draw(st.integers(*levels))
    alone = draw(st.booleans())
    slots = np.ones((height, 3, 8), int)
    open_slots = [
        (v, kind) for v in range(height) for kind in range(3) if not (alone and v == height - 1)
    ]
    open_slots += [(height - 1, 0)] * (2 if alone else 1)
    for _ in range(draw(st.integers(1, 7))):
        (v, kind), d = draw(st.sampled_from(open_slots)), draw(st.integers(0, 7))
        slots[v, kind, d] *= draw(st.sampled_from([2, 3]))
    keep = [[draw(st.booleans()) for _ in range(3)] for _ in range(height - 1)] + [[True] * 3]
    top = [height - 1] * 3
    if buffer_tops and not slots[-1, 1:].max() > 1:
        for t in range(3):
            if draw(st.booleans()):
                top[t], keep[height - 2][t] = height - 2, True
    stride, dilation = ((draw(st.integers(1, 3)), draw(st.integers(1, 3))) for _ in range(2))
    padding, size = [], []
    for axis in (0, 1):
        out, kernel = (int(slots[:, :, d + axis].prod()) for d in (P, R))
        window = (kernel - 1) * dilation[axis] + 1
        pad = draw(st.integers(0, window - 1))
        least = max(1, (out - 1) * stride[axis] - pad + 1)
        exact = (out - 1) * stride[axis] + window - pad
        padding.append(pad)
        size.append(draw(st.integers(least, max(least, exact + 2))))
    return Nest(
        temporal=slots[:, 0].tolist(),
        x=slots[:, 1].tolist(),
        y=slots[:, 2].tolist(),
        order=[draw(st.permutations(range(8))) for _ in range(height)],
        keep=keep,
        top=tuple(top),
        stride=stride,
        dilation=dilation,
        padding=tuple(padding),
        input_size=tuple(size),
        alone=alone,
    )


def one_level_up(outer, order, *, stride=1, dilation=1, pad=0, inner=None):
    """Return a two-level nest that DRAM feeds alone; factors by letter."""

    def row(factors):
        return [factors.get(d, 1) for d in LETTERS]

    temporal = [row(inner or {}), row(outer)]
    bounds = np.prod(temporal, axis=0)
    spans = [
        (int(bounds[P + a]) - 1) * stride + (int(bounds[R + a]) - 1) * dilation for a in (0, 1)
    ]
    pads = [min(pad, (int(bounds[R + a]) - 1) * dilation) for a in (0, 1)]
    sizes = [max(1, span + 1 - 2 * pad) for span, pad in zip(spans, pads, strict=True)]
    rank = [LETTERS.index(d) for d in order]
    rank += [d for d in range(8) if d not in rank]
    return Nest(
        temporal=temporal,
        x=[[1] * 8] * 2,
        y=[[1] * 8] * 2,
        order=[list(range(8)), rank],
        keep=[[True] * 3] * 2,
        top=(1, 1, 1),
        stride=(stride, stride),
        dilation=(dilation, dilation),
        padding=tuple(pads),
        input_size=tuple(sizes),
        alone=True,
    )


@st.composite
def bordered_nests(draw):
    """Draw nests whose tiles of inputs reach over the borders of the map, fed by DRAM alone."""
    small = st.integers(1, 3)
    inner = {d: draw(small) for d in "PQRS"}
    outer = {d: draw(small) for d in "KPQRS"}
    order = "".join(draw(st.permutations("KCPQRS")))
    stride, dilation, pad = draw(small), draw(small), draw(st.integers(0, 6))
    nest = one_level_up(outer, order, stride=stride, dilation=dilation, pad=pad, inner=inner)
    rows, columns = nest.input_size
    return replace(nest, input_size=(rows + draw(st.integers(0, 2)), columns))


@pytest.mark.parametrize("part", sweep(range(4), 1))
def test_counts_energy_and_cycles_are_those_of_the_walked_nest(part):
    @seed(part)
    @settings(max_examples=100)
    @example(one_level_up({"P": 4}, "P", pad=1, inner={"P": 2, "R": 3}))
    @example(one_level_up({"P": 2, "R": 3}, "RP", pad=2, inner={"P": 2}))
    @example(one_level_up({"P": 2, "K": 2, "Q": 3}, "KPQ", stride=2, pad=1, inner={"R": 3, "S": 3}))
    @given(st.one_of(nests(), bordered_nests()))
    def check(nest):
        check_walked(nest)

    check()


def check_walked(nest):
    setup = setup_of(nest)
    (status, energy, chip, dram), counts, used = evaluated(nest, setup)
    assert status == VALID
    expected = oracle.count(nest)
    for level in range(nest.levels):
        assert counts[level].tolist() == expected[level].tolist(), f"level {level}"
    assert used.tolist() == oracle.used(nest)
    assert (energy, chip, dram) == oracle.price(nest, setup)


@settings(max_examples=500)
@given(st.integers(-80, 80), st.integers(1, 9), st.integers(0, 30), st.integers(0, 60))
def test_a_clamped_series_is_summed(start, step, terms, size):
    expected = sum(max(0, min(size, start + i * step)) for i in range(terms))
    # parts of kernels are compiled for other kernels alone
    assert clamped_sum.py_func(start, step, terms, size) == expected


@settings(max_examples=100)
@given(nests(buffer_tops=False).filter(lambda n: n.alone))
def test_dram_never_sends_more_words_without_padding_than_with_it(nest):
    nest = replace(nest, keep=[*nest.keep[:-2], [True] * 3, [True] * 3])
    _, counts, _ = evaluated(nest)
    assert counts[-1, INPUTS, 0] <= oracle.entering(nest, nest.levels - 2, INPUTS)
    whole = oracle.box(nest, INPUTS, [0] * 8, nest.bounds)
    size = tuple(max(whole[3 + axis]) + 1 for axis in (0, 1))
    bare = replace(nest, padding=(0, 0), input_size=size)
    _, counts, _ = evaluated(bare)
    assert counts[-1, INPUTS, 0] == oracle.entering(nest, nest.levels - 2, INPUTS)


def test_a_padded_map_is_fetched_once_when_its_window_slides():
    # 6 rows of outputs, 3x3 windows, padding 1: each of the 6x6 real words enters once
    nest = one_level_up({"P": 6}, "P", pad=1, inner={"Q": 6, "R": 3, "S": 3})
    _, counts, _ = evaluated(nest)
    assert nest.input_size == (6, 6)
    assert counts[0, INPUTS].tolist() == [6 * 6 * 9, 36, 0]
    assert counts[1, INPUTS].tolist() == [36, 0, 0]


@settings(max_examples=100)
@given(nests(buffer_tops=False), st.data())
def test_order_of_loops_inside_the_first_relevant_one_does_not_matter(nest, data):
    """Loops that a tensor does not depend on are free until one that it depends on."""
    level = nest.levels - 1
    tensor = data.draw(st.sampled_from([WEIGHTS, INPUTS, OUTPUTS]))
    order = nest.order[level]
    free = [d for d in order if d not in oracle.INDEXED_BY[tensor]]
    bound = [d for d in order if d in oracle.INDEXED_BY[tensor]]
    shuffled = data.draw(st.permutations(free))
    rows = [*nest.order[:-1], [*free, *bound]], [*nest.order[:-1], [*shuffled, *bound]]
    first, second = (evaluated(replace(nest, order=r))[1][:, tensor].tolist() for r in rows)
    assert first == second


@settings(max_examples=100)
@given(nests(buffer_tops=False))
def test_groups_behave_as_channels_that_everything_depends_on(nest):
    """Swapping the roles of batch and group changes weights alone."""
    swap = [G, N, *range(2, 8)]

    def swapped(rows):
        return [[row[d] for d in swap] for row in rows]

    other = replace(
        nest,
        temporal=swapped(nest.temporal),
        x=swapped(nest.x),
        y=swapped(nest.y),
        order=[[swap[d] for d in row] for row in nest.order],
    )
    ours, theirs = evaluated(nest)[1], evaluated(other)[1]
    assert ours[:, [INPUTS, OUTPUTS]].tolist() == theirs[:, [INPUTS, OUTPUTS]].tolist()


@settings(max_examples=100)
@given(nests())
def test_rows_and_columns_are_alike(nest):
    swap = [0, 1, 2, 3, Q, P, S, R]

    def swapped(rows):
        return [[row[d] for d in swap] for row in rows]

    other = replace(
        nest,
        temporal=swapped(nest.temporal),
        x=swapped(nest.x),
        y=swapped(nest.y),
        order=[[swap[d] for d in row] for row in nest.order],
        stride=nest.stride[::-1],
        dilation=nest.dilation[::-1],
        padding=nest.padding[::-1],
        input_size=nest.input_size[::-1],
    )
    first, second = evaluated(nest), evaluated(other)
    assert first[0] == second[0]
    assert first[1].tolist() == second[1].tolist()


@settings(max_examples=100)
@given(nests(levels=(3, 3)), st.floats(0, 9))
def test_macs_cost_their_number_wherever_they_run(nest, mac_pj):
    (_, without, *_), _, _ = evaluated(nest, setup_of(nest, mac_pj=0.0))
    (_, energy, *_), _, _ = evaluated(nest, setup_of(nest, mac_pj=mac_pj))
    assert energy == pytest.approx(without + prod(nest.bounds) * mac_pj, rel=1e-12)


@settings(max_examples=50)
@given(nests(levels=(3, 3)))
def test_a_batch_gives_what_its_members_give(nest):
    loops, keep = arrays(nest)
    late = loops.copy()
    late[:, 3] = late[:, 3, ::-1]
    setup = setup_of(nest)
    together = evaluate_batch(setup, np.stack([loops, late, loops]), np.stack([keep] * 3))
    for i, order in enumerate((nest.order, late[:, 3].tolist(), nest.order)):
        alone = evaluated(replace(nest, order=order), setup)[0]
        assert tuple(float(column[i]) for column in together) == alone


@settings(max_examples=200)
@given(nests(levels=(3, 3)), st.data())
def test_capacity_is_the_sum_of_kept_tiles(nest, data):
    level = data.draw(st.integers(0, 1))
    tiles = [
        oracle.words(oracle.box(nest, t, [0] * 8, [nest.size(level, d) for d in range(8)]))
        for t in range(3)
    ]
    # what lives in the buffer whole was paid for by its fusion group
    kept = [t for t in range(3) if nest.keep[level][t] and level < nest.top[t]]
    need = sum(tiles[t] for t in kept)
    for room in (need - 1, need):
        shared = np.full(3, -1, np.int64)
        shared[level] = room
        if room >= 0:
            (status, *_), _, _ = evaluated(nest, setup_of(nest, shared=shared))
            assert status == (VALID if room >= need else OVER_CAPACITY)
    for t in kept:
        private = np.full((3, 3), -1, np.int64)
        private[level, t] = tiles[t]
        assert evaluated(nest, setup_of(nest, capacity=private))[0][0] == VALID
        private[level, t] -= 1
        over = evaluated(nest, setup_of(nest, capacity=private))
        assert over[0] == (OVER_CAPACITY, np.inf, np.inf, np.inf)


@settings(max_examples=100)
@given(nests(), st.integers(0, 1), st.data())
def test_unrolling_past_the_mesh_is_refused(nest, axis, data):
    level = data.draw(st.integers(0, nest.levels - 1))
    fanout = setup_of(nest).fanout.copy()
    assert evaluated(nest, setup_of(nest, fanout=fanout))[0][0] == VALID
    fanout[level, axis] = prod((nest.x, nest.y)[axis][level]) - 1
    assert evaluated(nest, setup_of(nest, fanout=fanout))[0][0] == OVER_FANOUT


def test_an_operand_that_lives_in_the_buffer_leaves_dram_alone():
    nest = one_level_up({"P": 4, "K": 3}, "PK", inner={"R": 3})
    nest = replace(
        nest,
        temporal=[*nest.temporal[:1], [1] * 8, nest.temporal[1]],
        x=[[1] * 8] * 3,
        y=[[1] * 8] * 3,
        order=[*nest.order[:1], list(range(8)), nest.order[1]],
        keep=[[True] * 3] * 3,
        top=(2, 1, 1),
    )
    _, counts, _ = evaluated(nest)
    # the window slides over 6 rows once for each of the 3 kernels; outputs are never refetched
    assert counts[1].tolist() == [[9, 9, 0], [18, 0, 0], [0, 0, 12]]
    assert counts[2].tolist() == [[9, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert (counts[0, INPUTS, 1], counts[0, OUTPUTS, 1]) == (18, 0)


def test_results_that_leave_early_come_back():
    """With the reduction outside, every partial sum returns for each step but the first."""
    nest = one_level_up({"C": 5, "K": 2}, "KC")
    _, counts, _ = evaluated(nest)
    assert counts[1, OUTPUTS].tolist() == [2 * 4, 0, 2 * 5]
    nest = one_level_up({"C": 5, "K": 2}, "CK")
    _, counts, _ = evaluated(nest)
    assert counts[1, OUTPUTS].tolist() == [0, 0, 2]
