"""The picture of a network: its layers by kind, what they read, and which of them run fused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.space.workload import Network, ranks
from archloom.studies.storage import write_whole

from ...errors import UserError, choosing
from .layered_layout import Layout, Point, Spacing, layered
from .loop_tree import with_trees
from .network_graph import DOT_KIND, INPUT_KIND, Fused, Graph, Node, graph_of
from .scene import Areas, Lines, Scene, Texts, box, figure, save
from .style import INK

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


KINDS: Final[dict[str, str]] = {
    INPUT_KIND: "#eef1f4",
    "convolution": "#3b6ea5",
    "depthwise convolution": "#0e7490",
    "matrix product": "#6d4a9e",
    "product of two feature maps": "#a23b72",
    "pooling": "#8a5a2b",
    "elementwise": "#64707d",
    "norm": "#b45309",
    "copy or resize": "#4d7c0f",
    "recurrent gates": "#b91c1c",
    DOT_KIND: INK,
}
"""Kinds of nodes, in the order of the legend, and their colours; names are white on most."""

ENDINGS: Final = (".html", ".png", ".svg")

GROUP_COLOURS: Final = (
    ("#fde3cc", "#e8935a", "#a8511a"),
    ("#d9ecd2", "#74b266", "#3d752f"),
    ("#d6e5f8", "#6b9fd8", "#2c62a3"),
    ("#ecdcf3", "#b07cc6", "#7c4394"),
    ("#f6eeb9", "#c4ae36", "#7a6a10"),
    ("#fbdadd", "#e27d86", "#a83640"),
)
"""Fills, borders and labels of fused groups, in turn."""

_EDGE: Final = "#8794a3"
_FAR: Final = "#eab308"
_KEPT, _THICK = "#0f766e", 1.8
"""Colour and half of the width of lines for maps that stay in the buffer between groups."""
_LISTED: Final = 8
"""Most names of a tip."""
_NAME, _SMALL = 11.0, 9.0
_LETTER: Final = 0.6
"""Width of a letter in heights; that of wide fonts (DejaVu Sans has 0.6)."""
_LONGEST: Final = 26
"""Letters of a name; of longer ones the end is shown, which differs more often."""
_STUB: Final = 7.0
"""Length of the ends of a line that is not drawn."""
_PAD: Final = 7.0
"""How far a group reaches beyond its layers."""
_DOT: Final = 9.0
_DETAILED: Final = 60
"""Most layers of a picture whose nodes say shapes; in larger ones the tips do."""
_ASPECT: Final = 1.6
"""Width to height that folding aims at."""
_ROWS: Final = (10, 26)
"""Fewest and most ranks of a column: what a screen holds."""


def network_figure(
    network: Network, groups: Sequence[Fused] = (), pinned: Sequence[tuple[str, str]] = ()
) -> "Figure":
    """Return the picture as a plotly figure.

    Args:
        network: to draw.
        groups: of a plan; those of several layers are enclosed by a colour.
        pinned: maker and reader of maps that stay in the buffer between groups.
    """
    return figure(network_scene(network, groups, pinned))


def save_picture(
    network: Network,
    path: Path,
    groups: Sequence[Fused] = (),
    pinned: Sequence[tuple[str, str]] = (),
    option: str = "--out",
) -> None:
    """Write the picture to a file: ``.html`` to look around in, ``.png`` or ``.svg``.

    Args:
        network: to draw.
        path: of the file.
        groups: of a plan; those of several layers are enclosed by a colour.
        pinned: maker and reader of maps that stay in the buffer between groups.
        option: that asked for it, for messages.

    Raises:
        UserError: another ending, or a file that cannot be written.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{option} {path}: must end in .html, .png or .svg")
    with choosing(path, option):
        if ending == ".html":
            write_whole(path, _page(network, groups, pinned))
        else:
            save(network_scene(network, groups, pinned), path)


def picture_card(
    network: Network,
    groups: Sequence[Fused] | None,
    name: str,
    title: str = "",
    pinned: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the picture as HTML that scrolls.

    Args:
        network: to draw.
        groups: of a plan that fuse layers; None if there is no plan.
        name: unique in the page.
        title: of the card.
        pinned: maker and reader of maps that stay in the buffer between groups.
    """
    from ..html import card, plot

    note = f"{network!r}"[1:-1].partition(": ")[2]
    if groups is not None:
        note += ". Coloured areas are fused groups" if groups else ". No layers are fused"
    return card(
        title,
        f"{note}. Hover over a node for details; drag to move the view.",
        f'<div class="scroll">{plot(network_figure(network, groups or (), pinned), name)}</div>',
    )


def _page(network: Network, groups: Sequence[Fused], pinned: Sequence[tuple[str, str]]) -> str:
    from html import escape

    from ..html import document

    picture = picture_card(network, groups or None, "graph", pinned=pinned)
    body = f'<h1>{escape(network.name)}</h1><div class="wide">{picture}</div>'
    return document(f"{network.name} - Archloom", body)


@dataclass(frozen=True, slots=True)
class PlacedNetwork:
    """A network's graph with places in a picture.

    Attributes:
        graph: nodes and edges.
        layout: places of the nodes, lines of the edges.
        sizes: width and height of each node.
        detailed: whether nodes say shapes.
    """

    graph: Graph
    layout: Layout
    sizes: tuple[tuple[float, float], ...]
    detailed: bool

    @property
    def named(self) -> dict[str, int]:
        """Nodes of layers and inputs by name."""
        return {node.name: i for i, node in enumerate(self.graph.nodes) if node.name}

    @property
    def far(self) -> list[tuple[tuple[Point, Point], tuple[str, ...]]]:
        """Ends of lines that are not drawn, and what tips say of them."""
        return _ends(self.graph, self.layout, self.sizes)


def placed_network(network: Network, notes: Mapping[str, str]) -> PlacedNetwork:
    """Lay a network's graph out; ``notes`` are lines that tips add to some layers."""
    graph = graph_of(network, ranks(network), notes)
    detailed = len(network.layers) <= _DETAILED
    sizes = tuple(_size(node, detailed) for node in graph.nodes)
    spacing = _spacing(graph, sizes, detailed)
    layout = layered([node.rank for node in graph.nodes], graph.edges, sizes, spacing)
    return PlacedNetwork(graph, layout, sizes, detailed)


def network_scene(
    network: Network, groups: Sequence[Fused] = (), pinned: Sequence[tuple[str, str]] = ()
) -> Scene:
    """Return the picture: groups at the back, then lines, then nodes with their names."""
    groups = [group for group in groups if len(group.layers) > 1]
    notes = {name: group.about for group in groups for name in group.layers if group.about}
    drawn = placed_network(network, notes)
    graph, layout, sizes, detailed = drawn.graph, drawn.layout, drawn.sizes, drawn.detailed
    named = drawn.named
    parts: list[Areas | Lines | Texts] = []
    for number, group in enumerate(groups):
        members = {named[name] for name in group.layers}
        parts += _enclosure(layout, sizes, members, *GROUP_COLOURS[number % len(GROUP_COLOURS)][:2])
    parts.append(Lines(layout.lines, _EDGE, 1.3))
    kept = [layout.lines[line] for line in pinned_lines(drawn, pinned)]
    if kept:
        bands = [_band(a, b, _THICK) for line in kept for a, b in pairwise(line)]
        parts.append(Areas(bands, _KEPT, "pinned in the buffer between groups"))
    for number, group in enumerate(groups):
        first = min(named[name] for name in group.layers)
        parts += _label(group.label, layout.places[first], sizes[first], number)
    parts += _nodes(graph, layout, sizes, detailed)
    ends = drawn.far
    if ends:
        parts.append(Lines([line for line, _ in ends], _FAR, 1.3))
        marks = [box(line[1], _DOT - 3, _DOT - 3) for line, _ in ends]
        parts.append(Areas(marks, _FAR, "read by a distant layer"))
    tips = [*_tips(graph, layout, sizes), *((line[1], text) for line, text in ends)]
    scene = Scene(layout.width, layout.height, tuple(parts), tuple(tips))
    return with_trees(scene, [group.tree for group in groups if group.tree])


def _shown(name: str) -> str:
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _size(node: Node, detailed: bool) -> tuple[float, float]:
    if node.kind == DOT_KIND:
        return (_DOT, _DOT)
    width = len(_shown(node.name)) * _NAME * _LETTER
    if detailed:
        width = max(width, len(node.note) * _SMALL * _LETTER)
    return (max(width, 40.0) + 10, 34.0 if detailed else 21.0)


def _spacing(graph: Graph, sizes: Sequence[tuple[float, float]], detailed: bool) -> Spacing:
    """Return distances, and columns that give the picture a shape for screens."""
    drop, gap = (24.0, 16.0) if detailed else (18.0, 14.0)
    across: dict[int, float] = {}
    for node, (width, _) in zip(graph.nodes, sizes, strict=True):
        across[node.rank] = across.get(node.rank, 2 * gap) + width + gap
    if not across:
        return Spacing(drop, gap, 1)
    # most columns are about as wide as their widest ranks
    column = sorted(across.values())[len(across) * 9 // 10]
    row = drop + max(height for _, height in sizes)
    rows = round(sqrt(len(across) * column / (_ASPECT * row)))
    return Spacing(drop, gap, min(max(rows, _ROWS[0]), _ROWS[1]))


def _enclosure(
    layout: Layout,
    sizes: Sequence[tuple[float, float]],
    members: set[int],
    fill: str,
    border: str,
) -> list[Areas]:
    """Return what encloses a group: wide boxes around its layers, wide lines where they read."""
    inside = enclosed_lines(layout, members)
    areas = []
    for colour, more in ((border, 1.5), (fill, 0.0)):
        shapes = [
            box(layout.places[i], sizes[i][0] + 2 * (_PAD + more), sizes[i][1] + 2 * (_PAD + more))
            for i in sorted(members)
        ]
        for line in inside:
            shapes += [_band(a, b, _PAD + more) for a, b in pairwise(layout.lines[line])]
        areas.append(Areas(shapes, colour))
    return areas


def pinned_lines(drawn: PlacedNetwork, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return the lines on which maps that stay in the buffer go from their makers to readers.

    Args:
        drawn: the picture.
        pairs: maker and reader of each such map.
    """
    graph, routes = drawn.graph, drawn.layout.routes
    readers: dict[int, list[int]] = {}
    for source, reader in graph.edges:
        readers.setdefault(source, []).append(reader)

    def ways(source: int, reader: int) -> list[tuple[int, int]]:
        """Edges on the way to a reader, through nothing but dots."""
        found = [(source, reader)] if reader in readers.get(source, []) else []
        for dot in readers.get(source, []):
            if graph.nodes[dot].kind == DOT_KIND and (beyond := ways(dot, reader)):
                found += [(source, dot), *beyond]
        return found

    named = drawn.named
    edges = dict.fromkeys(edge for a, b in pairs for edge in ways(named[a], named[b]))
    return list(dict.fromkeys(line for edge in edges for line in routes.get(edge, ())))


def enclosed_lines(layout: Layout, members: set[int]) -> list[int]:
    """Return the lines between members of a group."""
    return list(
        dict.fromkeys(
            line
            for (source, reader), route in layout.routes.items()
            if source in members and reader in members
            for line in route
        )
    )


def _band(start: Point, end: Point, half: float) -> tuple[Point, ...]:
    """Return the rectangle around a line, a little longer so that bends have no gaps."""
    (x, y), (right, low) = start, end
    length = hypot(right - x, low - y) or 1.0
    a, b = (right - x) / length * half, (low - y) / length * half
    c, d = a / 2, b / 2
    return (
        (x - c + b, y - d - a),
        (right + c + b, low + d - a),
        (right + c - b, low + d + a),
        (x - c - b, y - d + a),
    )


def _ends(
    graph: Graph, layout: Layout, sizes: Sequence[tuple[float, float]]
) -> list[tuple[tuple[Point, Point], tuple[str, ...]]]:
    """Return short ends of the lines that the layout leaves out, and what tips say of them."""
    others: dict[tuple[int, int], list[str]] = {}
    for source, reader in graph.edges:
        if (source, reader) not in layout.routes:
            others.setdefault((source, 1), []).append(graph.nodes[reader].name or DOT_KIND)
            others.setdefault((reader, -1), []).append(graph.nodes[source].name or DOT_KIND)
    ends = []
    for (i, side), names in others.items():
        (x, y), (width, height) = layout.places[i], sizes[i]
        x, y = x + side * width / 4, y + side * height / 2
        what = "read by distant layers:" if side > 0 else "reads from distant layers:"
        more = (f"and {len(names) - _LISTED} more",) if len(names) > _LISTED else ()
        ends.append((((x, y), (x, y + side * _STUB)), (what, *names[:_LISTED], *more)))
    return ends


def _label(text: str, place: Point, size: tuple[float, float], number: int) -> tuple[Areas, Texts]:
    """Return the label of a group, and what hides the lines behind it."""
    left, top = place[0] - size[0] / 2 - _PAD, place[1] - size[1] / 2 - _PAD
    fill, _, ink = GROUP_COLOURS[number % len(GROUP_COLOURS)]
    width = len(text) * _SMALL * _LETTER
    tab = box((left + width / 2 + 2, top - 5), width + 8, _SMALL + 3)
    return Areas([tab], fill), Texts([(left, top - 5)], [text], _SMALL, ink, True)


def _nodes(
    graph: Graph, layout: Layout, sizes: Sequence[tuple[float, float]], detailed: bool
) -> list[Areas | Lines | Texts]:
    parts: list[Areas | Lines | Texts] = []
    for kind, colour in KINDS.items():
        here = [i for i, node in enumerate(graph.nodes) if node.kind == kind]
        if not here:
            continue
        shapes = [box(layout.places[i], *sizes[i]) for i in here]
        parts.append(Areas(shapes, colour, kind, INK if kind == INPUT_KIND else ""))
        if kind == DOT_KIND:
            continue
        ink = INK if kind == INPUT_KIND else "white"
        up = 6.0 if detailed else 0.0
        names = [_shown(graph.nodes[i].name) for i in here]
        places = [layout.places[i] for i in here]
        parts.append(Texts([(x, y - up) for x, y in places], names, _NAME, ink))
        if detailed:
            notes = [graph.nodes[i].note for i in here]
            parts.append(Texts([(x, y + 9) for x, y in places], notes, _SMALL, ink))
    return parts


def _tips(
    graph: Graph, layout: Layout, sizes: Sequence[tuple[float, float]]
) -> "list[tuple[Point, tuple[str, ...]]]":
    """Return what each node tells, at three points, so that all of a wide box does."""
    return [
        ((round(x + side * width / 3, 1), round(y, 1)), node.about)
        for node, (x, y), (width, _) in zip(graph.nodes, layout.places, sizes, strict=True)
        for side in ((0,) if node.kind == DOT_KIND else (-1, 0, 1))
    ]
