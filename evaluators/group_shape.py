"""The maps of a fused group: which exist, who reads whom, and what leaves.

Numbering inside a group: its layers are 0..m-1 in topological order, each standing also for
the map that it makes; the maps that come from outside are m, m+1, ...
"""

from dataclasses import dataclass

from ..space.network import Network, Shape, is_input


@dataclass(frozen=True, slots=True)
class Edge:
    """One layer reading one map.

    Attributes:
        source, reader: map and layer, by their number in the group.
        full: the reader needs the whole map for any part of its output (a flattened map, or
            the second factor of a product).
        patch, start: rows and columns of the map as it is read for one position of the map as
            it is made, and how many of them are cut off before the first (an interleave).
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
    """Return the maps and edges of the group made of ``layers`` (ascending positions)."""
    number = {i: m for m, i in enumerate(layers)}
    shapes = [_made(network, network.layers[i].name) for i in layers]
    outside: dict[str, int] = {}
    edges: list[Edge] = []
    for i in layers:
        for source in dict.fromkeys(network.reads[i]):
            tensor = None if is_input(source) else number.get(network.index(source))
            if tensor is None:
                if source not in outside:
                    outside[source] = len(shapes)
                    shapes.append(_made(network, source))
                tensor = outside[source]
            edges.append(_edge(network, i, source, tensor, number[i]))
    channels = tuple(channels for channels, _, _ in shapes)
    sizes = tuple((rows, columns) for _, rows, columns in shapes)
    exported = tuple(
        m
        for m, i in enumerate(layers)
        if not network.consumers[i] or any(c not in number for c in network.consumers[i])
    )
    sinks = [m for m in exported if all(e.source != m for e in edges)]
    anchor = max(sinks, key=lambda m: (sizes[m][0] * sizes[m][1], channels[m], m))
    return GroupShape(layers, channels, sizes, tuple(edges), exported, anchor)


def _made(network: Network, source: str) -> Shape:
    """Shape of a map as it is made."""
    if is_input(source):
        return network.map_shape(source)
    layer = network.layers[network.index(source)]
    return (layer.output_channels, layer.p, layer.q)


def _edge(network: Network, i: int, source: str, tensor: int, reader: int) -> Edge:
    """The edge from a map to layer ``i``, by their numbers in the group."""
    layer = network.layers[i]
    whole = layer.whole_words > 0 and network.reads[i][-1] == source
    full = whole or network.map_shape(source)[1:] != layer.input_size
    spread = None if is_input(source) else network.layers[network.index(source)].interleave
    if spread is None:
        return Edge(tensor, reader, full)
    return Edge(tensor, reader, full, (spread.rows, spread.columns), spread.start)
