"""Spatial pack: maps in tiles with their halo, output channels in vectors.

Zhang et al., "High performance zero-memory overhead direct convolutions" (ICML 2018) have
channels in vectors; the packing of maps into tiles is that of TVM's schedule of this name. Weights
are packed ahead: [K / vector, C, R, S, vector].
"""

from typing import Any

from ..schedules import SpatialPack, Untuned
from .formula import Formula, halide


def packed_vector(formula: Formula, schedule: SpatialPack | Untuned) -> int:
    """Return the output channels in a vector, for which weights are packed."""
    if isinstance(schedule, SpatialPack):
        return schedule.vector
    return next(n for n in (8, 4, 2, 1) if formula.group_outputs % n == 0)


def spatial_pack(formula: Formula, schedule: SpatialPack | Untuned) -> tuple[Any, list[Any]]:
    """Return the result of a dense convolution by spatial pack, and its arguments."""
    hl, shape = halide(), formula.spec.shape
    x, y, k, g, xi, yi, ki, xo, yo, ko, c = (
        formula.variables[n] for n in ["x", "y", "k", "g", "xi", "yi", "ki", "xo", "yo", "ko", "c"]
    )
    plan = (
        schedule
        if isinstance(schedule, SpatialPack)
        else SpatialPack(packed_vector(formula, schedule))
    )
    vector, width, height = plan.vector, plan.width, plan.height
    sizes = (vector, shape.s, shape.r, formula.reduced_channels, formula.group_outputs // vector)
    weights = formula.argument("weights", formula.stored, (*sizes, formula.groups))
    tiles, total, result = hl.Func("tiles"), hl.Func("total"), hl.Func("result")
    # (place in a tile, channel, tile); the channel is innermost where each output has its own
    read = formula.padded[
        xo * (width * shape.stride[1]) + xi, yo * (height * shape.stride[0]) + yi, c, g
    ]
    axes = (c, xi, yi) if shape.depthwise else (xi, yi, c)
    tiles[(*axes, xo, yo, g)] = read
    window = hl.RDom([(0, shape.s), (0, shape.r), (0, formula.reduced_channels)], "window")
    total[ki, xi, yi, xo, yo, ko, g] = formula.bias[ko * vector + ki, g]
    place = (
        xi * shape.stride[1] + window.x * shape.dilation[1],
        yi * shape.stride[0] + window.y * shape.dilation[0],
    )
    channel = formula.input_channel(ko * vector + ki, window.z)
    index = (channel, *place) if shape.depthwise else (*place, channel)
    weight = weights[ki, window.x, window.y, window.z, ko, g]
    total[ki, xi, yi, xo, yo, ko, g] += formula.product(weight, tiles[(*index, xo, yo, g)])
    result[x, y, k, g] = formula.finished(
        total[k % vector, x % width, y % height, x // width, y // height, k // vector, g]
    )
    formula.bound(result, (shape.q, shape.p, formula.group_outputs, formula.groups))
    if isinstance(schedule, Untuned):
        _untuned(formula, plan, tiles, total, result, window)
    else:
        _tuned(formula, schedule, tiles, total, result, window)
    return result, [formula.image, weights, formula.bias]


def _untuned(
    formula: Formula, plan: SpatialPack, tiles: Any, total: Any, result: Any, window: Any
) -> None:
    x, y, k, g, yi, ki, xi, xo, ko = (
        formula.variables[n] for n in ["x", "y", "k", "g", "yi", "ki", "xi", "xo", "ko"]
    )
    formula.pad(plan.vector)
    tiles.compute_root()
    result.split(k, ko, ki, plan.vector).reorder(ki, x, y, ko, g).vectorize(ki)
    formula.spread(result, ko)
    total.compute_at(result, y).vectorize(ki)
    update = total.update()
    update.reorder(ki, xi, yi, xo, window.x, window.y, window.z).vectorize(ki)


def _tuned(
    formula: Formula, schedule: SpatialPack, tiles: Any, total: Any, result: Any, window: Any
) -> None:
    x, y, k, g, xi, yi, ki, xo, yo, ko = (
        formula.variables[n] for n in ["x", "y", "k", "g", "xi", "yi", "ki", "xo", "yo", "ko"]
    )
    formula.pad(schedule.vector)
    result.split(x, xo, xi, schedule.width).split(y, yo, yi, schedule.height)
    result.split(k, ko, ki, schedule.vector)
    outer = (ko, xo, yo) if schedule.order == "pixels_outer" else (xo, yo, ko)
    if schedule.store == "pixels":
        result.reorder(xi, ki, yi, *outer, g).vectorize(xi)
    else:
        result.reorder(ki, xi, yi, *outer, g).vectorize(ki)
    formula.spread(result, outer[-1])
    total.compute_at(result, outer[0]).vectorize(ki).unroll(xi).unroll(yi)
    update = total.update()
    parts = (window.x, window.y, window.z)
    if schedule.reduction == "window":
        parts = (window.z, window.x, window.y)
    update.reorder(ki, xi, yi, *parts).vectorize(ki).unroll(xi).unroll(yi)
    if schedule.unroll > 1:
        update.unroll(window.z, schedule.unroll)
    if schedule.packing == "whole":
        tiles.compute_root()
    else:
        tiles.compute_at(result, xo)
    if formula.spec.shape.depthwise:
        c = formula.variables["c"]
        lanes = min(schedule.vector, formula.spec.shape.c)
        tiles.vectorize(c, lanes, halide().TailStrategy.GuardWithIf)
