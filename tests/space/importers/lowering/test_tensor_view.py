"""View algebra against numpy: which word stands where after movements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.space.importers.lowering.tensor_view import (
    REPEATED,
    Atom,
    NotAView,
    Piece,
    View,
    concat,
    expand,
    merged,
    narrow,
    refined,
    reshape,
    run,
    split,
    transpose,
)

Words = np.ndarray[Any, np.dtype[np.int64]]


def whole(source: str, shape: tuple[int, ...]) -> View:
    dims = tuple(run(n, axis) for axis, n in enumerate(shape))
    return View((Piece(source, (0,) * len(shape), dims),))


def words(view: View, maps: dict[str, Words]) -> Words:
    """Read a view word by word."""
    parts = []
    for piece in view.pieces:
        found = np.zeros(piece.shape, np.int64)
        for index in np.ndindex(piece.shape):
            where = list(piece.start)
            for i, dim in zip(index, piece.dims, strict=True):
                for atom in reversed(dim):
                    i, digit = divmod(i, atom.size)
                    if atom.axis != REPEATED:
                        where[atom.axis] += digit * atom.stride
            found[index] = maps[piece.source][tuple(where)]
        parts.append(found)
    return np.concatenate(parts, view.axis) if parts[0].ndim else parts[0]


def shapes_of(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of so many values."""

    @st.composite
    def draw_shape(draw: st.DrawFn) -> tuple[int, ...]:
        left, shape = count, []
        while left > 1:
            divisor = draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0]))
            shape.append(divisor)
            left //= divisor
            if len(shape) == 4:
                shape[-1] *= left
                break
        return tuple(shape) or (1,)

    return draw_shape()


@st.composite
def moved(draw: st.DrawFn) -> tuple[View, Words, dict[str, Words]]:
    """A view after some movements, and what numpy makes of them."""
    maps = {}
    views: list[tuple[View, Words]] = []
    for source in "ab":
        shape = draw(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6])] * 3))
        first = sum(m.size for m in maps.values())
        maps[source] = np.arange(first, first + prod(shape)).reshape(shape)
        views.append((whole(source, shape), maps[source]))
    view, array = views[0]
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["reshape", "transpose", "narrow", "concat", "expand"]))
        try:
            view, array = _move(draw, kind, view, array, views[1])
        except NotAView:
            continue
    return view, array, maps


def _move(
    draw: st.DrawFn, kind: str, view: View, array: Words, other: tuple[View, Words]
) -> tuple[View, Words]:
    if kind == "reshape":
        shape = draw(shapes_of(array.size))
        return reshape(view, shape), array.reshape(shape)
    axis = draw(st.integers(0, array.ndim - 1))
    if kind == "transpose":
        order = draw(st.permutations(range(array.ndim)))
        return transpose(view, order), array.transpose(order)
    if kind == "narrow":
        start = draw(st.integers(0, array.shape[axis] - 1))
        stop = draw(st.integers(start + 1, array.shape[axis]))
        step = draw(st.integers(1, 3))
        index = tuple(slice(start, stop, step) if i == axis else slice(None) for i in range(9))
        return narrow(view, axis, start, stop, step), array[index[: array.ndim]]
    if kind == "concat":
        extra, extra_array = other
        if extra_array.ndim != array.ndim or array.size > 200:
            return concat([view, view], axis), np.concatenate([array, array], axis)
        sides = [a.shape[:axis] + a.shape[axis + 1 :] for a in (array, extra_array)]
        if sides[0] != sides[1]:
            raise NotAView
        return concat([view, extra], axis), np.concatenate([array, extra_array], axis)
    shape = tuple(2 if n == 1 else n for n in array.shape)
    return expand(view, (2, *shape)), np.broadcast_to(array, (2, *shape))


@given(moved())
def test_views_read_the_words_that_numpy_moves(case: tuple[View, Words, dict[str, Words]]) -> None:
    view, array, maps = case
    assert view.shape == array.shape
    assert np.array_equal(words(view, maps), array)


@given(st.data())
def test_reshape_to_merged_and_back_is_always_a_view(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple))
    view = whole("a", shape)
    flat = reshape(view, (prod(shape),))
    assert reshape(flat, shape) == view


def test_split_of_a_fused_projection_is_a_box() -> None:
    fused = whole("a", (7, 3 * 4 * 5))
    heads = transpose(reshape(fused, (7, 3, 4, 5)), (1, 2, 0, 3))
    (key,) = narrow(heads, 0, 1, 2).pieces
    assert key.start == (0, 20)
    assert key.dims == ((), (Atom(4, 1, 5),), (Atom(7, 0, 1),), (Atom(5, 1, 1),))


def test_pieces_survive_a_flattening_behind_them() -> None:
    both = concat([whole("a", (1, 2, 3, 3)), whole("b", (1, 4, 3, 3))], 1)
    flat = reshape(both, (1, 54))
    assert [piece.shape for piece in flat.pieces] == [(1, 18), (1, 36)]
    assert reshape(flat, (1, 6, 9)).shape == (1, 6, 9)


def test_a_shape_that_cuts_through_pieces_is_no_view() -> None:
    both = concat([whole("a", (2, 3)), whole("b", (2, 2))], 1)
    with pytest.raises(NotAView):
        reshape(both, (10,))
    with pytest.raises(NotAView):
        reshape(whole("a", (2, 3)), (3, 2)) and split((Atom(6, 0, 1), Atom(4, 1, 1)), (4, 6))


def test_narrowing_along_pieces_keeps_those_that_are_left() -> None:
    three = concat([whole(name, (2, 3)) for name in "abc"], 1)
    assert [p.source for p in narrow(three, 1, 3, 6).pieces] == ["b"]
    assert [p.shape for p in narrow(three, 1, 2, 7).pieces] == [(2, 1), (2, 3), (2, 1)]
    assert narrow(three, 1, 1, 9, 4).shape == (2, 2)


def test_every_other_index_of_a_dimension_of_two_axes_is_no_view() -> None:
    flat = reshape(whole("a", (1, 4, 4)), (16,))
    with pytest.raises(NotAView):
        narrow(flat, 0, 0, 16, 2)
    with pytest.raises(NotAView):
        narrow(flat, 0, 1, 9)
    assert narrow(flat, 0, 4, 12).shape == (8,)


def test_atoms_that_follow_on_each_other_are_one() -> None:
    assert merged((Atom(2, 1, 6), Atom(3, 1, 2), Atom(2, 0, 1))) == (Atom(6, 1, 2), Atom(2, 0, 1))


def test_common_atoms_of_two_views() -> None:
    one = ((Atom(12, 0, 1),),)
    other = ((Atom(3, 1, 1), Atom(4, 0, 1)),)
    assert refined(one, other) == [((Atom(3, 0, 4), Atom(4, 0, 1)), other[0])]
    with pytest.raises(NotAView):
        refined(((Atom(2, 0, 1), Atom(3, 1, 1)),), ((Atom(3, 0, 1), Atom(2, 1, 1)),))
