"""The maps of a fused group: which exist, who reads whom, and what leaves.

Numbering inside a group: its layers are 0..m-1 in topological order, each standing also for
the map that it makes; the maps that come from outside are m, m+1, ...
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from ..space.network import Network, Shape, is_input
from ..space.slices import Slice


@dataclass(frozen=True, slots=True)
class Edge:
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
    """

    layers: tuple[int, ...]
    channels: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    edges: tuple[Edge, ...]
    exported: tuple[int, ...]
    anchor: int

    @property
    def members(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def externals(self) -> range:
        """Numbers of the maps that come from outside."""
        return range(len(self.layers), len(self.channels))

    def last_reader(self, tensor: int) -> int:
        """Step after which the map is no longer needed in full (fusion model, section 3)."""
        if tensor in self.exported:
            return self.members - 1
        return max(e.reader for e in self.edges if e.source == tensor)


def group_shape(network: Network, layers: tuple[int, ...]) -> GroupShape:
    """Return the maps and edges of the group made of ``layers`` (ascending positions).

    A box of a map from outside is a map of its own: no more of it is fetched.
    """
    number = {i: m for m, i in enumerate(layers)}
    shapes = [_made(network, network.layers[i].name) for i in layers]
    outside: dict[tuple[str, Slice | None], int] = {}
    edges: dict[Edge, None] = {}
    for i in layers:
        for operand, source in enumerate(network.reads[i]):
            member = None if is_input(source) else number.get(network.index(source))
            if member is not None:
                edges[_inner(network, i, operand, member, number[i])] = None
                continue
            box = network.layers[i].slice_of(operand)
            if (source, box) not in outside:
                outside[source, box] = len(shapes)
                shapes.append(_made(network, source) if box is None else box.size)
            tensor = outside[source, box]
            edges[_outer(network, i, operand, tensor, number[i])] = None
    channels = tuple(channels for channels, _, _ in shapes)
    sizes = tuple((rows, columns) for _, rows, columns in shapes)
    exported = tuple(m for m, i in enumerate(layers) if _leaves(network, i, number))
    sinks = [m for m in exported if all(e.source != m for e in edges)]
    anchor = max(sinks, key=lambda m: (sizes[m][0] * sizes[m][1], channels[m], m))
    return GroupShape(layers, channels, sizes, _telling(edges), exported, anchor)


def _telling(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Leave out edges beside one by which the same layer needs all of the same map."""
    wholes = {(edge.source, edge.reader) for edge in edges if edge.full}
    kept = (e for e in edges if e.full or (e.source, e.reader) not in wholes)
    return tuple(kept)


def _leaves(network: Network, i: int, group: Container[int]) -> bool:
    """Whether the result of layer ``i`` is read outside the group, or leaves the network."""
    readers = network.consumers[i]
    if not readers or network.layers[i].name in network.outputs:
        return True
    return any(c not in group for c in readers)


def _made(network: Network, source: str) -> Shape:
    """Shape of a map as it is made."""
    if is_input(source):
        return network.map_shape(source)
    layer = network.layers[network.index(source)]
    return (layer.output_channels, layer.p, layer.q)


def _full(network: Network, i: int, operand: int) -> bool:
    """Whether layer ``i`` needs all that it reads of a map for any part of its result."""
    layer = network.layers[i]
    if operand >= len(layer.map_channels):
        return True
    box = layer.slice_of(operand)
    read = network.map_shape(network.reads[i][operand]) if box is None else box.size
    return read[1:] != layer.input_size


def _inner(network: Network, i: int, operand: int, tensor: int, reader: int) -> Edge:
    """The edge from a map that the group makes to layer ``i``, by their numbers in the group."""
    full = _full(network, i, operand)
    patch, start = _patch(network, network.reads[i][operand])
    box = network.layers[i].slice_of(operand)
    if box is not None:
        start = (start[0] + box.start[1], start[1] + box.start[2])
    return Edge(tensor, reader, full, patch, start)


def _outer(network: Network, i: int, operand: int, tensor: int, reader: int) -> Edge:
    """The edge from a map, or a box of a map, that comes from outside."""
    full = _full(network, i, operand)
    if network.layers[i].slice_of(operand) is not None:
        return Edge(tensor, reader, full)
    return Edge(tensor, reader, full, *_patch(network, network.reads[i][operand]))


def _patch(network: Network, source: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns of a map for one position as it is made, and how many are cut off."""
    spread = None if is_input(source) else network.layers[network.index(source)].interleave
    if spread is None:
        return (1, 1), (0, 0)
    return (spread.rows, spread.columns), spread.start
