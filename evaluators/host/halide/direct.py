"""Direct convolution: each output value adds up its window, weights as they are [K, C, R, S]."""

from typing import Any

from ..schedules import Direct, Untuned
from .formula import Formula, halide


def direct(formula: Formula, schedule: Direct | Untuned) -> tuple[Any, list[Any]]:
    """Return the result of a dense direct convolution, and its arguments."""
    hl, shape = halide(), formula.spec.shape
    x, y, k, g = (formula.variables[name] for name in "xykg")
    sizes = (shape.s, shape.r, formula.reduced_channels, formula.group_outputs, formula.groups)
    weights = formula.argument("weights", formula.stored, sizes)
    window = hl.RDom([(0, shape.s), (0, shape.r), (0, formula.reduced_channels)], "window")
    total, result = hl.Func("total"), hl.Func("result")
    total[x, y, k, g] = formula.bias[k, g]
    value = formula.padded[
        x * shape.stride[1] + window.x * shape.dilation[1],
        y * shape.stride[0] + window.y * shape.dilation[0],
        formula.input_channel(k, window.z),
        g,
    ]
    weight = weights[window.x, window.y, window.z, k, g]
    total[x, y, k, g] += formula.product(weight, value)
    result[x, y, k, g] = formula.finished(total[x, y, k, g])
    formula.bound(result, (shape.q, shape.p, formula.group_outputs, formula.groups))
    if isinstance(schedule, Untuned):
        _untuned(formula, schedule, total, result, window)
    else:
        _tuned(formula, schedule, total, result, window)
    return result, [formula.image, weights, formula.bias]


def _untuned(formula: Formula, schedule: Untuned, total: Any, result: Any, window: Any) -> None:
    x, y, k = (formula.variables[name] for name in "xyk")
    lanes = min(schedule.vector, formula.spec.shape.q)
    guard = halide().TailStrategy.GuardWithIf
    formula.pad(schedule.vector)
    result.vectorize(x, lanes, guard)
    formula.spread(result, k)
    total.compute_at(result, y).vectorize(x, lanes, guard)
    update = total.update().reorder(x, window.x, window.y, window.z, y, k)
    update.vectorize(x, lanes, guard)


def _tuned(formula: Formula, schedule: Direct, total: Any, result: Any, window: Any) -> None:
    hl = halide()
    x, y, k, g = (formula.variables[name] for name in "xykg")
    xo, yo, ko, xi, yi, ki = (formula.variables[n] for n in ["xo", "yo", "ko", "xi", "yi", "ki"])
    formula.pad(schedule.vector)
    result.split(x, xo, xi, schedule.vector * schedule.x_vectors, hl.TailStrategy.ShiftInwards)
    result.split(y, yo, yi, schedule.y_rows).split(k, ko, ki, schedule.channels)
    pixels_outer = schedule.order == "pixels_outer"
    outer = (ko, xo, yo) if pixels_outer else (xo, yo, ko)
    result.reorder(xi, yi, ki, *outer, g).vectorize(xi, schedule.vector).unroll(yi).unroll(ki)
    if schedule.x_vectors > 1:
        # what is left of the split axis
        result.unroll(xi)
    formula.spread(result, outer[-1])
    total.compute_at(result, outer[0])
    total.vectorize(x, schedule.vector).unroll(x).unroll(y).unroll(k)
    update = total.update().reorder(x, y, k, window.x, window.y, window.z)
    update.vectorize(x, schedule.vector).unroll(x).unroll(y).unroll(k)
    if schedule.unroll:
        update.unroll(window.x).unroll(window.y)
