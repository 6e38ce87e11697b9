"""Lowering of convolutions and pools along depth, rows and columns.

A layer has windows along rows and columns. So a map of depth D is read as one of D x H rows (or of
D rows and H x W columns), or frame by frame:

- Kernels of one row and one column slide along D rows: exact.
- Where a frame's rows (or columns) are as many as its windows times their stride, windows of all
  frames slide along one axis. Each tap along depth reads frames of its own as channels of its own.
  Work and weights are exact; the input is read once for each tap along depth, as no tap uses what
  another has read, and zeros before the first frame and behind the last one are counted as frames.
  With such zeros the boxes of taps do not say which frames a part of the result needs. So the map
  is then read in another shape than it has, of which any part of the result needs all.
- Others work frame by frame, each a layer that reads the frames of its taps. That is exact but
  for zeros as before; a layer by itself fetches the weights for each frame.

A pool is one inside frames and one along depth behind it: a maximum of maxima, a mean of means.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from archloom.space.workload import is_input

from ..graph import Op, Tensor
from . import tensor_view as views
from .context import Handler, Lowering
from .conv_and_pool import (
    as_map,
    convolve,
    convolve_transposed,
    map_roles,
    pool,
    within_window,
)
from .feature_map import COLUMNS, ROWS, CannotLower
from .layout import alike
from .tensor_view import NotAView, View

_BY_AXIS: Final = ("kernel", "stride", "start", "end", "dilation", "output_padding")
#: exchanges frames and rows, which puts frames beside columns
_COLUMNS_FIRST: Final = (0, 1, 3, 2, 4)
#: makes the frames of a result of the frames that it reads, which lie side by side
_Sheet = Callable[[View, str], View]


def _window(op: Op, axes: slice, **others: Any) -> Op:
    """Return an operator with the window that it has along some axes."""
    named = op.attributes
    kept = {name: tuple(named[name])[axes] for name in _BY_AXIS if name in named}
    return replace(op, attributes={**named, **kept, **others})


def _along_depth(op: Op) -> Op:
    """Return an operator with the window that it has along depth, and none along columns."""
    named = op.attributes
    missing = {name: int(name in ("kernel", "stride", "dilation")) for name in _BY_AXIS}
    kept = {name: (named[name][0], missing[name]) for name in _BY_AXIS if name in named}
    return replace(op, attributes={**named, **kept})


def _still(op: Op, kernel: Sequence[int]) -> bool:
    """Whether windows hold one row and one column, and follow on each other."""
    named = op.attributes
    padding = (*named["start"][1:], *named.get("end", named["start"])[1:])
    return set(kernel[1:]) | set(named["stride"][1:]) == {1} and not any(padding)


def _or_copied(ctx: Lowering, view: View, lower: Callable[[View], View]) -> View:
    """Lower an operator on a map of frames, or on a copy where words are too scattered."""
    try:
        return lower(view)
    except NotAView:
        return lower(ctx.copied(view, map_roles(len(view.shape))))


def _lower_conv(ctx: Lowering, op: Op) -> View:
    """Lower a convolution along one to three axes."""
    view, weight = ctx.view(op.inputs[0]), ctx.tensor(op.inputs[1])
    if len(view.shape) != 5:
        return convolve(ctx, op, view, weight, ctx.shape(op))
    return _or_copied(ctx, view, lambda frames: _convolved(ctx, op, frames, weight))


def _convolved(ctx: Lowering, op: Op, view: View, weight: Tensor) -> View:
    shape = ctx.shape(op)
    taps = weight.shape[2]
    if _still(op, weight.shape[2:]):
        flat = replace(weight, shape=(*weight.shape[:3], 1))
        made = convolve(ctx, _along_depth(op), _rows_of_depth(ctx, view), flat, _deep(shape))
        return views.reshape(made, shape)
    sheet = _window(op, slice(1, None))
    outputs, inputs, _, *kernel = weight.shape
    flat = replace(weight, shape=(outputs, inputs * taps, *kernel))

    def make(frames: View, part: str) -> View:
        batch, _, rows, columns = _sides(frames.shape, view.shape, shape)
        return convolve(ctx, sheet, frames, flat, (batch, outputs, rows, columns), part)

    step, start, apart = (op.attributes[name][0] for name in ("stride", "start", "dilation"))
    within = within_window(sheet, tuple(kernel)) == sheet.attributes["start"]
    firsts = [t * apart - start for t in range(taps)]
    if step == 1 and within and shape[2] <= view.shape[2]:
        frames = _one_map(ctx, view)
        lies = _beside(ctx, frames, shape, sheet, firsts)
        if lies is not None:
            return _all_frames(ctx, frames, shape, firsts, lies, make)
    wanted = [[o * step + first for first in firsts] for o in range(shape[2])]
    return _each_frame(view, wanted, make)


def _beside(
    ctx: Lowering, view: View, shape: Sequence[int], sheet: Op, firsts: Sequence[int]
) -> int | None:
    """Return the axis of a frame along which all frames of a convolution lie; None if none fits.

    Args:
        ctx: has the maps that are read.
        view: that is read.
        shape: of the result.
        sheet: the window inside a frame.
        firsts: frame from which on each tap reads.
    """
    depth, frames = view.shape[2], shape[2]
    exact = depth == 1 or all(0 <= first <= depth - frames for first in firsts)
    for axis in (ROWS, COLUMNS):
        if not _fits(view.shape, shape, sheet, axis):
            continue
        sides = (frames * view.shape[3], view.shape[4])
        sides = sides if axis == ROWS else (view.shape[3], frames * view.shape[4])
        if exact or not _has_sides(ctx, ctx.narrowed(view, 2, 0, frames), sides):
            return axis
    return None


def _has_sides(ctx: Lowering, view: View, sides: tuple[int, int]) -> bool:
    """Whether a view of frames is, in what a layer makes, a box of such rows and columns."""
    pieces = ctx.maps.settle(view, as_map).pieces
    boxes = [ctx.maps.box(p, around=True) for p in pieces if not is_input(p.source)]
    return any(box.size[1:] == sides for box in boxes)


def _sides(
    frames: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> tuple[int, int, int, int]:
    """Return the shape of the result of frames side by side, but for its channels."""
    rows, columns = (frames[i - 1] // before[i] * after[i] for i in (3, 4))
    return frames[0], 0, rows, columns


def _fits(before: Sequence[int], after: Sequence[int], sheet: Op, axis: int) -> bool:
    """Whether windows of all frames can slide along one axis, rows or columns of a frame.

    Window p of frame d begins at row d H + p s of all rows; as window d P + p does if H = P s.
    """
    at = axis - ROWS
    return before[3 + at] == after[3 + at] * int(sheet.attributes["stride"][at])


def _rows_of_depth(ctx: Lowering, view: View) -> View:
    """Return a map of frames as one whose rows are frames and whose columns are positions."""
    frames = _one_map(ctx, view)
    return views.reshape(frames, _deep(frames.shape))


def _deep(shape: Sequence[int]) -> tuple[int, ...]:
    return (*shape[:3], shape[3] * shape[4])


def _one_map(ctx: Lowering, view: View) -> View:
    """Return a view whose frames stand in one feature map, or in some side by side along channels.

    Frames that do not lie along rows as those beside them do are copied.
    """
    roles = map_roles(len(view.shape))
    if len(view.pieces) > 1 and view.axis != 1:
        return ctx.copied(view, roles)
    pieces = ctx.maps.settle(view, as_map).pieces
    if alike(pieces, 1):
        return view
    each = [View((piece,)) for piece in pieces]
    return views.concat([v if _along_rows(v) else ctx.copied(v, roles) for v in each], 1)


def _along_rows(view: View) -> bool:
    """Whether frames and their rows lie along rows, one frame after the other."""
    _, _, *sides = view.pieces[0].dims
    lie = [{atom.axis for atom in dim} for dim in sides]
    return lie[0] | lie[1] <= {ROWS} and lie[2] <= {COLUMNS}


def _all_frames(
    ctx: Lowering, view: View, shape: Sequence[int], firsts: Sequence[int], axis: int, make: _Sheet
) -> View:
    """Return a result whose frames are made at once, of frames from ``firsts`` on, one by tap.

    Frames lie side by side along an axis, rows or columns.
    """
    depth, frames = view.shape[2], shape[2]
    starts = [min(max(first, 0), depth - frames) for first in firsts]
    taps = [ctx.narrowed(view, 2, start, start + frames) for start in starts]
    wide = views.concat(taps, 1) if len(taps) > 1 else taps[0]
    batch, channels, _, rows, columns = wide.shape
    if axis == ROWS:
        made = make(views.reshape(wide, (batch, channels, frames * rows, columns)), "")
        return views.reshape(made, shape)
    turned = views.transpose(wide, _COLUMNS_FIRST)
    made = make(views.reshape(turned, (batch, channels, rows, frames * columns)), "")
    apart = views.reshape(made, (*shape[:2], shape[3], frames, shape[4]))
    return views.transpose(apart, _COLUMNS_FIRST)


def _each_frame(view: View, wanted: Sequence[Sequence[int]], make: _Sheet) -> View:
    """Return a result each of whose frames is made of the frames of its taps."""
    made = []
    for i, taps in enumerate(wanted):
        frames = [_frame(view, tap) for tap in taps]
        sheet = make(views.concat(frames, 1) if len(frames) > 1 else frames[0], f"frame{i}")
        batch, channels, rows, columns = sheet.shape
        made.append(views.reshape(sheet, (batch, channels, 1, rows, columns)))
    return views.concat(made, 2)


def _frame(view: View, tap: int) -> View:
    """Return a frame of a map; beyond its ends, where zeros are, the nearest one."""
    batch, channels, depth, rows, columns = view.shape
    at = min(max(tap, 0), depth - 1)
    return views.reshape(views.narrow(view, 2, at, at + 1), (batch, channels, rows, columns))


def _lower_conv_transpose(ctx: Lowering, op: Op) -> View:
    """Lower a transposed convolution along one to three axes.

    Along depth, frame o of the result sums taps t of frames i with i * stride + t * dilation =
    o + start.
    """
    view, weight = ctx.view(op.inputs[0]), ctx.tensor(op.inputs[1])
    if len(view.shape) != 5:
        return convolve_transposed(ctx, op, view, weight)
    return _or_copied(ctx, view, lambda frames: _convolved_transposed(ctx, op, frames, weight))


def _convolved_transposed(ctx: Lowering, op: Op, view: View, weight: Tensor) -> View:
    shape = ctx.shape(op)
    sheet, named = _window(op, slice(1, None)), op.attributes
    inputs, outputs, taps, *kernel = weight.shape
    step, start, apart = (named[name][0] for name in ("stride", "start", "dilation"))
    whole = step == taps and shape[2] == taps * view.shape[2] and not start
    if whole and shape[3] == view.shape[3] * sheet.attributes["stride"][0]:
        # each frame makes as many of its own, which stand beside each other as channels
        flat = replace(weight, shape=(inputs, outputs * taps, *kernel))
        frames = _one_map(ctx, view)
        batch, channels, depth, rows, columns = frames.shape
        laid = views.reshape(frames, (batch, channels, depth * rows, columns))
        return _spread(convolve_transposed(ctx, sheet, laid, flat), shape, taps, named["groups"])

    def tap_frames(frame: int) -> list[tuple[int, int]]:
        at = [(t, frame + start - t * apart) for t in range(taps)]
        return [(t, i // step) for t, i in at if i % step == 0]

    each = [tap_frames(o) for o in range(shape[2])]
    if not all(each):
        raise CannotLower(
            f"has {taps} taps along depth, dilation {apart} and stride {step}, so some of its "
            "frames are zero; a kernel of no more holes than taps can be lowered"
        )

    def make(frames: View, part: str) -> View:
        own = [t for t, _ in each[int(part.removeprefix("frame"))]]
        count = len(own)
        # frames that use the same taps share weights
        named = f"{weight.name}[{','.join(map(str, own))}]"
        shaped = (inputs * count, outputs, *kernel)
        return convolve_transposed(ctx, sheet, frames, _part(weight, named, shaped), part)

    return _each_frame(view, [[i for _, i in own] for own in each], make)


def _part(weight: Tensor, name: str, shape: tuple[int, ...]) -> Tensor:
    return replace(weight, name=name, shape=shape)


def _spread(made: View, shape: Sequence[int], taps: int, groups: int) -> View:
    """Return frames that stand beside each other as channels of each group, along depth."""
    batch, channels, frames, rows, columns = shape
    each = (groups, taps, channels // groups)
    apart = views.reshape(made, (batch, *each, frames // taps, rows, columns))
    return views.reshape(views.transpose(apart, (0, 1, 3, 4, 2, 5, 6)), shape)


def _lower_pool(ctx: Lowering, op: Op) -> View:
    """Lower a pool along one to three axes."""
    view = ctx.view(op.inputs[0])
    if len(view.shape) != 5:
        return pool(ctx, op, view, ctx.shape(op))
    return _or_copied(ctx, view, lambda frames: _pooled(ctx, op, frames))


def _pooled(ctx: Lowering, op: Op, view: View) -> View:
    shape = ctx.shape(op)
    inside = _window(op, slice(1, None))
    named = inside.attributes
    before = view.shape[:3]
    if any(n > 1 for n in (*named["kernel"], *named["stride"])):

        def make(frames: View, part: str) -> View:
            batch, _, rows, columns = _sides(frames.shape, view.shape, shape)
            return pool(ctx, inside, frames, (batch, before[1], rows, columns), part or "frames")

        flat = (*before, *shape[3:])
        if _fits(view.shape, flat, inside, ROWS):
            view = _all_frames(ctx, _one_map(ctx, view), flat, [0], ROWS, make)
        else:
            view = _each_frame(view, [[i] for i in range(before[2])], make)
    if all(op.attributes[name][0] == 1 for name in ("kernel", "stride")):
        return view
    deep = pool(ctx, _along_depth(op), _rows_of_depth(ctx, view), _deep(shape), "depth")
    return views.reshape(deep, shape)


HANDLERS: Final[dict[str, Handler]] = {
    "conv": _lower_conv,
    "conv_transpose": _lower_conv_transpose,
    "pool": _lower_pool,
}
