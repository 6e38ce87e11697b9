"""Convolution as a product of matrices: pixels are gathered into columns (im2col) first.

Weights are as they are, [K, taps]. The column matrix is [taps, pixels]; a layer of 1x1 windows
without stride has its map for one, and gathers nothing.
"""

from typing import Any

from ..schedules import Gemm, Untuned
from .formula import Formula, halide


def columns(formula: Formula) -> Any:
    """Return the column matrix as a function of (x, y, tap, group)."""
    hl, shape = halide(), formula.spec.shape
    x, y, t, g = (formula.variables[name] for name in "xytg")
    if shape.pointwise:
        return formula.image
    found = hl.Func("columns")
    window = shape.r * shape.s
    found[x, y, t, g] = formula.padded[
        x * shape.stride[1] + (t % shape.s) * shape.dilation[1],
        y * shape.stride[0] + ((t % window) // shape.s) * shape.dilation[0],
        t // window,
        g,
    ]
    # sizes that the compiler knows make reads over the ends of rows reads of dense vectors
    found.bound(x, 0, shape.q)
    return found


def gathered_taps(formula: Formula) -> int:
    """Return the rows of the column matrix of a group."""
    shape = formula.spec.shape
    return (shape.c // formula.groups) * shape.r * shape.s


def gather(formula: Formula, matrix: Any, vector: int, at: tuple[Any, Any] | None = None) -> None:
    """Say when the column matrix is made: first, or inside a loop of a function."""
    shape = formula.spec.shape
    formula.pad(vector)
    if shape.pointwise:
        return
    x, y = formula.variables["x"], formula.variables["y"]
    if at is None:
        matrix.compute_root().bound(y, 0, shape.p)
    else:
        matrix.compute_at(*at)
    matrix.vectorize(x, min(vector, shape.q), halide().TailStrategy.GuardWithIf)


def gemm(formula: Formula, schedule: Gemm | Untuned) -> tuple[Any, list[Any]]:
    """Return the result of a dense convolution by a matrix product, and its arguments."""
    hl, shape = halide(), formula.spec.shape
    px, k, g = formula.variables["px"], formula.variables["k"], formula.variables["g"]
    sizes = (shape.taps, formula.group_outputs, formula.groups)
    weights = formula.argument("weights", formula.stored, sizes)
    taps = hl.RDom([(0, shape.taps)], "taps")
    matrix = columns(formula)
    total, result = hl.Func("total"), hl.Func("result")
    total[px, k, g] = formula.bias[k, g]
    row: Any = taps.x
    if shape.depthwise:
        row = formula.input_channel(k, 0) * (shape.r * shape.s) + taps.x
    value = matrix[px % shape.q, px // shape.q, row, g]
    total[px, k, g] += formula.product(weights[taps.x, k, g], value)
    result[px, k, g] = formula.finished(total[px, k, g])
    formula.bound(result, (shape.p * shape.q, formula.group_outputs, formula.groups))
    if isinstance(schedule, Untuned):
        lanes = min(schedule.vector, shape.p * shape.q)
        guard = hl.TailStrategy.GuardWithIf
        gather(formula, matrix, schedule.vector)
        po, pi = formula.variables["po"], formula.variables["pi"]
        result.split(px, po, pi, max(shape.q, lanes), guard).vectorize(pi, lanes, guard)
        formula.spread(result, k)
        total.compute_at(result, po).vectorize(px, lanes, guard)
        total.update().reorder(px, taps.x, k).vectorize(px, lanes, guard)
    else:
        _tuned(formula, schedule, matrix, total, result, taps)
    return result, [formula.image, weights, formula.bias]


def _tuned(
    formula: Formula, schedule: Gemm, matrix: Any, total: Any, result: Any, taps: Any
) -> None:
    hl = halide()
    px, k, g, po, pi, ko, ki = (
        formula.variables[n] for n in ["px", "k", "g", "po", "pi", "ko", "ki"]
    )
    tile = schedule.vector * schedule.pixel_vectors
    result.split(px, po, pi, tile, hl.TailStrategy.ShiftInwards).split(k, ko, ki, schedule.channels)
    outer = (ko, po) if schedule.order == "pixels_outer" else (po, ko)
    result.reorder(pi, ki, *outer, g).vectorize(pi, schedule.vector).unroll(pi).unroll(ki)
    formula.spread(result, outer[-1])
    total.compute_at(result, outer[0]).vectorize(px, schedule.vector).unroll(px).unroll(k)
    update = total.update().reorder(px, k, taps.x)
    update.vectorize(px, schedule.vector).unroll(px).unroll(k)
    if schedule.unroll > 1:
        update.unroll(taps.x, schedule.unroll)
    place = (result, po) if schedule.columns == "tile" else None
    gather(formula, matrix, schedule.vector, place)
