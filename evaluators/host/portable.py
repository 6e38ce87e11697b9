"""Plain loops compiled by numba, for machines without Halide: one schedule, one thread.

The map is padded first; then each row of pixels adds up one tap after the other, which numba turns
into vector code by itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import compiled, helper

from .kernel import KernelSpec
from .operands import ADDED, STORED, Operands
from .shape import ConvShape


class Geometry(NamedTuple):
    """Numbers of a shape that the loops need."""

    group_inputs: int
    group_outputs: int
    top: int
    left: int
    stride_rows: int
    stride_columns: int
    dilation_rows: int
    dilation_columns: int


def geometry(shape: ConvShape) -> Geometry:
    """Return the numbers of a shape."""
    groups = shape.groups
    parts = (shape.c // groups, shape.k // groups)
    return Geometry(*parts, *shape.padding, *shape.stride, *shape.dilation)


@compiled
def fill_frame(image: Any, frame: Any, about: Geometry) -> None:
    """Copy a map into the frame that windows read; what is around it stays zero."""
    channels, rows, columns = image.shape
    rows = min(rows, frame.shape[1] - about.top)
    columns = min(columns, frame.shape[2] - about.left)
    for c in range(channels):
        for y in range(rows):
            for x in range(columns):
                frame[c, y + about.top, x + about.left] = image[c, y, x]


@helper
def _add_row(row: Any, line: Any, weight: Any, stride: int) -> None:
    """Add a weight's products with every ``stride``-th value of a line to a row."""
    if stride == 1:
        # a loop of its own, for dense vectors
        for x in range(len(row)):
            row[x] += weight * line[x]
    else:
        for x in range(len(row)):
            row[x] += weight * line[x * stride]


@compiled
def add_products(frame: Any, weights: Any, bias: Any, total: Any, about: Geometry) -> None:
    """Add up a dense convolution: total[K, P, Q]."""
    outputs, rows, columns = total.shape
    _, inputs, r, s = weights.shape
    for k in range(outputs):
        first = k // about.group_outputs * about.group_inputs
        for y in range(rows):
            for x in range(columns):
                total[k, y, x] = bias[k]
            for c in range(inputs):
                for i in range(r):
                    line = y * about.stride_rows + i * about.dilation_rows
                    for j in range(s):
                        weight = weights[k, c, i, j]
                        part = frame[first + c, line, j * about.dilation_columns :]
                        _add_row(total[k, y], part, weight, about.stride_columns)


@compiled
def add_sparse_products(
    frame: Any, rows_of: Any, window: Any, bias: Any, total: Any, about: Geometry
) -> None:
    """Add up a convolution whose weights are in CSR: (values, places, starts), window (R, S)."""
    values, places, starts = rows_of
    r, s = window
    outputs, rows, columns = total.shape
    for k in range(outputs):
        first = k // about.group_outputs * about.group_inputs
        for y in range(rows):
            for x in range(columns):
                total[k, y, x] = bias[k]
            for e in range(starts[k], starts[k + 1]):
                place = places[e]
                c, i, j = place // (r * s), place // s % r, place % s
                line = y * about.stride_rows + i * about.dilation_rows
                part = frame[first + c, line, j * about.dilation_columns :]
                _add_row(total[k, y], part, values[e], about.stride_columns)


@compiled
def activate(total: Any, result: Any, least: Any, most: Any) -> None:
    """Store sums between two limits."""
    outputs, rows, columns = total.shape
    for k in range(outputs):
        for y in range(rows):
            for x in range(columns):
                result[k, y, x] = min(max(total[k, y, x], least), most)


@compiled
def rescale(total: Any, result: Any, scale: Any, least: Any) -> None:
    """Store int32 sums as int8: scaled in float32, rounded half to even, cut off."""
    outputs, rows, columns = total.shape
    for k in range(outputs):
        for y in range(rows):
            for x in range(columns):
                scaled = np.rint(np.float32(total[k, y, x]) * scale)
                result[k, y, x] = np.int8(min(max(scaled, least), np.float32(127)))


def portable_layer(
    spec: KernelSpec, operands: Operands
) -> Callable[[NDArray[Any], NDArray[Any]], Callable[[], object]]:
    """Return a function that binds the loops to the maps that they read and fill."""
    shape, about = spec.shape, geometry(spec.shape)
    frame: NDArray[Any] = np.zeros((shape.c, *shape.padded), STORED[spec.dtype])
    total: NDArray[Any] = np.zeros((shape.k, shape.p, shape.q), ADDED[spec.dtype])
    add: Callable[[], object]
    if spec.sparse:
        matrix = operands.csr
        rows_of = (matrix.values, matrix.places, matrix.starts)

        def add() -> None:
            add_sparse_products(frame, rows_of, (shape.r, shape.s), operands.bias, total, about)

    else:

        def add() -> None:
            add_products(frame, operands.weights, operands.bias, total, about)

    store = _store(spec, operands, total)

    def bind(image: NDArray[Any], result: NDArray[Any]) -> Callable[[], object]:
        def call() -> None:
            fill_frame(image, frame, about)
            add()
            store(result)

        return call

    return bind


def _store(
    spec: KernelSpec, operands: Operands, total: NDArray[Any]
) -> Callable[[NDArray[Any]], None]:
    activation = spec.shape.activation
    if spec.dtype == "int8":
        scale, floor = np.float32(operands.scale), np.float32(0 if activation else -128)
        return lambda result: rescale(total, result, scale, floor)
    least = np.float32(0 if activation else -np.inf)
    most = np.float32(6 if activation == "relu6" else np.inf)
    return lambda result: activate(total, result, least, most)
