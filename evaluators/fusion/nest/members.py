"""Members of a group in a loop nest: its layers, or the parts of a layer whose result others cut.

Networks often make queries, keys and values by one product, whose result is cut into boxes of
channels. As one layer it runs where any of them is wanted; as a layer for each box, each runs
where its own is. Products of different outputs share nothing but what they read, so a layer is the
sum of its parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from archloom.space.workload import Layer, Network, Slice

from ..group_graph import group_sources


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Where what one member reads comes from.

    Attributes:
        member: that makes it; -1 for what comes from outside.
        layer: position of the layer that makes it; -1 for an input of the network.
        box: number of the box of a map that is read (:class:`..group_graph.MapSource`).
    """

    member: int
    layer: int
    box: int


@dataclass(frozen=True, slots=True)
class Member:
    """What runs as one layer.

    Attributes:
        position: of the layer in the network.
        layer: all of it, or a part with some of its channels; boxes of parts are maps of their own.
        sources: of the maps that it reads, in order.
        exported: whether its result is read outside the group, or leaves the network.
    """

    position: int
    layer: Layer
    sources: tuple[MemberSource, ...]
    exported: bool


def group_members(
    network: Network, layers: tuple[int, ...], split: tuple[int, ...] = ()
) -> tuple[Member, ...] | None:
    """Return the members of a group.

    Args:
        network: of the layers.
        layers: positions, ascending.
        split: which of ``layers`` run in parts, as places among them; None is returned if one
            cannot.
    """
    inside = set(layers)
    parts: dict[int, tuple[range, ...]] = {}
    for place in split:
        found = parts_of(network, layers, layers[place]) if place < len(layers) else ()
        if len(found) < 2:
            return None
        parts[layers[place]] = found
    members: list[Member] = []
    # by layer and first channel of a part
    number: dict[tuple[int, int], int] = {}
    for position in layers:
        layer = network.layers[position]
        sources, slices = list[MemberSource](), list[Slice | None]()
        for operand, source in enumerate(group_sources(network)[position]):
            box = layer.slice_of(operand)
            whole = source.layer in parts
            start = box.start[0] if whole and box is not None else 0
            member = number[source.layer, start] if source.layer in inside else -1
            sources.append(MemberSource(member, source.layer, source.box))
            slices.append(None if whole else box)
        seen = layer
        if tuple(slices) != layer.slices and any(layer.slices):
            seen = replace(layer, slices=tuple(slices) if any(slices) else ())
        for part in parts.get(position, (range(layer.output_channels),)):
            number[position, part.start] = len(members)
            one = _part(seen, part) if position in parts else seen
            leaves = _leaves(network, inside, position, part)
            members.append(Member(position, one, tuple(sources), leaves))
    return tuple(members)


def splittable(network: Network, layers: tuple[int, ...]) -> tuple[int, ...]:
    """Return which layers of a group may run in parts, as places among them."""
    return tuple(
        place
        for place, position in enumerate(layers)
        if len(parts_of(network, layers, position)) > 1
    )


def parts_of(network: Network, layers: tuple[int, ...], position: int) -> tuple[range, ...]:
    """Return the channels of each part of a layer as members of its group read its result; nothing
    if it cannot run in parts.

    It must be a product with learned weights of its own. Each member that reads its result must
    read a box of some channels at all positions; boxes may be the same, but not overlap. What is
    between them is a part too, if others than the members read it.
    """
    layer, inside = network.layers[position], set(layers)
    if not layer.weight_words or not layer.uses_macs or layer.g > 1 or layer.weights_of:
        return ()
    if layer.interleave is not None or layer.packed_words is not None:
        return ()
    read = set[tuple[int, int]]()
    for reader in set(network.consumers[position]) & inside:
        for box in _boxes(network, position, reader):
            if box is None or box.size[1:] != box.of[1:]:
                return ()
            read.add((box.start[0], box.start[0] + box.size[0]))
    ends = sorted({0, layer.k, *(end for ends in read for end in ends)})
    parts = tuple(range(a, b) for a, b in pairwise(ends))
    if not read or not all((part.start, part.stop) in read for part in _overlapping(parts, read)):
        return ()
    unread = [part for part in parts if (part.start, part.stop) not in read]
    if not all(_leaves(network, inside, position, part) for part in unread):
        return ()
    return parts


def _overlapping(parts: tuple[range, ...], read: set[tuple[int, int]]) -> Iterator[range]:
    """Yield the parts that some box has channels of."""
    return (p for p in parts if any(a < p.stop and p.start < b for a, b in read))


def _boxes(network: Network, position: int, reader: int) -> Iterator[Slice | None]:
    """Yield the boxes of a layer's result that a reader reads; None for all of it."""
    for operand, source in enumerate(group_sources(network)[reader]):
        if source.layer == position:
            yield network.layers[reader].slice_of(operand)


def _leaves(network: Network, inside: set[int], position: int, part: range) -> bool:
    """Whether some channels of a result are read outside, or leave the network."""
    if network.layers[position].name in network.leaving:
        return True
    return any(
        box is None or (box.start[0] < part.stop and part.start < box.start[0] + box.size[0])
        for reader in set(network.consumers[position]) - inside
        for box in _boxes(network, position, reader)
    )


def _part(layer: Layer, part: range) -> Layer:
    name = f"{layer.name}[{part.start}:{part.stop}]"
    return replace(layer, name=name, k=len(part), extra_params=0)
