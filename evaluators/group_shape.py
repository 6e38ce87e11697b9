"""The maps of a fused group: which exist, who reads whom, and what leaves.

Numbering inside a group: its layers are 0..m-1 in topological order, each standing also for
the map that it makes; the maps that come from outside are m, m+1, ...
"""

from dataclasses import dataclass

from ..space.network import INPUT, Network


@dataclass(frozen=True, slots=True)
class Edge:
    """One layer reading one map.

    Attributes:
        source, reader: map and layer, by their number in the group.
        full: the reader needs the whole map for any part of its output (a flattened map).
    """

    source: int
    reader: int
    full: bool


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Maps and edges of one group.

    Attributes:
        layers: position of each member in the network.
        channels: channels of each map.
        sizes: rows and columns of each map.
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
    channels = [network.layers[i].output_channels for i in layers]
    sizes = [(network.layers[i].p, network.layers[i].q) for i in layers]
    outside: dict[str, int] = {}
    edges: list[Edge] = []
    for i in layers:
        layer = network.layers[i]
        for source in dict.fromkeys(network.reads[i]):
            producer = None if source == INPUT else network.index(source)
            if producer is not None and producer in number:
                tensor = number[producer]
            else:
                if source not in outside:
                    outside[source] = len(channels)
                    made = None if producer is None else network.layers[producer]
                    channels.append(made.output_channels if made else layer.input_channels)
                    sizes.append((made.p, made.q) if made else layer.input_size)
                tensor = outside[source]
            edges.append(Edge(tensor, number[i], full=sizes[tensor] != layer.input_size))
    exported = tuple(
        m
        for m, i in enumerate(layers)
        if not network.consumers[i] or any(c not in number for c in network.consumers[i])
    )
    sinks = [m for m in exported if all(e.source != m for e in edges)]
    anchor = max(sinks, key=lambda m: (sizes[m][0] * sizes[m][1], channels[m], m))
    return GroupShape(layers, tuple(channels), tuple(sizes), tuple(edges), exported, anchor)
