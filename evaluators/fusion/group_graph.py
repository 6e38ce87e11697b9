"""Graph of a fused group: its feature maps, the layers that read them, and what leaves.

Numbering inside a group: its layers are 0..m-1 in topological order, each standing also for
the map that it makes; the maps that come from outside are m, m+1, ...
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from archloom.space.fusion import Residents
from archloom.space.workload import Layer, Network, Shape, Slice, bits, is_input, remembered

#: rows and columns of a map for one position as it is made, and where reading starts
_PatchAndStart = tuple[tuple[int, int], tuple[int, int]]

_PLAIN: Final[_PatchAndStart] = ((1, 1), (0, 0))


class Edge(NamedTuple):
    """One layer reading one map.

    Attributes:
        source, reader: map and layer, by their number in the group.
        full: the reader needs the whole map for any part of its output (a flattened map, or
            the second factor of a product).
        patch, start: rows and columns of the map as it is read for one position of the map as
            it is made (an interleave), and how many are left out before the first that is read.
    """

    source: int
    reader: int
    full: bool
    patch: tuple[int, int] = (1, 1)
    start: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Maps and edges of one group.

    Attributes:
        layers: position of each member in the network.
        channels: channels of each map, as it is made.
        sizes: rows and columns of each map, as it is made.
        edges: reads inside the group, external maps included.
        exported: members whose map leaves the group.
        anchor: the exported map that the tiles are cut on.
        held: maps from outside that lie whole in the buffer.
        kept: members whose map stays whole in the buffer.
        unwritten: those of ``kept`` that do not go to DRAM.
    """

    layers: tuple[int, ...]
    channels: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    edges: tuple[Edge, ...]
    exported: tuple[int, ...]
    anchor: int
    held: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    unwritten: tuple[int, ...] = ()

    @property
    def members(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def externals(self) -> range:
        """Numbers of the maps that come from outside."""
        return range(len(self.layers), len(self.channels))

    @property
    def arriving(self) -> tuple[int, ...]:
        """Maps that come from DRAM."""
        return tuple(t for t in self.externals if t not in self.held)

    @property
    def own_channels(self) -> tuple[int, ...]:
        """Channels of the maps that the group itself holds in the buffer; 0 for others."""
        others = {*self.held, *self.kept}
        return tuple(0 if t in others else c for t, c in enumerate(self.channels))

    @property
    def departing(self) -> tuple[int, ...]:
        """Maps that go to DRAM."""
        return tuple(m for m in self.exported if m not in self.unwritten)

    def last_reader(self, tensor: int) -> int:
        """Step after which the map is no longer needed in full (fusion model, section 3)."""
        if tensor in self.exported:
            return self.members - 1
        return max(e.reader for e in self.edges if e.source == tensor)


@dataclass(frozen=True, slots=True)
class MapRead:
    """One map that one layer reads, as any group sees it, whatever names and positions are.

    Attributes:
        full: as of an :class:`Edge`.
        inside: patch and start of the edge, if the group makes the map.
        outside: patch and start of the edge, if the map comes from outside.
        shape: what comes from outside: the map as it is made, or the box of it.
    """

    full: bool
    inside: _PatchAndStart
    outside: _PatchAndStart
    shape: Shape


@dataclass(frozen=True, slots=True)
class MapSource:
    """Where what one layer reads comes from.

    Attributes:
        layer: position of the layer that makes the map; -1 for an input of the network.
        box: number of the box of the map that is read, from 0 on; all of a map is one too. The
            same for all that read the same of it.
    """

    layer: int
    box: int


@remembered
def group_reads(network: Network) -> tuple[tuple[MapRead, ...], ...]:
    """Return for each layer what groups know of the maps that it reads, in order."""
    return tuple(
        tuple(_read(network, i, operand) for operand in range(len(sources)))
        for i, sources in enumerate(network.reads)
    )


@remembered
def group_sources(network: Network) -> tuple[tuple[MapSource, ...], ...]:
    """Return for each layer where the maps that it reads come from, in order."""
    numbers: dict[tuple[str, Slice | None], int] = {}
    return tuple(
        tuple(
            MapSource(
                -1 if is_input(name) else network.index(name),
                numbers.setdefault((name, layer.slice_of(operand)), len(numbers)),
            )
            for operand, name in enumerate(names)
        )
        for layer, names in zip(network.layers, network.reads, strict=True)
    )


def group_shape(network: Network, layers: tuple[int, ...]) -> GroupShape:
    """Return the maps and edges of the group made of ``layers`` (ascending positions).

    A box of a map from outside is a map of its own: no more of it is fetched.
    """
    number = {i: m for m, i in enumerate(layers)}
    reads, sources, made = group_reads(network), group_sources(network), _all_made(network)
    shapes = [made[i] for i in layers]
    outside: dict[int, int] = {}
    edges: dict[Edge, None] = {}
    for m, i in enumerate(layers):
        for read, source in zip(reads[i], sources[i], strict=True):
            member = number.get(source.layer)
            if member is not None:
                edges[Edge(member, m, read.full, *read.inside)] = None
                continue
            if source.box not in outside:
                outside[source.box] = len(shapes)
                shapes.append(read.shape)
            edges[Edge(outside[source.box], m, read.full, *read.outside)] = None
    channels = tuple(channels for channels, _, _ in shapes)
    sizes = tuple((rows, columns) for _, rows, columns in shapes)
    readers, members = readers_outside(network), bits(layers)
    exported = tuple([m for m, i in enumerate(layers) if readers[i] & ~members])
    read_inside = {e.source for e in edges}
    sinks = [m for m in exported if m not in read_inside]
    anchor = max(sinks, key=lambda m: (sizes[m][0] * sizes[m][1], channels[m], m))
    return GroupShape(layers, channels, sizes, _without_redundant(edges), exported, anchor)


def with_residents(network: Network, shape: GroupShape, residents: Residents) -> GroupShape:
    """Return the shape of a group of ``network`` among what its plan keeps in the buffer."""
    if not residents.held and not residents.kept:
        return shape
    sources = group_sources(network)
    # boxes from outside, in the order of their numbers
    outside = {s.box: s.layer for i in shape.layers for s in sources[i]}
    makers = [maker for maker in outside.values() if maker not in shape.layers]
    held = tuple(
        t for t, maker in zip(shape.externals, makers, strict=True) if maker in residents.held
    )
    kept, unwritten = (
        tuple(m for m, i in enumerate(shape.layers) if i in layers)
        for layers in (residents.kept, residents.unwritten)
    )
    return replace(shape, held=held, kept=kept, unwritten=unwritten)


def _without_redundant(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Leave out edges beside one by which the same layer needs all of the same map."""
    wholes = {(edge.source, edge.reader) for edge in edges if edge.full}
    if not wholes:
        return tuple(edges)
    kept = (e for e in edges if e.full or (e.source, e.reader) not in wholes)
    return tuple(kept)


@remembered
def readers_outside(network: Network) -> tuple[int, ...]:
    """Return for each layer, in bits, who reads its result; of a result that leaves the network
    also a layer that is in no group."""
    nobody = 1 << len(network.layers)
    return tuple(
        bits(readers) | (nobody if layer.name in network.leaving else 0)
        for layer, readers in zip(network.layers, network.consumers, strict=True)
    )


@remembered
def _all_made(network: Network) -> tuple[Shape, ...]:
    return tuple(map(_made, network.layers))


def _made(layer: Layer) -> Shape:
    """Shape of a result as it is made."""
    return (layer.output_channels, layer.p, layer.q)


def _read(network: Network, i: int, operand: int) -> MapRead:
    name, box = network.reads[i][operand], network.layers[i].slice_of(operand)
    maker = None if is_input(name) else network.layers[network.index(name)]
    full, (patch, start) = _full(network, i, operand), _patch(maker)
    if box is not None:
        inside = (patch, (start[0] + box.start[1], start[1] + box.start[2]))
        return MapRead(full, inside, _PLAIN, box.size)
    shape = network.map_shape(name) if maker is None else _made(maker)
    return MapRead(full, (patch, start), (patch, start), shape)


def _full(network: Network, i: int, operand: int) -> bool:
    """Whether layer ``i`` needs all that it reads of a map for any part of its result."""
    layer = network.layers[i]
    if operand >= len(layer.map_channels):
        return True
    box = layer.slice_of(operand)
    read = network.map_shape(network.reads[i][operand]) if box is None else box.size
    return read[1:] != layer.input_size


def _patch(maker: Layer | None) -> _PatchAndStart:
    """Rows and columns of a map for one position as it is made, and how many are cut off."""
    spread = None if maker is None else maker.interleave
    return _PLAIN if spread is None else ((spread.rows, spread.columns), spread.start)
