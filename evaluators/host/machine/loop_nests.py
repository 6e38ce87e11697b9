"""Schedules of kernels as mappings: what their loops are on this machine as hardware of the model.

A tile of accumulators is what registers hold; the loops around it stand at the innermost cache
whose capacity their tiles fit, in their order, so that a cache keeps what it has room for (an
assumption: caches replace lines by age, and share sets). Loops are those of the Halide kernels
(``halide/direct.py``, ``halide/gemm.py``, ``halide/spatial_pack.py``).
"""

from dataclasses import dataclass, field, replace
from math import gcd, prod

from archloom.space.hardware import Hardware
from archloom.space.mapping import LevelMapping, Mapping, full_order
from archloom.space.workload import DIMS, C, G, K, Layer, P, Q, R, S

from ..kernel import KernelSpec
from ..schedules import Direct, Gemm, Schedule, SpatialPack, Untuned, tile_channels
from ..shape import ConvShape

Loops = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LoopNest:
    """The loops of a kernel.

    Attributes:
        layer: what they go over: the convolution, or the product of im2col.
        lanes: dimension and number of the values in a vector.
        tile: accumulators: vectors along dimensions.
        loops: dimension and steps of the others, the innermost first.
        copied_words: that are written, and read again, before: columns, or tiles with halos.
        copy_bytes: of what is written before it is read: all of it, or that of a tile.
    """

    layer: Layer
    lanes: tuple[int, int]
    tile: Loops
    loops: Loops
    copied_words: int = 0
    copy_bytes: int = 0

    @property
    def accumulators(self) -> int:
        """Vectors that are added to in turn: of a tile, or of a row in memory."""
        return prod(count for _, count in self.tile or self.loops[:1])


def loop_nest(spec: KernelSpec, schedule: Schedule, most_lanes: int) -> LoopNest | None:
    """Return the loops of a dense kernel of floats; None for one of which they are not known here.

    Args:
        spec, schedule: the kernel.
        most_lanes: values of a vector register.
    """
    if spec.sparse or spec.dtype != "float32":
        return None
    if isinstance(schedule, Direct) or (
        isinstance(schedule, Untuned) and spec.algorithm == "direct"
    ):
        return _direct(spec.shape, schedule, most_lanes)
    if isinstance(schedule, Gemm) or (isinstance(schedule, Untuned) and spec.algorithm == "gemm"):
        return _gemm(spec.shape, schedule, most_lanes)
    if isinstance(schedule, SpatialPack) or (
        isinstance(schedule, Untuned) and spec.algorithm == "spatial_pack"
    ):
        return _spatial_pack(spec.shape, schedule, most_lanes)
    return None


def layer_of(shape: ConvShape) -> Layer:
    """Return the layer that a kernel computes."""
    return Layer(
        str(shape),
        "conv",
        g=shape.groups,
        k=shape.k // shape.groups,
        c=shape.c // shape.groups,
        p=shape.p,
        q=shape.q,
        r=shape.r,
        s=shape.s,
        stride=shape.stride,
        dilation=shape.dilation,
        padding=shape.padding,
        input_size=(shape.h, shape.w),
        activation=shape.activation,
    )


def _direct(shape: ConvShape, schedule: Direct | Untuned, most_lanes: int) -> LoopNest:
    channel = G if shape.depthwise else K
    inner = tile_channels(shape)
    window = ((S, shape.s), (R, shape.r), (C, shape.c // shape.groups))
    groups = () if shape.depthwise else ((G, shape.groups),)
    if isinstance(schedule, Untuned):
        lanes = min(schedule.vector, shape.q, most_lanes)
        row = ((Q, _parts(shape.q, lanes)),)
        around = ((P, shape.p), (channel, inner), *groups)
        return LoopNest(layer_of(shape), (Q, lanes), (), (*row, *window, *around))
    lanes = min(schedule.vector, most_lanes)
    across = schedule.vector * schedule.x_vectors
    tile = ((channel, schedule.channels), (P, schedule.y_rows), (Q, across // lanes))
    pixels = ((Q, _parts(shape.q, across)), (P, _parts(shape.p, schedule.y_rows)))
    channels = ((channel, _parts(inner, schedule.channels)),)
    outer = _outer(schedule.order, pixels, channels)
    return LoopNest(layer_of(shape), (Q, lanes), tile, (*window, *outer, *groups))


def _gemm(shape: ConvShape, schedule: Gemm | Untuned, most_lanes: int) -> LoopNest:
    pixels, inner = shape.p * shape.q, tile_channels(shape)
    channel = G if shape.depthwise else K
    product = Layer(
        *(str(shape), "conv"),
        g=shape.groups,
        k=shape.k // shape.groups,
        c=shape.taps,
        p=pixels,
        input_size=(pixels, 1),
    )
    words = 0 if shape.pointwise else shape.taps * pixels * shape.groups
    groups = () if shape.depthwise else ((G, shape.groups),)
    if isinstance(schedule, Untuned):
        lanes = min(schedule.vector, pixels, most_lanes)
        row = min(max(shape.q, lanes), pixels)
        loops = ((P, _parts(row, lanes)), (C, shape.taps), (P, _parts(pixels, row)))
        return LoopNest(
            product, (P, lanes), (), (*loops, (channel, inner), *groups), words, 4 * words
        )
    lanes = min(schedule.vector, most_lanes)
    across = schedule.vector * schedule.pixel_vectors
    tile = ((channel, schedule.channels), (P, across // lanes))
    tiles, channels = ((P, _parts(pixels, across)),), ((channel, _parts(inner, schedule.channels)),)
    outer = _outer(schedule.order, tiles, channels)
    at_once = across * shape.taps if schedule.columns == "tile" else words
    return LoopNest(
        product, (P, lanes), tile, ((C, shape.taps), *outer, *groups), words, 4 * at_once
    )


def _spatial_pack(shape: ConvShape, schedule: SpatialPack | Untuned, most_lanes: int) -> LoopNest:
    channel, inner = G if shape.depthwise else K, tile_channels(shape)
    if isinstance(schedule, Untuned):
        # a vector that divides the channels, tiles of one pixel, packed as a whole
        plan = SpatialPack(gcd(inner, schedule.vector), packing="whole")
        nest = _spatial_pack(shape, plan, most_lanes)
        parts: Loops = ((S, shape.s), (R, shape.r), (C, shape.c // shape.groups))
        around = ((P, shape.p), (channel, _parts(inner, plan.vector)))
        groups = () if shape.depthwise else ((G, shape.groups),)
        # a vector is several registers where these are narrower
        row = ((Q, shape.q), (channel, plan.vector // nest.lanes[1]))
        return replace(nest, tile=(), loops=(*row, *parts, *around, *groups))
    reduced = (C, shape.c // shape.groups)
    window = ((S, shape.s), (R, shape.r))
    parts = (*window, reduced) if schedule.reduction == "channels" else (reduced, *window)
    lanes = min(schedule.vector, most_lanes)
    tile = ((channel, schedule.vector // lanes), (P, schedule.height), (Q, schedule.width))
    columns, rows = _parts(shape.q, schedule.width), _parts(shape.p, schedule.height)
    channels = ((channel, _parts(inner, schedule.vector)),)
    outer = _outer(schedule.order, ((Q, columns), (P, rows)), channels)
    groups = () if shape.depthwise else ((G, shape.groups),)
    of_tile = prod(
        (n - 1) * stride + spread
        for n, stride, spread in zip(
            (schedule.height, schedule.width), shape.stride, shape.spread, strict=True
        )
    )
    words = of_tile * shape.c * rows * columns
    at_once = of_tile * shape.c if schedule.packing == "tile" else words
    return LoopNest(
        layer_of(shape), (channel, lanes), tile, (*parts, *outer, *groups), words, 4 * at_once
    )


def _outer(order: str, pixels: Loops, channels: Loops) -> Loops:
    """Return the loops over tiles, the innermost first: the order names the outermost ones."""
    return (*channels, *pixels) if order == "pixels_outer" else (*pixels, *channels)


def _parts(size: int, part: int) -> int:
    return -(-size // part)


def mapping_of(nest: LoopNest, hardware: Hardware) -> Mapping:
    """Return the loops of a kernel as a mapping: each where its tiles fit first.

    Registers hold inputs too, unless the tile leaves no room for them, as in depthwise layers,
    where each is used once.
    """
    dimension, lanes = nest.lanes
    registers = _Level({dimension: lanes}, _side_by_side(nest, hardware.array[1]))
    sizes = dict.fromkeys(range(len(DIMS)), 1) | {dimension: lanes}
    for d, count in nest.tile:
        registers.add(d, -(-count // registers.units.get(d, 1)))
        sizes[d] *= count
    room = hardware.levels[0].total_bytes
    registers.inputs = _bytes(nest.layer, sizes) <= room
    left = [(d, count) for d, count in nest.loops if count > 1]
    levels = [registers]
    for level in hardware.levels[1:]:
        found = _Level({}, {})
        while left and left[0][0] not in found.temporal:
            d, count = left[0]
            grown = sizes | {d: sizes[d] * count}
            if level.capacity_bytes is not None and _bytes(nest.layer, grown) > level.total_bytes:
                break
            found.add(d, count)
            sizes, left = grown, left[1:]
        levels.append(found)
    for d, count in left:
        # a dimension twice at the outermost level: one loop there, where the first of them is
        levels[-1].temporal[d] = levels[-1].temporal.get(d, 1) * count
    return Mapping(tuple(level.mapping() for level in levels))


def _side_by_side(nest: LoopNest, units: int) -> dict[int, int]:
    """Return what vector units work on together: vectors of a tile, along one dimension."""
    fitting = [(d, count) for d, count in nest.tile if count >= units > 1]
    return {d: units for d, _ in fitting[:1]}


@dataclass
class _Level:
    """A level of a mapping while loops are placed."""

    lanes: dict[int, int]
    units: dict[int, int]
    inputs: bool = True
    temporal: dict[int, int] = field(default_factory=dict)

    def add(self, d: int, count: int) -> None:
        """Put a loop around those that are there."""
        if count > 1:
            self.temporal[d] = count

    def mapping(self) -> LevelMapping:
        """Return the level as mappings have it; its loops are as they came, the innermost first."""

        def row(factors: dict[int, int]) -> tuple[int, ...]:
            return tuple(factors.get(d, 1) for d in range(len(DIMS)))

        rows = (row(self.temporal), full_order(tuple(self.temporal)))
        return LevelMapping(*rows, row(self.lanes), row(self.units), (True, self.inputs, True))


def _bytes(layer: Layer, sizes: dict[int, int]) -> int:
    """Return the bytes of the operands of a tile, none larger than the layer."""
    n = {d: min(sizes[d], bound) for d, bound in enumerate(layer.bounds)}
    rows = (n[P] - 1) * layer.stride[0] + (n[R] - 1) * layer.dilation[0] + 1
    columns = (n[Q] - 1) * layer.stride[1] + (n[S] - 1) * layer.dilation[1] + 1
    weights = n[G] * n[K] * n[C] * n[R] * n[S]
    words = weights + n[G] * n[C] * rows * columns + n[G] * n[K] * n[P] * n[Q]
    return 4 * words
