"""Ranks of a group: which loops of its layers are the same loop, seen through the maps between.

A dimension of a layer is a product of ranks, the outermost first: the channels that a projection
makes are heads times features of a head where a product of attention reads them. Two layers share a
rank if one reads along it what the other makes along it, or if both read the same map from outside
along it. Loops around a group run over ranks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from archloom.space.workload import Layer, Network, remembered

from ..group_graph import MapSource, group_sources
from .members import Member, group_members

#: dimensions that loops of a group may run over, by their places in DIMS
LOOPED: Final = (0, 1, 2, 3, 4, 5)
_N, _G, _K, _C, _P, _Q = LOOPED

#: splits and unions that one alignment may take; shapes need a handful
_MOST_STEPS: Final = 64

_Axis = Callable[[], list[int]]


@dataclass(frozen=True)
class GroupRanks:
    """Ranks of one group.

    Attributes:
        sizes: of each rank, all above 1.
        dims: for each member, for each of its dimensions N, G, K, C, P and Q, the ranks whose
            product it is.
        loopable: whether loops around the group may run over each rank. They may not where a layer
            needs all of it at once, or where it is not known which part.
    """

    sizes: tuple[int, ...]
    dims: tuple[tuple[tuple[int, ...], ...], ...]
    loopable: tuple[bool, ...]


@remembered
def _known(_: Network) -> dict[tuple[tuple[int, ...], tuple[int, ...]], GroupRanks | None]:
    return {}


def group_ranks(
    network: Network, layers: tuple[int, ...], split: tuple[int, ...] = ()
) -> GroupRanks | None:
    """Return the ranks of the group of ``layers``, of which those at the places ``split`` run in
    parts; None if a member is an operator of which only whole maps are known, or cannot run so."""
    known = _known(network)
    if (layers, split) not in known:
        members = group_members(network, layers, split)
        known[layers, split] = None if members is None else _group_ranks(network, layers, members)
    return known[layers, split]


def _group_ranks(
    network: Network, layers: tuple[int, ...], members: tuple[Member, ...]
) -> GroupRanks | None:
    seen = [member.layer for member in members]
    if any(map(_opaque, seen)) or _shares_weights(network, layers):
        return None
    space = _RankSpace(seen)
    weighing = frozenset(m for m, x in enumerate(members) if weighs_rows(network, x.position))
    outside: dict[int, list[tuple[int, int]]] = {}
    for m, member in enumerate(members):
        for operand, source in enumerate(member.sources):
            if source.member >= 0:
                _join(space, source.member, m, operand, m in weighing)
            else:
                outside.setdefault(source.box, []).append((m, operand))
    for readers in outside.values():
        _join_readers(space, readers, weighing)
    for m in range(len(members)):
        _block(space, m, m in weighing)
    return space.result()


def _opaque(layer: Layer) -> bool:
    """Whether nothing is known of which part of a layer's maps makes which part of its result."""
    vector = layer.vector
    if layer.interleave is not None or layer.packed_words is not None:
        return True
    if vector is None:
        return False
    return bool(vector.maps or vector.gathers or layer.parts or layer.whole_parts)


def _shares_weights(network: Network, layers: tuple[int, ...]) -> bool:
    owners = [network.weight_owner(i) for i in layers if network.layers[i].weight_words]
    return len(set(owners)) < len(owners)


def windowless(layer: Layer) -> bool:
    """Whether each position of a result needs the position at its place alone."""
    return (layer.r, layer.s, layer.stride, layer.padding) == (1, 1, (1, 1), (0, 0))


def weighs_rows(network: Network, position: int) -> bool:
    """Whether a product weighs the rows of its second map: its first one is made by a softmax or by
    another product, as in attention."""
    if not network.layers[position].multiplies_maps:
        return False
    maker: MapSource = group_sources(network)[position][0]
    before = None if maker.layer < 0 else network.layers[maker.layer]
    return before is not None and (before.operator == "softmax" or before.multiplies_maps)


class _RankSpace:
    """Dimensions of a group's members as lists of ranks, which are split and united."""

    def __init__(self, members: Sequence[Layer]) -> None:
        self.members = members
        self._sizes: list[int] = []
        self._blocked: set[int] = set()
        self._dims: list[list[list[int]]] = []
        for layer in members:
            bounds = (layer.n, *layer.image_bounds[1:6])
            dims = [[self._new(bound)] if bound > 1 else [] for bound in bounds]
            if layer.vector is not None and layer.vector.whole_vectors:
                # each word of a vector needs all words of it: one rank, not two
                dims[_C] = dims[_K]
            self._dims.append(dims)

    def _new(self, size: int) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def size(self, rank: int) -> int:
        """Return the size of a rank."""
        return self._sizes[rank]

    def axis(self, m: int, *dims: int) -> _Axis:
        """Return an axis of a map that some dimensions of a member make up."""
        return lambda: [rank for d in dims for rank in self._dims[m][d]]

    def block(self, axis: _Axis) -> None:
        """Let no loop run over the ranks of an axis."""
        self._blocked.update(axis())

    def align(self, one: _Axis, other: _Axis) -> bool:
        """Make two axes of one map the same ranks; whether that goes. If not nothing changes."""
        kept = list(self._sizes), set(self._blocked), [[list(d) for d in m] for m in self._dims]
        if self._aligned(one, other) and not self._doubled():
            return True
        self._sizes, self._blocked, self._dims = kept
        for m, layer in enumerate(self.members):
            if layer.vector is not None and layer.vector.whole_vectors:
                self._dims[m][_C] = self._dims[m][_K]
        return False

    def _aligned(self, one: _Axis, other: _Axis) -> bool:
        at = 0
        for _ in range(_MOST_STEPS):
            a, b = one(), other()
            if at == len(a) or at == len(b):
                return len(a) == len(b)
            x, y = a[at], b[at]
            if x == y:
                at += 1
            elif self._sizes[x] == self._sizes[y]:
                self._replace(y, [x])
                at += 1
            elif self._sizes[x] % self._sizes[y] == 0:
                self._split(x, self._sizes[y])
            elif self._sizes[y] % self._sizes[x] == 0:
                self._split(y, self._sizes[x])
            else:
                return False
        return False

    def _split(self, rank: int, outer: int) -> None:
        self._replace(rank, [self._new(outer), self._new(self._sizes[rank] // outer)])

    def _replace(self, rank: int, by: list[int]) -> None:
        seen: set[int] = set()
        for dims in self._dims:
            for ranks in dims:
                if id(ranks) not in seen and rank in ranks:
                    seen.add(id(ranks))
                    ranks[:] = [r for old in ranks for r in (by if old == rank else [old])]
        if rank in self._blocked:
            self._blocked.update(by)

    def _doubled(self) -> bool:
        """Whether a member has a rank twice: it would be one loop where there are two."""
        for dims, layer in zip(self._dims, self.members, strict=True):
            vector = layer.vector
            whole = vector is not None and vector.whole_vectors
            ranks = [r for d, some in enumerate(dims) if not (whole and d == _C) for r in some]
            if len(set(ranks)) < len(ranks):
                return True
        return False

    def result(self) -> GroupRanks:
        """Return the ranks, numbered as they come."""
        found: dict[int, int] = {}
        for dims in self._dims:
            for rank in (rank for ranks in dims for rank in ranks):
                found.setdefault(rank, len(found))
        return GroupRanks(
            tuple(self._sizes[rank] for rank in found),
            tuple(tuple(tuple(found[r] for r in ranks) for ranks in dims) for dims in self._dims),
            tuple(rank not in self._blocked for rank in found),
        )


def _join(space: _RankSpace, maker: int, reader: int, operand: int, weighs: bool) -> None:
    """Unite the ranks of a map as a member makes it and as another one reads it."""
    layer = space.members[reader]
    space_n = space.axis(maker, _N), space.axis(reader, _N)
    if not space.align(*space_n):
        _block_all(space, space_n)
    if layer.slice_of(operand) is not None or len(layer.parts) > 1:
        made = space.axis(maker, _G, _K, _P, _Q)
        _block_all(space, (made, space.axis(reader, _G, _C, _P, _Q)))
        return
    if operand < len(layer.map_channels):
        _join_first(space, maker, reader)
    elif layer.multiplies_maps and not layer.whole_parts:
        _join_second(space, maker, reader, weighs)
    elif layer.broadcast:
        channels = space.axis(maker, _G, _K), space.axis(reader, _G)
        if not space.align(*channels):
            _block_all(space, channels)
    elif layer.multiplies_maps:
        _join_piece(space, maker, reader, weighs)
    else:
        made = space.axis(maker, _G, _K, _P, _Q)
        _block_all(space, (made, space.axis(reader, _G, _K, _C)))


def _join_piece(space: _RankSpace, maker: int, reader: int, weighs: bool) -> None:
    """Unite channels of a piece of a second map (what is new beside a cache); no loop runs along
    the pieces."""
    inner, rows = (_K, _C) if weighs else (_C, _K)
    _block_all(space, (space.axis(maker, _P, _Q), space.axis(reader, rows)))
    channels = space.axis(maker, _G, _K), space.axis(reader, _G, inner)
    if not space.align(*channels):
        _block_all(space, channels)


def _join_first(space: _RankSpace, maker: int, reader: int) -> None:
    """Unite channels and positions; those of one may be heads that share keys of the other."""
    layer = space.members[reader]
    made = space.members[maker]
    rows, positions = space.axis(maker, _P), space.axis(reader, _P)
    channels, read = space.axis(maker, _G, _K), space.axis(reader, _G, _C)
    pairs: list[tuple[_Axis, _Axis]]
    if not windowless(layer):
        _block_all(space, (space.axis(maker, _P, _Q), space.axis(reader, _P, _Q)))
        pairs = [(channels, read)]
    elif made.map_shape == (layer.input_channels, *layer.input_size):
        pairs = [(channels, read), (rows, positions)]
        pairs.append((space.axis(maker, _Q), space.axis(reader, _Q)))
    elif layer.p % made.p == 0 and made.q == layer.q == 1:
        # heads of queries that share keys: rows of one product
        pairs = _regrouped(space, (rows, channels), (positions, (reader, _G, _C)), made.p)
    elif made.p % layer.p == 0 and made.q == layer.q == 1:
        pairs = _regrouped(space, (positions, read), (rows, (maker, _G, _K)), layer.p)
    else:
        pairs = [(space.axis(maker, _G, _K, _P, _Q), space.axis(reader, _G, _C, _P, _Q))]
        _block_all(space, pairs[0])
        return
    for pair in pairs:
        if not space.align(*pair):
            _block_all(space, pair)


def _regrouped(
    space: _RankSpace,
    few: tuple[_Axis, _Axis],
    many: tuple[_Axis, tuple[int, int, int]],
    positions: int,
) -> list[tuple[_Axis, _Axis]]:
    """Axes of a map of few positions with many channels, which another layer sees as more positions
    with fewer channels: the outer part of these are the positions, the inner part channels."""
    rows, channels = few
    more, (member, outer, inner) = many

    def parts() -> tuple[list[int], list[int]]:
        ranks, size = more(), 1
        for at, rank in enumerate(ranks):
            if size == positions:
                return ranks[:at], ranks[at:]
            size *= space.size(rank)
        return ranks, []

    heads, features = space.axis(member, outer), space.axis(member, inner)
    return [
        (rows, lambda: parts()[0] if prod(map(space.size, parts()[0])) == positions else more()),
        (channels, lambda: [*heads(), *parts()[1], *features()]),
    ]


def _join_second(space: _RankSpace, maker: int, reader: int, weighs: bool) -> None:
    """Unite the ranks of the second map of a product: (heads x columns, rows) or (heads x rows,
    columns), of which the one that fits is taken; where both do, the one of attention."""
    layer, made = space.members[reader], space.members[maker]
    channels, positions = made.output_channels, made.p * made.q
    scores = (channels, positions) == (layer.g * layer.c, layer.k)
    context = (channels, positions) == (layer.g * layer.k, layer.c)
    if not scores and not context:
        everything = space.axis(maker, _G, _K, _P, _Q), space.axis(reader, _G, _K, _C)
        _block_all(space, everything)
        return
    inner, rows = (_K, _C) if context and (weighs or not scores) else (_C, _K)
    pairs = [
        (space.axis(maker, _G, _K), space.axis(reader, _G, inner)),
        (space.axis(maker, _P, _Q), space.axis(reader, rows)),
    ]
    for pair in pairs:
        if not space.align(*pair):
            _block_all(space, pair)


def _join_readers(
    space: _RankSpace, readers: Sequence[tuple[int, int]], weighing: frozenset[int]
) -> None:
    """Unite the ranks along which members read one map from outside, as far as that goes: it is
    then fetched once for both."""
    first, *others = readers
    for other in others:
        axes = (_read_axes(space, read, read[0] in weighing) for read in (first, other))
        for one, same in zip(*axes, strict=True):
            space.align(one, same)


def _read_axes(
    space: _RankSpace, read: tuple[int, int], weighs: bool
) -> tuple[_Axis, _Axis, _Axis, _Axis]:
    """Images, channels, rows and columns of a map as a member reads it: of a second map, rows are
    what is weighed, or else columns of the result."""
    m, operand = read
    layer = space.members[m]
    if operand < len(layer.map_channels):
        channels = space.axis(m, _G, _C) if layer.uses_macs else space.axis(m, _G, _K)
        return space.axis(m, _N), channels, space.axis(m, _P), space.axis(m, _Q)
    if layer.multiplies_maps:
        inner, rows = (_K, _C) if weighs else (_C, _K)
        return space.axis(m, _N), space.axis(m, _G, inner), space.axis(m, rows), list
    return space.axis(m, _N), space.axis(m, _G), list, list


def _block(space: _RankSpace, m: int, weighs: bool) -> None:
    """Let no loop run over ranks of which a member needs all at once, or along which what it reads
    comes in several maps."""
    layer = space.members[m]
    if len(layer.parts) > 1:
        space.block(space.axis(m, _G, _C))
    if len(layer.whole_parts) > 1:
        space.block(space.axis(m, _C if weighs else _K))
    if not windowless(layer):
        space.block(space.axis(m, _P, _Q))
    if layer.operator in ("layer_norm", "rms_norm"):
        space.block(space.axis(m, _K))
    elif layer.operator == "group_norm":
        space.block(space.axis(m, _G, _K, _P, _Q))
    elif layer.operator == "rotary":
        # it mixes features of one head
        channels = space.axis(m, _G)
        space.block(lambda: channels()[-1:])


def _block_all(space: _RankSpace, axes: Iterable[_Axis]) -> None:
    for axis in axes:
        space.block(axis)
