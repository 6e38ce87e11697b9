"""Contiguous views: tensors that lie in one box of a feature map, or in boxes side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from archloom.space.workload import Shape

from .context import Lowering
from .feature_map import CHANNELS, Read
from .tensor_view import REPEATED, Atom, Dim, NotAView, Piece, View, run, size


@dataclass(frozen=True, slots=True)
class ContiguousView:
    """A tensor whose values stand in a box of a feature map, or in several side by side.

    Attributes:
        dims: of the tensor, in a map of just those values.
        shape: of that map.
        reads: what is read, box by box.
        parts: channels of each, if there are several.
    """

    dims: tuple[Dim, ...]
    shape: Shape
    reads: tuple[Read, ...]
    parts: tuple[int, ...] = ()

    @property
    def repeats(self) -> bool:
        """Whether values stand in several places of the tensor."""
        return any(atom.axis == REPEATED for dim in self.dims for atom in dim)


def joined(ctx: Lowering, view: View, *, parts: bool) -> ContiguousView:
    """Return a view as a box, or with ``parts`` as boxes side by side; copied if it must be."""
    roles = ctx.roles_of(view)
    try:
        return _joined(ctx, view, parts)
    except NotAView:
        return _joined(ctx, ctx.copied(view, roles), parts)


def _joined(ctx: Lowering, view: View, parts: bool) -> ContiguousView:
    pieces = [ctx.maps.settled(piece, None) for piece in view.pieces]
    if len(pieces) > 1 and not parts:
        raise NotAView
    boxes = [ctx.maps.box(piece) for piece in pieces]
    reads = []
    for piece, box in zip(pieces, boxes, strict=True):
        ctx.maps.check_batch(piece)
        whole = box.size == box.of
        reads.append(Read(piece.source, None if whole else box, box.words))
    first = boxes[0].size
    if len(pieces) == 1:
        return ContiguousView(pieces[0].dims, first, tuple(reads))
    channels = tuple(box.size[0] for box in boxes)
    if any(box.size[1:] != first[1:] for box in boxes):
        raise NotAView
    dims = _side_by_side(pieces, view.axis, channels)
    return ContiguousView(dims, (sum(channels), *first[1:]), tuple(reads), channels)


def _side_by_side(pieces: Sequence[Piece], axis: int, channels: Sequence[int]) -> tuple[Dim, ...]:
    """Return the dimensions of pieces whose channels follow on each other along ``axis``."""
    first = pieces[0].dims
    inner = channels[0] // size(first[axis])
    for piece, count in zip(pieces, channels, strict=True):
        dim = piece.dims[axis]
        along = (Atom(size(dim), CHANNELS, inner),) if dim else ()
        if dim != along or count != size(dim) * inner:
            raise NotAView
        if (*piece.dims[:axis], *piece.dims[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise NotAView
    whole = sum(size(piece.dims[axis]) for piece in pieces)
    return (*first[:axis], run(whole, CHANNELS, inner), *first[axis + 1 :])
