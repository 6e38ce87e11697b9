"""Operands of a group of layers in a loop nest: weights, maps from outside, and maps it makes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Literal

from archloom.space.workload import Layer, Network

from .members import group_members
from .ranks import GroupRanks, group_ranks, windowless

OperandKind = Literal["weights", "read", "made"]

_N, _G, _K, _C, _P, _Q = range(6)


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor as the loops around a group see it.

    Attributes:
        kind: learned weights, a map (or box of one) from outside, or what a member makes.
        maker: the member that makes it; the only one that uses weights; -1 for what is read.
        readers: members of the group that read it, ascending.
        ranks: those along which it is cut, ascending.
        words: of all of it, all images.
        exported: whether it leaves the group.
        source: of what is read, position of the layer that makes it; -1 for an input.
    """

    kind: OperandKind
    maker: int
    readers: tuple[int, ...]
    ranks: tuple[int, ...]
    words: int
    exported: bool = False
    source: int = -1


@dataclass(frozen=True)
class NestGroup:
    """What loops around a group may be over, and what they move.

    Attributes:
        layers: members, all of them operators that have ranks.
        positions: of the layer in the network that each member is, or is a part of.
        ranks: of the group.
        own: for each member, the ranks of its loops.
        reduced: for each member, those of them that are not along what it makes.
        operands: for each member in turn its weights, the maps from outside that it is the first to
            read, and what it makes.
        weights: for each member, the operands that stand where weights do: learned ones, or the
            second map of a product.
        maps: for each member, the other operands that it reads.
        online: members whose vectors may be made piece by piece, since whoever reads them adds up
            over them (softmax); the rank along which each vector lies.
    """

    layers: tuple[Layer, ...]
    positions: tuple[int, ...]
    ranks: GroupRanks
    own: tuple[frozenset[int], ...]
    reduced: tuple[frozenset[int], ...]
    operands: tuple[Operand, ...]
    weights: tuple[tuple[int, ...], ...]
    maps: tuple[tuple[int, ...], ...]
    online: dict[int, tuple[int, ...]]

    @cached_property
    def made(self) -> tuple[int, ...]:
        """Number of the operand that each member makes."""
        return tuple(t for t, operand in enumerate(self.operands) if operand.kind == "made")

    @cached_property
    def ancestors(self) -> tuple[frozenset[int], ...]:
        """For each member those whose results it depends on."""
        found: list[frozenset[int]] = []
        for m in range(len(self.layers)):
            makers = {
                self.operands[t].maker
                for t in (*self.weights[m], *self.maps[m])
                if self.operands[t].kind == "made"
            }
            found.append(frozenset(makers).union(*(found[maker] for maker in makers)))
        return tuple(found)

    @cached_property
    def late(self) -> tuple[frozenset[int], ...]:
        """For each member the ranks over which what it depends on is added up."""
        none = frozenset[int]()
        return tuple(none.union(*(self.reduced[a] for a in some)) for some in self.ancestors)


def nest_group(
    network: Network,
    layers: tuple[int, ...],
    looped: frozenset[int],
    split: tuple[int, ...] = (),
) -> NestGroup | None:
    """Return a group as loops over some ranks see it, with layers at the places ``split`` in parts;
    None if there can be none around it.

    A map from outside that two members read along different ranks is one operand as long as no
    loop runs over these.
    """
    # loops over other ranks see the same
    return _nest_group(network, layers, looped & _told_apart(network, layers, split), split)


@lru_cache(maxsize=4096)
def _told_apart(
    network: Network, layers: tuple[int, ...], split: tuple[int, ...]
) -> frozenset[int]:
    """Ranks along which one member reads a map from outside, and another one does not."""
    ranks, found = group_ranks(network, layers, split), group_members(network, layers, split)
    read, apart = dict[object, frozenset[int]](), frozenset[int]()
    if ranks is None or found is None:
        return apart
    for m, member in enumerate(found):
        for operand, source in enumerate(member.sources):
            if source.member < 0:
                along = frozenset(_read_ranks(ranks, m, member.layer, operand))
                apart |= along ^ read.setdefault(source.box, along)
    return apart


@lru_cache(maxsize=4096)
def _nest_group(
    network: Network, layers: tuple[int, ...], looped: frozenset[int], split: tuple[int, ...]
) -> NestGroup | None:
    ranks, found = group_ranks(network, layers, split), group_members(network, layers, split)
    if ranks is None or found is None:
        return None
    members = tuple(member.layer for member in found)
    made_by: dict[int, int] = {}
    read_as: dict[tuple[object, ...], int] = {}
    operands: list[Operand] = []
    weights: list[tuple[int, ...]] = []
    maps: list[tuple[int, ...]] = []
    for m, (member, layer) in enumerate(zip(found, members, strict=True)):
        first, second = list[int](), list[int]()
        if layer.weight_words:
            second.append(len(operands))
            operands.append(_weights(ranks, m, layer))
        for operand, source in enumerate(member.sources):
            if source.member >= 0:
                t = made_by[source.member]
            else:
                along = _read_ranks(ranks, m, layer, operand)
                words = layer.map_read_words[operand]
                key = (source.box, looped.intersection(along), words)
                if key not in read_as:
                    read_as[key] = len(operands)
                    operands.append(Operand("read", -1, (), along, words, source=source.layer))
                t = read_as[key]
            whole = operand >= len(layer.map_channels) and layer.multiplies_maps
            (second if whole else first).append(t)
            if m not in operands[t].readers:
                operands[t] = _with_reader(operands[t], m)
        made_by[m] = len(operands)
        along = _sorted(ranks, m, _N, _G, _K, _P, _Q)
        operands.append(Operand("made", m, (), along, layer.output_words, member.exported))
        weights.append(tuple(second))
        maps.append(tuple(first))
    own = tuple(frozenset(r for ranks_ in dims for r in ranks_) for dims in ranks.dims)
    reduced = tuple(
        frozenset(own[m] - set(operands[made_by[m]].ranks)) for m in range(len(members))
    )
    online = {m: ranks.dims[m][_K] for m, x in enumerate(members) if x.operator == "softmax"}
    positions = tuple(member.position for member in found)
    return NestGroup(
        members,
        positions,
        ranks,
        own,
        reduced,
        tuple(operands),
        tuple(weights),
        tuple(maps),
        online,
    )


def part_of(group: NestGroup, rank: int, size: int) -> NestGroup:
    """Return a group of which so many indices of a rank are there."""
    whole = group.ranks.sizes
    sizes = (*whole[:rank], size, *whole[rank + 1 :])
    operands = tuple(
        replace(x, words=x.words // whole[rank] * size) if rank in x.ranks else x
        for x in group.operands
    )
    return replace(group, ranks=replace(group.ranks, sizes=sizes), operands=operands)


def _with_reader(operand: Operand, m: int) -> Operand:
    return Operand(
        operand.kind,
        operand.maker,
        (*operand.readers, m),
        operand.ranks,
        operand.words,
        operand.exported,
        operand.source,
    )


def _sorted(ranks: GroupRanks, m: int, *dims: int) -> tuple[int, ...]:
    return tuple(sorted({r for d in dims for r in ranks.dims[m][d]}))


def _weights(ranks: GroupRanks, m: int, layer: Layer) -> Operand:
    dims = (_G, _K, _C) if layer.uses_macs else (_G, _K)
    return Operand("weights", m, (m,), _sorted(ranks, m, *dims), layer.weight_words)


def _read_ranks(ranks: GroupRanks, m: int, layer: Layer, operand: int) -> tuple[int, ...]:
    if operand < len(layer.map_channels):
        places = (_P, _Q) if windowless(layer) else ()
        return _sorted(ranks, m, _N, _G, _C if layer.uses_macs else _K, *places)
    if layer.multiplies_maps:
        return _sorted(ranks, m, _N, _G, _K, _C)
    return _sorted(ranks, m, _N, _G)


def dim_size(ranks: GroupRanks, m: int, d: int, tile: Callable[[int], int]) -> int:
    """Return how much of a dimension of a member a tile covers, given that of each rank."""
    return prod(tile(rank) for rank in ranks.dims[m][d])
