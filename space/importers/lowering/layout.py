"""Layout: where dimensions of tensors lie in feature maps, as far as views alone say."""

from collections.abc import Sequence
from typing import Final

from archloom.space.workload import Shape, Slice

from .feature_map import CHANNELS, COLUMNS, ROWS, BatchMismatch, Roles
from .tensor_view import BATCH, REPEATED, Atom, Dim, Piece, View, merged, run, size

#: usual places of dimensions of feature maps and of sequences, by rank
_USUAL: Final = ((), (CHANNELS,), (BATCH, CHANNELS), (BATCH, ROWS, CHANNELS))


def usual_roles(rank: int) -> tuple[int, ...]:
    """Return the axes of dimensions if nobody says: (batch, channels, rows, columns) from 4 on."""
    if rank < len(_USUAL):
        return _USUAL[rank]
    return (BATCH, *[CHANNELS] * (rank - 3), ROWS, COLUMNS)


def by_axis(piece: Piece, roles: Sequence[int]) -> Roles:
    """Return the atoms of a piece by the axes that its dimensions shall have."""
    found: dict[int, list[Atom]] = {CHANNELS: [], ROWS: [], COLUMNS: []}
    for dim, axis in zip(piece.dims, roles, strict=False):
        if axis != BATCH:
            found[axis] += [atom for atom in dim if atom.axis not in (BATCH, REPEATED)]
    return (found[CHANNELS], found[ROWS], found[COLUMNS])


def only_images(view: View) -> Dim:
    """Return the first dimension, which must hold images of the batch and nothing else.

    Raises:
        CannotLower: it does not.
    """
    images = view.pieces[0].dims[0]
    others = any(atom.axis != BATCH for piece in view.pieces for atom in piece.dims[0])
    if others or size(images) != view.shape[0]:
        raise BatchMismatch(
            f"its first dimension, of {view.shape[0]}, is more than the batch; "
            "keep other dimensions out of it"
        )
    return images


def laid(dims: Sequence[Dim], roles: Sequence[int]) -> tuple[tuple[Dim, ...], Shape]:
    """Return dimensions laid along axes of a new feature map, later ones faster, and its shape.

    Images of the batch stay what they are.
    """
    strides = {CHANNELS: 1, ROWS: 1, COLUMNS: 1}
    found: list[Dim] = []
    for dim, role in zip(reversed(dims), reversed(roles), strict=True):
        axis = ROWS if role == BATCH else role
        atoms = []
        for atom in reversed(dim):
            if atom.axis == BATCH:
                atoms.append(atom)
                continue
            atoms.append(Atom(atom.size, axis, strides[axis]))
            strides[axis] *= atom.size
        found.append(merged(atoms[::-1]))
    return tuple(reversed(found)), (strides[CHANNELS], strides[ROWS], strides[COLUMNS])


def alike(pieces: Sequence[Piece], axis: int) -> bool:
    """Whether all but one dimension lie the same way in every piece."""
    first, *others = (p.dims[:axis] + p.dims[axis + 1 :] for p in pieces)
    return all(dims == first for dims in others)


def factors_of(view: View, i: int, count: int) -> Dim:
    """Return what a dimension of a copy is made of: images, and the rest."""
    dim = view.pieces[0].dims[i]
    if any(atom.axis == BATCH for atom in dim) and size(dim) == count:
        return dim
    return run(count, REPEATED, 0)


def around_both(one: Slice, other: Slice) -> Slice:
    """Return the smallest box around two."""
    start = tuple(map(min, one.start, other.start))
    ends = (
        (max(a + m, b + n) - least)
        for a, m, b, n, least in zip(
            one.start, one.size, other.start, other.size, start, strict=True
        )
    )
    return Slice(start, tuple(ends), one.of)  # type: ignore[arg-type]
