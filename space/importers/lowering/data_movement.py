"""Lowering of operators that move words or nothing at all: reshapes, slices, copies."""

from typing import Final

from archloom.space.workload import bilinear, copy

from ..graph import Op
from . import tensor_view as views
from .context import Handler, Lowering
from .conv_and_pool import as_map, grown
from .feature_map import BatchMismatch, CannotLower
from .layout import only_images, usual_roles
from .tensor_view import BATCH, NotAView, View


def _lower_identity(ctx: Lowering, op: Op) -> View:
    """Lower what changes no value."""
    return ctx.view(op.inputs[0])


def _lower_reshape(ctx: Lowering, op: Op) -> View:
    """Lower a reshape: free, unless it cuts through pieces that stand in several feature maps."""
    view, shape = ctx.view(op.inputs[0]), ctx.shape(op)
    try:
        return views.reshape(view, shape)
    except NotAView:
        return ctx.moved(view, shape, usual_roles(len(shape)))


def _lower_transpose(ctx: Lowering, op: Op) -> View:
    """Lower a permutation of dimensions, which is free."""
    return views.transpose(ctx.view(op.inputs[0]), op.attributes["order"])


def _lower_slice(ctx: Lowering, op: Op) -> View:
    """Lower a slice, which readers take from where it stands."""
    named = op.attributes
    view = ctx.view(op.inputs[0])
    return ctx.narrowed(view, named["axis"], named["start"], named["stop"], named["step"])


def _lower_expand(ctx: Lowering, op: Op) -> View:
    """Lower a broadcast, which readers take or copy."""
    return ctx.expanded(ctx.view(op.inputs[0]), ctx.shape(op))


def _lower_concat(ctx: Lowering, op: Op) -> View:
    """Lower a concatenation: readers take parts, or a copy is made for them."""
    axis = op.attributes["axis"]
    computed = next((n for n in op.inputs if not ctx.tensor(n).constant), op.inputs[0])
    found = []
    for name in op.inputs:
        view = ctx.beside(name, computed)
        if len(view.pieces) > 1 and view.axis != axis:
            view = ctx.copied(view, ctx.roles_of(view))
        found.append(view)
    along = {atom.axis for view in found for p in view.pieces for atom in p.dims[axis]}
    if BATCH in along and len(found) > 1:
        raise BatchMismatch("concatenates along the batch; every layer must work image by image")
    return views.concat(found, axis)


def _lower_copy(ctx: Lowering, op: Op) -> View:
    """Lower words that are moved in some other way."""
    view, shape = ctx.view(op.inputs[0]), ctx.shape(op)
    same = view.shape == shape
    roles = ctx.roles_of(view) if same else usual_roles(len(shape))
    return ctx.moved(view, shape, roles)


def _lower_resize(ctx: Lowering, op: Op) -> View:
    """Lower an enlarged or reduced map: to the nearest a copy, else bilinear."""
    view, shape = ctx.view(op.inputs[0]), ctx.shape(op)
    if not 3 <= len(shape) <= 5 or shape[:2] != view.shape[:2]:
        raise CannotLower(f"from {view.shape} to {shape}; only rows and columns can be resized")
    if shape == view.shape:
        return view
    if op.attributes["mode"] == "nearest":
        return grown(ctx, view, shape)
    if len(shape) == 5:
        raise CannotLower(
            "interpolates along depth, rows and columns; only rows and columns can be, or take the "
            "nearest value"
        )
    view, (read,) = ctx.take(view, as_map, usual_roles(4)[: len(shape)])
    channels, rows, columns = (*shape[1:], 1)[:3]
    layer = bilinear(ctx.name(), (channels, rows, columns), read.words)
    return ctx.map(ctx.emit(layer, [read]), only_images(view), len(shape))


def _lower_pad(ctx: Lowering, op: Op) -> View:
    """Lower padding that no window takes up: a copy; ends below zero cut off."""
    view = ctx.view(op.inputs[0])
    start, end = op.attributes["start"], op.attributes["end"]
    for axis, (before, after) in enumerate(zip(start, end, strict=True)):
        if before < 0 or after < 0:
            stop = view.shape[axis] + min(after, 0)
            view = ctx.narrowed(view, axis, max(-before, 0), stop)
    shape = ctx.shape(op)
    if view.shape == shape:
        return view
    return ctx.moved(view, shape, ctx.roles_of(view))


def _lower_depth_to_space(ctx: Lowering, op: Op) -> View:
    """Lower a pixel shuffle: the layer before it interleaves, or a copy does the work."""
    view = ctx.view(op.inputs[0])
    if len(view.shape) != 4:
        raise CannotLower(f"has {len(view.shape)} dimensions, must have four")
    view, (read,) = ctx.take(view, as_map, usual_roles(4))
    _, channels, rows, columns = ctx.shape(op)
    layer = copy(ctx.name(), (channels, rows, columns), [read.words])
    return ctx.map(ctx.emit(layer, [read], folds="shuffle"), only_images(view), 4)


HANDLERS: Final[dict[str, Handler]] = {
    "identity": _lower_identity,
    "mask": _lower_identity,
    "reshape": _lower_reshape,
    "transpose": _lower_transpose,
    "slice": _lower_slice,
    "expand": _lower_expand,
    "concat": _lower_concat,
    "copy": _lower_copy,
    "resize": _lower_resize,
    "pad": _lower_pad,
    "depth_to_space": _lower_depth_to_space,
}
