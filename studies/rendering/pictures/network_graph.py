"""A network as a graph to be drawn: layers, inputs, and a dot where feature maps are joined.

A concatenation is no layer, and every reader of one reads all of its parts. The dots show them as
people think of them: readers of the same parts share a dot, and a concatenation that goes on where
another one ends (DenseNet) starts from its dot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from archloom.space.workload import ACTIVATIONS, Layer, Network
from archloom.studies.analysis import Details
from archloom.studies.rendering.text import (
    KIB,
    change_text,
    inputs_of,
    nests_of,
    operator_text,
    reads_text,
    shape_text,
    tiling_text,
    window_text,
)

INPUT_KIND: Final = "input"
DOT_KIND: Final = "concatenation"

OPERATOR_KINDS: Final[dict[str, str]] = {
    "conv": "convolution",
    "gemm": "matrix product",
    "matmul": "product of two feature maps",
    **dict.fromkeys(("maxpool", "avgpool"), "pooling"),
    **dict.fromkeys(("add", "mul", "div", "rotary", *ACTIVATIONS), "elementwise"),
    **dict.fromkeys(("scale_shift", "softmax", "layer_norm", "rms_norm", "group_norm"), "norm"),
    **dict.fromkeys(("copy", "bilinear"), "copy or resize"),
    **dict.fromkeys(("lstm_state", "lstm_output"), "recurrent gates"),
    **dict.fromkeys(("gru_reset", "gru_output", "gru_output_reset_after"), "recurrent gates"),
}
"""What each operator is coloured by; depthwise convolutions have a kind of their own."""


def kind_of(layer: Layer) -> str:
    """Return what a picture colours a layer by."""
    return "depthwise convolution" if layer.depthwise else OPERATOR_KINDS[layer.operator]


@dataclass(frozen=True, slots=True)
class Node:
    """Something that is drawn.

    Attributes:
        name: of a layer or an input; empty for a dot.
        kind: what it is coloured by.
        rank: it stands below everything with a lower one.
        note: shape and window in a few words.
        about: all that is known of it, line by line.
    """

    name: str
    kind: str
    rank: int
    note: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, and edges as (source, reader), positions of nodes."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass
class _Drawn:
    """What becomes a :class:`Graph`."""

    nodes: list[Node]
    edges: dict[tuple[int, int], None] = field(default_factory=dict)
    dots: dict[tuple[str, ...], int] = field(default_factory=dict)

    def connect(self, source: int, reader: int) -> None:
        self.edges[source, reader] = None


@dataclass(frozen=True, slots=True)
class Fused:
    """A group of a fusion plan.

    Attributes:
        label: stands at its first layer.
        layers: names.
        about: tells more, at each of its layers.
        tree: of its loops, to be drawn below: title and nest.
    """

    label: str
    layers: tuple[str, ...]
    about: str = ""
    tree: tuple[str, Details] | None = None


def graph_of(network: Network, ranks: Sequence[int], notes: Mapping[str, str]) -> Graph:
    """Return what is drawn of a network.

    Args:
        network: to draw.
        ranks: of each layer, as of :func:`archloom.space.workload.graph.ranks`.
        notes: another line about some layers, by name.
    """
    places: dict[str, int] = {}
    drawn = _Drawn([])
    ranks = _lowered(network, ranks)
    for name in inputs_of(network):
        readers = [i for i, sources in enumerate(network.reads) if name in sources]
        first = min(ranks[i] for i in readers)
        places[name] = len(drawn.nodes)
        drawn.nodes.append(_input_node(network, name, 2 * first - 2))
    leaving = network.leaving
    for i, layer in enumerate(network.layers):
        places[layer.name] = len(drawn.nodes)
        about = _about(network, i, layer.name in leaving, notes.get(layer.name))
        # dots take the odd ranks
        drawn.nodes.append(Node(layer.name, kind_of(layer), 2 * ranks[i], _note(layer), about))
    for i, layer in enumerate(network.layers):
        reader = places[layer.name]
        side_by_side = network.reads[i][: len(layer.parts)] if len(layer.parts) > 1 else ()
        if side_by_side:
            drawn.connect(_dot(drawn, places, side_by_side), reader)
        for source in network.reads[i][len(side_by_side) :]:
            drawn.connect(places[source], reader)
    return Graph(tuple(drawn.nodes), tuple(drawn.edges))


def _lowered(network: Network, ranks: Sequence[int]) -> list[int]:
    """Return ranks in which layers that wait for nothing stand just above their readers.

    Those are the layers that read inputs alone, and what only they lead to.
    """
    lowered = list(ranks)
    free: list[bool] = []
    for producers in network.producers:
        free.append(all(free[p] and len(network.consumers[p]) == 1 for p in producers))
    for i in reversed(range(len(lowered))):
        if free[i] and network.consumers[i]:
            lowered[i] = min(lowered[reader] for reader in network.consumers[i]) - 1
    return lowered


def _dot(drawn: _Drawn, places: dict[str, int], sources: tuple[str, ...]) -> int:
    """Return the dot at which these maps are laid side by side."""
    if sources in drawn.dots:
        return drawn.dots[sources]
    rank = 1 + max(drawn.nodes[places[source]].rank for source in sources)
    rank += 1 - rank % 2
    begun = next(
        (
            length
            for length in range(len(sources) - 1, 1, -1)
            if sources[:length] in drawn.dots
            and drawn.nodes[drawn.dots[sources[:length]]].rank < rank
        ),
        0,
    )
    dot = drawn.dots[sources] = len(drawn.nodes)
    about = (DOT_KIND, f"{len(sources)} feature maps: {sources[0]} .. {sources[-1]}")
    drawn.nodes.append(Node("", DOT_KIND, rank, "", about))
    if begun:
        drawn.connect(drawn.dots[sources[:begun]], dot)
    for source in sources[begun:]:
        drawn.connect(places[source], dot)
    return dot


def _input_node(network: Network, name: str, rank: int) -> Node:
    shape = shape_text(network.map_shape(name))
    return Node(name, INPUT_KIND, rank, shape, (name, f"input of the network: {shape}"))


def _note(layer: Layer) -> str:
    window = window_text(layer)
    shape = shape_text(layer.map_shape)
    return f"{window.replace(' ', '')} {shape}" if layer.uses_macs and window else shape


def _about(network: Network, position: int, leaves: bool, note: str | None) -> tuple[str, ...]:
    layer = network.layers[position]
    lines = [layer.name, f"{operator_text(layer)} {window_text(layer)}".strip()]
    lines.append(change_text(network, position))
    if layer.uses_macs:
        lines.append(f"{layer.macs:,} MACs")
    else:
        lines.append(f"{layer.vector_ops:,} vector unit operations")
    if layer.params:
        lines.append(f"{layer.params:,} parameters")
    if layer.weights_of:
        lines.append(f"shares the weights of {layer.weights_of}")
    lines.append(f"reads {reads_text(network, position)}")
    if leaves:
        lines.append("output of the network")
    if note:
        lines.append(note)
    return tuple(lines)


def fused_groups(groups: Sequence[Details]) -> list[Fused]:
    """Return the groups of a plan that fuse layers, with what tables say of them."""
    trees = {id(group): (title, group["nest"]) for title, group in nests_of(groups)}
    return [
        Fused(
            _group_label(number, group),
            tuple(group["layers"]),
            _group_tooltip(number, group),
            trees.get(id(group)),
        )
        for number, group in enumerate(groups)
        if len(group["layers"]) > 1
    ]


def pinned_reads(network: Network, groups: Sequence[Details]) -> list[tuple[str, str]]:
    """Return maker and reader of all that a plan's groups find in the buffer of earlier ones."""
    home = {name: number for number, group in enumerate(groups) for name in group["layers"]}
    layers = network.layers
    found = []
    for number, group in enumerate(groups):
        for pin in group["pins"]:
            readers = (layers[c].name for c in network.consumers[network.index(pin["layer"])])
            last = home[pin["reader"]]
            found += [(pin["layer"], reader) for reader in readers if number < home[reader] <= last]
    return found


def _group_label(number: int, group: Details) -> str:
    parts = "iterations" if "nest" in group else "tiles"
    tiles = f": {group['tiles']} {parts}" if group["tiles"] > 1 else ""
    return f"group {number}{tiles}"


def _group_tooltip(number: int, group: Details) -> str:
    resident = f", {len(group['resident'])} with resident weights" if group["resident"] else ""
    return (
        f"group {number}: {len(group['layers'])} layers, {tiling_text(group)}{resident}; "
        f"DRAM {group['dram_bytes'] / KIB:,.1f} KiB, "
        f"{group['dram_bytes_unfused'] / KIB:,.1f} KiB unfused"
    )
