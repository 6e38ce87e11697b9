"""Pictures made of areas, lines and texts, for plotly (with tips to hover) and for matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .files import write_figure
from .layered_layout import Point
from .style import FONT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

_MARGIN: Final = 16.0
_LEGEND: Final = 34.0
"""Height of the line that says what the colours mean, in pixels."""
_NARROWEST: Final = 900.0
"""Pictures are at least so wide, that their legend has room."""
_DPI: Final = 100
_PT_PER_PX: Final = 72 / _DPI
_LONGEST_SIDE: Final = 2**16 - 1
"""Pixels of a side of a PNG that matplotlib can write."""
_LARGEST: Final = 6.4e7
"""Pixels of a PNG; larger ones take half a gigabyte and more to draw (ours)."""


@dataclass(frozen=True, slots=True)
class Areas:
    """Polygons of one colour; named ones are in the legend."""

    polygons: Sequence[Sequence[Point]]
    fill: str
    name: str = ""
    edge: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one colour."""

    lines: Sequence[Sequence[Point]]
    colour: str
    width: float


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in one style; each stands around its point, or begins there."""

    points: Sequence[Point]
    texts: Sequence[str]
    size: float
    colour: str = INK
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture: parts from the back to the front, in pixels; y grows downwards.

    Attributes:
        width, height: of the parts.
        parts: what is drawn.
        tips: (point, lines) that tell more, where the picture can.
    """

    width: float
    height: float
    parts: tuple[Areas | Lines | Texts, ...]
    tips: tuple[tuple[Point, tuple[str, ...]], ...] = ()


def box(middle: Point, width: float, height: float) -> tuple[Point, ...]:
    """Return a rectangle with cut corners."""
    (x, y), (a, b) = middle, (width / 2, height / 2)
    c = min(4.0, a, b)
    right = ((x + a - c, y - b), (x + a, y - b + c), (x + a, y + b - c), (x + a - c, y + b))
    left = ((x - a + c, y + b), (x - a, y + b - c), (x - a, y - b + c), (x - a + c, y - b))
    return right + left


def figure(scene: Scene) -> "Figure":
    """Return a scene as a plotly figure: drag to move it, zoom with the buttons."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for part in scene.parts:
        if isinstance(part, Texts):
            drawn.add_scatter(
                x=[x for x, _ in part.points],
                y=[y for _, y in part.points],
                mode="text",
                text=[escape(text) for text in part.texts],
                textfont={"size": part.size, "color": part.colour},
                textposition="middle right" if part.begins else "middle center",
                hoverinfo="skip",
                showlegend=False,
            )
        else:
            drawn.add_scatter(**_shape(part))
    drawn.add_scatter(
        x=[x for (x, _), _ in scene.tips],
        y=[y for (_, y), _ in scene.tips],
        mode="markers",
        marker={"size": 18, "opacity": 0, "color": INK},
        hovertext=["<br>".join(map(escape, lines)) for _, lines in scene.tips],
        hoverinfo="text",
        showlegend=False,
    )
    width = max(scene.width + 2 * _MARGIN, _NARROWEST)
    drawn.update_layout(
        template="none",
        width=width,
        height=scene.height + 2 * _MARGIN + _LEGEND,
        margin={"l": 0, "r": 0, "t": _LEGEND, "b": 0},
        font={"family": FONT, "color": INK},
        dragmode="pan",
        hovermode="closest",
        hoverdistance=24,
        hoverlabel={"align": "left", "bgcolor": "white", "font": {"family": FONT, "size": 12}},
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
        },
    )
    drawn.update_xaxes(visible=False, range=[-_MARGIN, width - _MARGIN])
    drawn.update_yaxes(visible=False, range=[scene.height + _MARGIN, -_MARGIN])
    return drawn


def _shape(part: Areas | Lines) -> dict[str, object]:
    """Return the arguments of a trace; None ends a line or a polygon."""
    areas = isinstance(part, Areas)
    x: list[float | None] = []
    y: list[float | None] = []
    for points in part.polygons if isinstance(part, Areas) else part.lines:
        closed = (*points, points[0]) if areas else points
        x += [*(round(right, 1) for right, _ in closed), None]
        y += [*(round(down, 1) for _, down in closed), None]
    trace: dict[str, object] = {"x": x, "y": y, "mode": "lines", "hoverinfo": "skip"}
    if isinstance(part, Lines):
        return {**trace, "line": {"color": part.colour, "width": part.width}, "showlegend": False}
    edge = {"color": part.edge or part.fill, "width": 1 if part.edge else 0}
    named = {"name": escape(part.name), "showlegend": bool(part.name)}
    return {**trace, "line": edge, "fill": "toself", "fillcolor": part.fill, **named}


def save(scene: Scene, path: Path) -> None:
    """Write a scene without its tips as PNG, SVG or another format that matplotlib knows.

    Equal scenes give equal files.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    width = max(scene.width + 2 * _MARGIN, _NARROWEST)
    height = scene.height + 2 * _MARGIN + _LEGEND
    canvas = Canvas(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-_MARGIN, width - _MARGIN), ylim=(scene.height + _MARGIN, -_MARGIN - _LEGEND))
    axes.set_axis_off()
    for depth, part in enumerate(scene.parts):
        _paint(axes, part, depth)
    if any(isinstance(part, Areas) and part.name for part in scene.parts):
        # one line: as many columns as there are names
        axes.legend(loc="upper left", ncols=99, fontsize=9 * _PT_PER_PX * 1.25, frameon=False)
    # no clock and no random names in the file
    stamp = {"Date": None} if path.suffix == ".svg" else None
    with mpl.rc_context({"svg.hashsalt": "archloom", "svg.fonttype": "none"}):
        finest = min(_LONGEST_SIDE / max(width, height), sqrt(_LARGEST / (width * height)))
        write_figure(canvas, path, metadata=stamp, dpi=min(2.0, finest) * _DPI)


def _paint(axes: "Axes", part: Areas | Lines | Texts, depth: int) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    if isinstance(part, Texts):
        for (x, y), text in zip(part.points, part.texts, strict=True):
            axes.text(
                x,
                y,
                text,
                fontsize=part.size * _PT_PER_PX,
                color=part.colour,
                ha="left" if part.begins else "center",
                va="center",
                parse_math=False,
                zorder=depth,
            )
    elif isinstance(part, Lines):
        axes.add_collection(
            LineCollection(part.lines, colors=part.colour, linewidths=part.width, zorder=depth)
        )
    else:
        axes.add_collection(
            PolyCollection(
                part.polygons,
                facecolors=part.fill,
                edgecolors=part.edge or "none",
                linewidths=0.8 if part.edge else 0,
                label=part.name or None,
                zorder=depth,
            )
        )
