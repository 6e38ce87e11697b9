"""Tensor views: where the values of a tensor lie in feature maps, and how free operators change it.

Reshapes, transpositions, slices, concatenations and broadcasts move nothing. They change which
word of which map is meant by an index. A dimension of a tensor is a product of atoms, from the
outermost to the innermost; an atom is a run of equally spaced coordinates along one axis of a
map. Splitting and merging dimensions splits and merges atoms; a transposition permutes
dimensions; a slice narrows an atom; a concatenation makes several pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

#: axis of atoms whose index does not matter: a value is repeated
REPEATED: Final = -1
#: axis of the images of a batch, for every feature map
BATCH: Final = 0


@dataclass(frozen=True, slots=True)
class Atom:
    """Index ``i`` from 0 to ``size - 1`` adds ``i * stride`` to a coordinate.

    Attributes:
        size: at least 2; what has one index needs no atom.
        axis: of the feature map.
        stride: along that axis; 0 if repeated.
    """

    size: int
    axis: int
    stride: int


Dim = tuple[Atom, ...]


class NotAView(Exception):  # noqa: N818 - no error: the words must be moved
    """What is asked for cannot be said by atoms."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a tensor that stands in one feature map.

    Attributes:
        source: name of the map.
        start: coordinates of the first value, by axis of the map.
        dims: atoms of each dimension.
        placed: axes are known to be batch, channels, rows and columns; else an input's own.
    """

    source: str
    start: tuple[int, ...]
    dims: tuple[Dim, ...]
    placed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return tuple(size(dim) for dim in self.dims)

    @property
    def atoms(self) -> Dim:
        """All atoms, from the outermost to the innermost."""
        return tuple(atom for dim in self.dims for atom in dim)


@dataclass(frozen=True, slots=True)
class View:
    """A tensor: pieces that are laid side by side along the dimension ``axis``."""

    pieces: tuple[Piece, ...]
    axis: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        first = self.pieces[0].shape
        whole = sum(size(piece.dims[self.axis]) for piece in self.pieces) if first else 1
        return tuple(whole if i == self.axis else n for i, n in enumerate(first))


def size(dim: Dim) -> int:
    """Indices of a dimension."""
    return prod(atom.size for atom in dim)


def run(count: int, axis: int, stride: int = 1) -> Dim:
    """Return the dimension of ``count`` indices along an axis."""
    return (Atom(count, axis, stride),) if count > 1 else ()


def merged(atoms: Sequence[Atom]) -> Dim:
    """Return the same atoms with those that follow on each other as one."""
    found: list[Atom] = []
    for atom in atoms:
        if found and (found[-1].axis, found[-1].stride) == (atom.axis, atom.stride * atom.size):
            atom = Atom(found.pop().size * atom.size, atom.axis, atom.stride)
        found.append(atom)
    return tuple(found)


def split(atoms: Sequence[Atom], sizes: Sequence[int]) -> tuple[Dim, ...]:
    """Return the atoms in groups of ``sizes``, from the outermost.

    Raises:
        NotAView: an atom would have to be cut where its size has no such factor.
    """
    rest = list(reversed(atoms))
    groups: list[Dim] = []
    for wanted in sizes:
        group: list[Atom] = []
        left = wanted
        while left > 1:
            if not rest:
                raise NotAView
            atom = rest.pop()
            if left % atom.size:
                if atom.size % left:
                    raise NotAView
                inner = Atom(atom.size // left, atom.axis, atom.stride)
                rest.append(inner)
                atom = Atom(left, atom.axis, atom.stride * inner.size)
            group.append(atom)
            left //= atom.size
        groups.append(merged(group))
    return tuple(groups)


def reshape(view: View, shape: Sequence[int]) -> View:
    """Return the view in another shape.

    Raises:
        NotAView: dimensions that no atoms make, or pieces that the new shape cuts through.
    """
    if len(view.pieces) == 1:
        piece = view.pieces[0]
        return View((replace(piece, dims=split(merged(piece.atoms), shape)),))
    axis, inner = _axis_after(view, shape)
    pieces = []
    for piece in view.pieces:
        part = list(shape)
        part[axis] = prod(piece.shape[view.axis :]) // inner
        pieces.append(replace(piece, dims=split(merged(piece.atoms), part)))
    return View(tuple(pieces), axis)


def _axis_after(view: View, shape: Sequence[int]) -> tuple[int, int]:
    """Return the dimension along which pieces lie in a new shape, and how many values one holds."""
    outer = prod(view.shape[: view.axis])
    lengths = [prod(piece.shape[view.axis :]) for piece in view.pieces]
    for axis in range(len(shape)):
        inner = prod(shape[axis + 1 :])
        if prod(shape[:axis]) == outer and not any(length % inner for length in lengths):
            return axis, inner
    raise NotAView


def transpose(view: View, order: Sequence[int]) -> View:
    """Return the view with its dimensions permuted: dimension i is what ``order[i]`` was."""
    pieces = tuple(replace(p, dims=tuple(p.dims[i] for i in order)) for p in view.pieces)
    return View(pieces, list(order).index(view.axis) if len(pieces) > 1 else 0)


def expand(view: View, shape: Sequence[int]) -> View:
    """Return the view with dimensions of size 1, and new ones in front, repeated to ``shape``."""
    new = len(shape) - len(view.shape)
    pieces = []
    for piece in view.pieces:
        dims = ((),) * new + piece.dims
        grown = tuple(
            run(wanted, REPEATED, 0) if have == 1 and wanted > 1 else dim
            for dim, have, wanted in zip(dims, (1,) * new + view.shape, shape, strict=True)
        )
        pieces.append(replace(piece, dims=grown))
    return View(tuple(pieces), view.axis + new if len(pieces) > 1 else 0)


def concat(views: Sequence[View], axis: int) -> View:
    """Return the views side by side; those in pieces must lie along the same dimension.

    Raises:
        NotAView: pieces along another one.
    """
    if any(len(view.pieces) > 1 and view.axis != axis for view in views):
        raise NotAView
    return View(tuple(piece for view in views for piece in view.pieces), axis)


def narrow(view: View, axis: int, start: int, stop: int, step: int = 1) -> View:
    """Return the indices ``start, start + step, ...`` below ``stop`` of one dimension.

    Raises:
        NotAView: indices that lie in no run of equal spacing.
    """
    if len(view.pieces) == 1 or axis != view.axis:
        return replace(view, pieces=tuple(_narrow(p, axis, start, stop, step) for p in view.pieces))
    pieces = []
    before = 0
    for piece in view.pieces:
        length = size(piece.dims[axis])
        first = start - before
        if first < 0:
            first += -(first // step) * step
        if first < min(length, stop - before):
            pieces.append(_narrow(piece, axis, first, min(length, stop - before), step))
        before += length
    return View(tuple(pieces), axis if len(pieces) > 1 else 0)


def _narrow(piece: Piece, axis: int, start: int, stop: int, step: int) -> Piece:
    offset = list(piece.start)
    dim = _range(piece.dims[axis], start, len(range(start, stop, step)), step, offset)
    dims = (*piece.dims[:axis], dim, *piece.dims[axis + 1 :])
    return replace(piece, start=tuple(offset), dims=dims)


def _range(dim: Dim, start: int, count: int, step: int, offset: list[int]) -> Dim:
    """Return ``count`` indices of a dimension; moves ``offset`` to the first of them."""
    if count == size(dim):
        return dim
    atom, inner = dim[0], dim[1:]
    block = size(inner)
    if block == 1:
        if atom.axis != REPEATED:
            offset[atom.axis] += start * atom.stride
        return run(count, atom.axis, atom.stride * step)
    last = start + (count - 1) * step
    if start // block == last // block:
        if atom.axis != REPEATED:
            offset[atom.axis] += start // block * atom.stride
        return _range(inner, start % block, count, step, offset)
    if step > 1 or start % block or count % block:
        raise NotAView
    outer = _range((atom,), start // block, count // block, 1, offset)
    return merged((*outer, *inner))


def refined(first: Sequence[Dim], second: Sequence[Dim]) -> list[tuple[Dim, Dim]]:
    """Return both views' dimensions cut into atoms of the same sizes.

    Raises:
        NotAView: they have no common factors.
    """
    pairs = []
    for one, other in zip(first, second, strict=True):
        cuts = _common_sizes(one, other)
        pairs.append(
            (tuple(a for (a,) in _each(one, cuts)), tuple(a for (a,) in _each(other, cuts)))
        )
    return pairs


def _each(dim: Dim, sizes: Sequence[int]) -> list[Dim]:
    """Cut a dimension into one atom for each size, without merging."""
    groups = split(dim, sizes)
    if any(len(group) != 1 for group in groups):
        raise NotAView
    return list(groups)


def _common_sizes(one: Dim, other: Dim) -> list[int]:
    """Return sizes, from the outermost, into which both dimensions can be cut."""
    ends = sorted(_ends(one) | _ends(other))
    sizes = []
    before = 1
    for end in ends:
        if end % before:
            raise NotAView
        sizes.append(end // before)
        before = end
    return list(reversed(sizes))


def _ends(dim: Dim) -> set[int]:
    """Return how many indices the innermost 1, 2, ... atoms have."""
    found = set()
    count = 1
    for atom in reversed(dim):
        count *= atom.size
        found.add(count)
    return found
