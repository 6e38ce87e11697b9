"""Networks read the words that a tensor holds, whatever moved them before."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

from ....cases.graph_maker import GraphMaker

Words = np.ndarray[Any, np.dtype[np.int64]]
SHAPE = (1, 4, 3, 6)


class Moved:
    """A graph, and beside it what numpy makes of counted words."""

    def __init__(self, batch: int) -> None:
        shape = (batch, *SHAPE[1:])
        self.g = GraphMaker(a=shape, b=shape)
        self.size = prod(SHAPE)
        self.batch = batch
        # words of one image; every image has the same
        self.maps = {
            name: np.arange(i * self.size, (i + 1) * self.size).reshape(SHAPE[1:])
            for i, name in enumerate("ab")
        }
        self.now = {
            self.g.act(name): np.broadcast_to(array, shape) for name, array in self.maps.items()
        }


@st.composite
def moved(draw: st.DrawFn) -> tuple[Moved, Words]:
    """A gemm that reads a map after some movements, and the words that there are to read."""
    case = Moved(draw(st.sampled_from([1, 2])))
    g = case.g
    (name, array), (_, other) = case.now.items()
    second = list(case.now)[1]
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["reshape", "transpose", "slice", "concat"]))
        axis = draw(st.integers(1, array.ndim - 1))
        if kind == "reshape":
            shape = draw(shapes(array.shape))
            name, array = g.reshape(name, *shape), array.reshape(shape)
        elif kind == "transpose":
            order = (0, *draw(st.permutations(range(1, array.ndim))))
            name, array = g.transpose(name, *order), array.transpose(order)
        elif kind == "slice":
            start = draw(st.integers(0, array.shape[axis] - 1))
            stop = draw(st.integers(start + 1, array.shape[axis]))
            step = draw(st.sampled_from([1, 1, 2]))
            name = g.cut(name, axis, start, stop, step)
            array = array[(slice(None),) * axis + (slice(start, stop, step),)]
        elif array.ndim == 4 and _fit(array.shape, other.shape, axis):
            name, array = g.concat(axis, name, second), np.concatenate([array, other], axis)
    g.linear(name, 5)
    return case, array


def _fit(one: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return all(a == b or i == axis for i, (a, b) in enumerate(zip(one, other, strict=True)))


@st.composite
def shapes(draw: st.DrawFn, before: tuple[int, ...]) -> tuple[int, ...]:
    """Shapes of as many values, images first."""
    left = prod(before[1:])
    shape = []
    for _ in range(draw(st.integers(0, 3))):
        shape.append(draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0])))
        left //= shape[-1]
    return (before[0], *shape, left)


def words_of(network: Network, case: Moved, layer: Layer) -> tuple[set[int], bool]:
    """Words that a layer reads, through copies, and whether there was one."""
    found: set[int] = set()
    copied = False
    sources = network.reads[network.index(layer.name)]
    for operand, source in enumerate(sources):
        maker = network.layers[network.index(source)]
        if maker.operator == "copy":
            found |= words_of(network, case, maker)[0]
            copied = True
            continue
        assert maker.operator == "relu"
        (tensor,) = network.reads[network.index(source)]
        array = case.maps["a" if tensor == "input" else "b"]
        box = layer.slice_of(operand)
        if box is not None:
            array = array[tuple(slice(a, a + n) for a, n in zip(box.start, box.size, strict=True))]
        found |= set(array.ravel().tolist())
    return found, copied


@given(moved())
def test_a_reader_gets_the_words_that_the_tensor_holds(case: tuple[Moved, Words]) -> None:
    made, array = case
    network = lower(made.g.graph())
    assert network.batch == made.batch
    gemm = network.layers[-1]
    assert gemm.input_words == array.size
    read, copied = words_of(network, made, gemm)
    wanted = set(array.ravel().tolist())
    assert read >= wanted
    assert copied or read == wanted
    if not copied and gemm.operands == 1:
        check_alignment(network, made, gemm, array)


def check_alignment(network: Network, case: Moved, gemm: Layer, array: Words) -> None:
    """A box of the reader's own shape holds at each row what the reader takes for a position."""
    (source,) = network.reads[-1]
    (tensor,) = network.reads[network.index(source)]
    whole = case.maps["a" if tensor == "input" else "b"]
    box = gemm.slice_of(0)
    start, size = (box.start, box.size) if box else ((0, 0, 0), whole.shape)
    if size != (gemm.c, gemm.p, 1):
        return
    held = whole[tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))]
    rows = {frozenset(held[:, r, 0].tolist()) for r in range(gemm.p)}
    positions = array[0].reshape(-1, array.shape[-1])
    assert {frozenset(position.tolist()) for position in positions} == rows


@st.composite
def turned(draw: st.DrawFn, case: Moved, name: str) -> tuple[str, Words]:
    """A map whose words stand in another order."""
    array = case.now[name]
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            shape = draw(shapes(array.shape))
            name, array = case.g.reshape(name, *shape), array.reshape(shape)
        else:
            order = (0, *draw(st.permutations(range(1, array.ndim))))
            name, array = case.g.transpose(name, *order), array.transpose(order)
    return name, array


@given(st.data(), st.sampled_from([1, 2]))
def test_a_sum_of_maps_of_its_own_shape_adds_what_stands_at_one_place(
    data: st.DataObject, batch: int
) -> None:
    case = Moved(batch)
    g = case.g
    (first, one), (second, other) = (data.draw(turned(case, name)) for name in case.now)
    second, other = g.reshape(second, *one.shape), other.reshape(one.shape)
    g.two("add", first, second)
    network = lower(g.graph())
    layer = network.layers[-1]
    makers = [network.layers[network.index(source)] for source in network.reads[-1]]
    if any(m.operator == "copy" or m.map_shape != layer.map_shape for m in makers):
        return
    # where each word stands in its map, channels aside: they may have any names
    places = {
        int(word): index[1:]
        for array in case.maps.values()
        for index, word in np.ndenumerate(array)
    }
    for a, b in zip(one[0].ravel(), other[0].ravel(), strict=True):
        assert places[int(a)] == places[int(b)]
