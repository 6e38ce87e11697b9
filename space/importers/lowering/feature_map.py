"""Feature maps behind views: how inputs lie, and what a layer reads of a view."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from archloom.space.workload import Shape, Slice

from .tensor_view import BATCH, REPEATED, Atom, NotAView, Piece, View, run, size

CHANNELS: Final = 1
ROWS: Final = 2
COLUMNS: Final = 3

_IN_PLACE: Final = tuple((axis, 1) for axis in range(4))

#: atoms that a reader takes for channels, rows and columns, from the outermost
Roles = tuple[Sequence[Atom], Sequence[Atom], Sequence[Atom]]
#: says what a reader takes for what; called with pieces whose axes may still be an input's own
Choice = Callable[[Piece], Roles]


class CannotLower(Exception):  # noqa: N818 - told to the user as a problem of a node
    """What cannot be lowered, in words."""


class BatchMismatch(CannotLower):
    """What would need another dimension for the batch, or none."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a layer reads of one feature map.

    Attributes:
        source: the map.
        box: part of it; None for all.
        words: in that box.
    """

    source: str
    box: Slice | None
    words: int


@dataclass(slots=True)
class Source:
    """A map: the result of a layer, or an input.

    Inputs are tensors of any rank; which of their dimensions are channels, rows and columns is
    settled by their first reader.

    Attributes:
        name: as layers read it.
        sizes: by axis; the first is the batch's.
        shape: channels, rows and columns; None as long as it is not settled.
        place: for each axis what it is in the feature map, and its stride there.
        learned: names of learned tensors whose values count with the first reader.
    """

    name: str
    sizes: tuple[int, ...]
    shape: Shape | None = None
    place: tuple[tuple[int, int], ...] = ()
    learned: frozenset[str] = field(default_factory=frozenset)


class FeatureMaps:
    """All feature maps that layers can read; ``n`` images each."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._sources: dict[str, Source] = {}

    def __getitem__(self, name: str) -> Source:
        return self._sources[name]

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def result(self, name: str, shape: Shape) -> None:
        """Add the result of a layer."""
        self._sources[name] = Source(name, (self.n, *shape), shape, _IN_PLACE)

    def input(
        self, name: str, shape: Sequence[int], batch: int | None, learned: frozenset[str]
    ) -> View:
        """Add an input, whose dimension ``batch`` counts images, and return the view of all.

        Without one, a first dimension of size 1 is taken for it.
        """
        if batch is None and len(shape) > 1 and shape[0] == 1:
            batch = 0
        others = [n for i, n in enumerate(shape) if i != batch]
        self._sources[name] = Source(name, (self.n, *others), learned=learned)
        axes = iter(range(1, len(others) + 1))
        dims = tuple(
            run(n, BATCH) if i == batch else run(n, next(axes)) for i, n in enumerate(shape)
        )
        return View((Piece(name, (0,) * (len(others) + 1), dims),))

    def settled(self, piece: Piece, choice: Choice | None) -> Piece:
        """Return a piece in channels, rows, columns of its feature map; settles what these are."""
        if piece.placed:
            return piece
        source = self._sources[piece.source]
        if source.shape is None:
            _settle(source, choice(piece) if choice else ((), (), ()))
        if source.place == _IN_PLACE:
            return replace(piece, placed=True)
        start = [0] * 4
        for (axis, stride), offset in zip(source.place, piece.start, strict=True):
            start[axis] += offset * stride
        dims = tuple(tuple(_placed(atom, source) for atom in dim) for dim in piece.dims)
        return Piece(piece.source, tuple(start), dims, placed=True)

    def settle(self, view: View, choice: Choice) -> View:
        """Return a view in channels, rows and columns of its feature maps."""
        return replace(view, pieces=tuple(self.settled(p, choice) for p in view.pieces))

    def read(self, view: View, choice: Choice | None) -> list[Read]:
        """Return what is read of each piece; without ``choice`` the order does not matter.

        Raises:
            NotAView: words that make no box, stand in several places of the result, or stand
                in another order in a feature map of the very shape that the reader takes it for.
            CannotLower: images of a batch that are not all taken alike.
        """
        return [self._read(self.settled(piece, choice), choice) for piece in view.pieces]

    def _read(self, piece: Piece, choice: Choice | None) -> Read:
        self.check_batch(piece)
        box = self.box(piece)
        roles = choice(piece) if choice else None
        if roles is not None and any(atom.axis == BATCH for role in roles for atom in role):
            raise BatchMismatch(
                "uses the batch as channels or positions; the batch must stay the first dimension"
            )
        if roles is not None and not _in_order(roles):
            if any(atom.axis == REPEATED for role in roles for atom in role):
                raise NotAView
            if tuple(size(tuple(role)) for role in roles) == box.size:
                raise NotAView
        whole = box.size == box.of
        return Read(piece.source, None if whole else box, box.words)

    def check_batch(self, piece: Piece) -> None:
        """Refuse a piece that holds some images and not others."""
        images = prod(atom.size for atom in piece.atoms if atom.axis == BATCH)
        if images not in (1, self.n) or piece.start[0]:
            raise BatchMismatch(
                f"reads {images} of {self.n} images; every layer must work on the whole batch"
            )

    def box(self, piece: Piece, *, around: bool = False) -> Slice:
        """Return the box of a settled piece, or the smallest one around it.

        Raises:
            NotAView: words that make no box.
        """
        shape = self._sources[piece.source].shape
        assert shape is not None
        sides = tuple(_side(piece, axis, around) for axis in (CHANNELS, ROWS, COLUMNS))
        return Slice(piece.start[1:], sides, shape)  # type: ignore[arg-type]


def _in_order(roles: Roles) -> bool:
    """Whether channels are the feature map's channels (in any order: a name), rows rows, etc."""
    for axis, role in zip((CHANNELS, ROWS, COLUMNS), roles, strict=True):
        stride = 1
        for atom in reversed(role):
            if atom.axis != axis or (axis != CHANNELS and atom.stride != stride):
                return False
            stride *= atom.size
    return True


def _side(piece: Piece, axis: int, around: bool) -> int:
    """Return how many coordinates along an axis there are, if there is no gap."""
    steps = sorted((a.stride, a.size) for a in piece.atoms if a.axis == axis)
    if around:
        return 1 + sum(stride * (count - 1) for stride, count in steps)
    whole = 1
    for stride, count in steps:
        if stride != whole:
            raise NotAView
        whole *= count
    return whole


def _placed(atom: Atom, source: Source) -> Atom:
    if atom.axis == REPEATED:
        return atom
    axis, stride = source.place[atom.axis]
    return Atom(atom.size, axis, atom.stride * stride)


def _settle(source: Source, roles: Roles) -> None:
    """Make an input's dimensions what its first reader takes them for."""
    rank = len(source.sizes) - 1
    asked: dict[int, set[int]] = {}
    for role, atoms in zip((CHANNELS, ROWS, COLUMNS), roles, strict=True):
        for atom in atoms:
            asked.setdefault(atom.axis, set()).add(role)
    usual = _usual_roles(rank)
    if any(len(found) > 1 for found in asked.values()):
        asked = {}
    axes = [min(asked.get(i, {usual[i - 1]})) for i in range(1, rank + 1)]
    strides = {CHANNELS: 1, ROWS: 1, COLUMNS: 1}
    place = []
    for axis, count in zip(reversed(axes), reversed(source.sizes[1:]), strict=True):
        place.append((axis, strides[axis]))
        strides[axis] *= count
    source.place = ((BATCH, 1), *reversed(place))
    source.shape = (strides[CHANNELS], strides[ROWS], strides[COLUMNS])


def _usual_roles(rank: int) -> tuple[int, ...]:
    """Return what dimensions behind the batch are if nobody says: positions before features."""
    if rank < 3:
        return (ROWS, CHANNELS)[2 - rank :]
    return (CHANNELS, ROWS, *[COLUMNS] * (rank - 2))
