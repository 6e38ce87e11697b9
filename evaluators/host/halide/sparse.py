"""Kernels for weights in CSR: each output channel adds up the products of its row of non-zeros.

Values, columns and row pointers are arguments: one compiled kernel serves every pattern. Columns
are promised to be in range, which switches off checks, so they are checked before the first call
(:mod:`archloom.evaluators.host.csr`). Accumulators of a tile of pixels stay in registers while a
row's products are added.
"""

from typing import Any

from ..schedules import SparseRows, Untuned
from .formula import Formula, halide
from .gemm import columns, gather


def sparse(formula: Formula, schedule: SparseRows | Untuned) -> tuple[Any, list[Any]]:
    """Return the result of a direct convolution or a matrix product in CSR, and its arguments."""
    hl, shape = halide(), formula.spec.shape
    direct = formula.spec.algorithm == "direct"
    x, y, k, g, px = (formula.variables[n] for n in ["x", "y", "k", "g", "px"])
    values = hl.ImageParam(hl.Float(32), 1, "values")
    places = hl.ImageParam(hl.Int(32), 1, "places")
    starts = hl.ImageParam(hl.Int(32), 1, "starts")
    longest = hl.Param(hl.Int(32), "longest")
    row = g * formula.group_outputs + k
    entry = hl.RDom([(0, longest)], "entry")
    entry.where(entry.x < starts[row + 1] - starts[row])
    number = hl.unsafe_promise_clamped(starts[row] + entry.x, 0, places.dim(0).extent() - 1)
    tap = hl.unsafe_promise_clamped(places[number], 0, shape.taps - 1)
    total, result = hl.Func("total"), hl.Func("result")
    pixel = (x, y) if direct else (px,)
    if direct:
        window = shape.r * shape.s
        matrix = None
        value = formula.padded[
            x * shape.stride[1] + (tap % shape.s) * shape.dilation[1],
            y * shape.stride[0] + ((tap % window) // shape.s) * shape.dilation[0],
            formula.input_channel(k, tap // window),
            g,
        ]
    else:
        matrix = columns(formula)
        if shape.depthwise:
            tap = formula.input_channel(k, 0) * (shape.r * shape.s) + tap
        value = matrix[px % shape.q, px // shape.q, tap, g]
    total[(*pixel, k, g)] = formula.bias[k, g]
    total[(*pixel, k, g)] += values[number] * value
    result[(*pixel, k, g)] = formula.finished(total[(*pixel, k, g)])
    pixels = (shape.q, shape.p) if direct else (shape.p * shape.q,)
    formula.bound(result, (*pixels, formula.group_outputs, formula.groups))
    if matrix is None:
        formula.pad(schedule.vector)
    else:
        gather(formula, matrix, schedule.vector)
    if isinstance(schedule, Untuned):
        _untuned(formula, schedule, total, result, entry)
    else:
        _tuned(formula, schedule, total, result, entry)
    return result, [formula.image, values, places, starts, formula.bias, longest]


def _untuned(formula: Formula, schedule: Untuned, total: Any, result: Any, entry: Any) -> None:
    guard, shape = halide().TailStrategy.GuardWithIf, formula.spec.shape
    k, y, po, pi = (formula.variables[n] for n in ["k", "y", "po", "pi"])
    if formula.spec.algorithm == "direct":
        axis, place, lanes = formula.variables["x"], y, min(schedule.vector, shape.q)
        result.vectorize(axis, lanes, guard)
    else:
        axis, place = formula.variables["px"], po
        lanes = min(schedule.vector, shape.p * shape.q)
        result.split(axis, po, pi, max(shape.q, lanes), guard).vectorize(pi, lanes, guard)
    formula.spread(result, k)
    total.compute_at(result, place).vectorize(axis, lanes, guard)
    update = total.update()
    update.reorder(*([axis, entry.x, y] if place is y else [axis, entry.x]))
    update.vectorize(axis, lanes, guard)


def _tuned(formula: Formula, schedule: SparseRows, total: Any, result: Any, entry: Any) -> None:
    shift = halide().TailStrategy.ShiftInwards
    x, y, k, g, px, po, pi = (formula.variables[n] for n in ["x", "y", "k", "g", "px", "po", "pi"])
    yo, yi, ko, ki = (formula.variables[n] for n in ["yo", "yi", "ko", "ki"])
    direct = formula.spec.algorithm == "direct"
    axis = x if direct else px
    tile = schedule.vector * schedule.pixel_vectors
    result.split(axis, po, pi, tile, shift).split(k, ko, ki, schedule.rows)
    inner, pixels = [pi], [po]
    if direct:
        result.split(y, yo, yi, schedule.y_rows).unroll(yi)
        inner, pixels = [pi, yi], [po, yo]
    # a task takes several rows; each has its tiles, or each tile has its rows
    rows_inner = schedule.order == "pixels_outer"
    outer = [ki, ko, *pixels] if rows_inner else [*pixels, ki, ko]
    result.reorder(*inner, *outer, g).vectorize(pi, schedule.vector).unroll(pi)
    formula.spread(result, outer[-1])
    total.compute_at(result, outer[0]).vectorize(axis, schedule.vector).unroll(axis)
    update = total.update()
    update.reorder(axis, *([y] if direct else []), entry.x)
    update.vectorize(axis, schedule.vector).unroll(axis)
    if direct:
        total.unroll(y)
        update.unroll(y)
