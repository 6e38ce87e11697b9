"""Picture of ``archloom validate``: ratios of figures, with the ranges that are allowed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.analysis.published_chips import Chapter, Figure
from archloom.studies.rendering.pictures import FADED, INK, SERIES, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: inches that a row and the rest of the picture take
_ROW_IN, _REST_IN = 0.21, 1.3

_OUTSIDE: Final = SERIES[4]

#: ratios that an axis has at least, and its marks
_LEAST: Final = (0.7, 1.4)
_MARKS: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10)


def draw_ratios(chapters: Sequence[Chapter], path: Path) -> None:
    """Draw the ratios of all figures into a .png or .svg file, the first at the top."""
    from matplotlib.figure import Figure as Picture

    rows = [(chapter, figure) for chapter in chapters for figure in chapter.figures]
    picture = Picture(figsize=(9.0, _REST_IN + _ROW_IN * len(rows)), layout="constrained", dpi=150)
    axes = picture.subplots()
    title = chapters[0].title if len(chapters) == 1 else "Chips beside the model"
    picture.suptitle(title, fontsize=11, parse_math=False)
    for place, (_, figure) in enumerate(rows):
        _draw_row(axes, place, figure)
    switches = list(dict.fromkeys(name for chapter in chapters for name in chapter.switches))
    for number, name in enumerate(switches):
        points = [
            (figure.switched[name] / figure.theirs, place)
            for place, (chapter, figure) in enumerate(rows)
            if name in chapter.switches
        ]
        axes.plot(
            *zip(*points, strict=True),
            linestyle="",
            marker="o",
            markerfacecolor="none",
            color=SERIES[1 + number % (len(SERIES) - 1)],
            label=name,
        )
    many = len(chapters) > 1
    names = [f"{chapter.title}: {figure.name}" if many else figure.name for chapter, figure in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=7, parse_math=False)
    _scale(axes, rows, switches)
    save_figure(picture, path)


def _draw_row(axes: "Axes", place: int, figure: Figure) -> None:
    if figure.band is not None:
        low, high = figure.band
        axes.barh(place, high - low, left=low, height=0.7, color=FADED, alpha=0.6, zorder=0)
    colour = SERIES[0] if figure.holds else _OUTSIDE
    axes.plot([figure.ratio], [place], marker="o" if figure.holds else "X", color=colour)


def _scale(axes: "Axes", rows: Sequence[tuple[Chapter, Figure]], switches: Sequence[str]) -> None:
    """Give the axes a logarithmic scale with the marks that it reaches, and a legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [figure.ratio for _, figure in rows]
    shown += [
        figure.switched[name] / figure.theirs
        for chapter, figure in rows
        for name in chapter.switches
    ]
    shown += [end for _, figure in rows for end in figure.band or ()]
    low = min(*(ratio for ratio in shown if ratio > 0), _LEAST[0]) / 1.05
    high = max(*shown, _LEAST[1]) * 1.05
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    marks = [mark for mark in _MARKS if low <= mark <= high]
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.axvline(1, color=INK, linewidth=1, linestyle=":")
    axes.set_xlabel("archloom / measured")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    handles = [
        Patch(color=FADED, alpha=0.6, label="allowed range"),
        Line2D([], [], linestyle="", marker="o", color=SERIES[0], label="within, or not checked"),
        Line2D([], [], linestyle="", marker="X", color=_OUTSIDE, label="outside"),
        *axes.get_legend_handles_labels()[0][: len(switches)],
    ]
    axes.figure.legend(handles=handles, fontsize=8, loc="outside lower center", ncols=len(handles))
