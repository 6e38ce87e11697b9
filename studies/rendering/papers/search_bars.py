"""Bars of a table of searches: medians of each method, with ranges over seeds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import PaperTable, SearchRow

from .logarithmic import label_plainly

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: figures that are compared with something, which a picture shows rather than others
_RATIOS: Final = ("gain", "speedup", "over_first", "over_first_baseline", "hypervolume")

#: panels of a picture
_MOST: Final = 2

#: greatest over least value of a panel beyond which its axis is logarithmic
_SPAN: Final = 20.0

#: characters of a legend that have room beside each other
_LEGEND: Final = 100

#: groups of bars that can be told apart; of more, the rows that stand for several cases are shown
_GROUPS: Final = 10


def search_bars(table: PaperTable, rows: Sequence[SearchRow]) -> "Figure":
    """Return a picture with a panel for each figure, and a group of bars for each case and
    network; where there are too many, one for each mean of cases."""
    from matplotlib.figure import Figure

    means = [row for row in rows if not row.seeds]
    if means and len({(row.case, row.network) for row in rows}) > _GROUPS:
        rows = means
    ratios = [key for key in table.shown if key.endswith(_RATIOS)]
    metrics = (ratios or list(table.shown))[:_MOST]
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(9, 3.8 * len(metrics) + 0.6), layout="constrained", dpi=110)
    grid = figure.subplots(len(metrics), 1, squeeze=False).ravel()
    for axes, metric in zip(grid, metrics, strict=True):
        axes.set_ylabel(table.metrics[metric].heading)
        _draw(axes, metric, rows)
    handles, labels = grid[0].get_legend_handles_labels()
    columns = max(1, min(6, _LEGEND // (max(map(len, labels), default=0) + 5)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    figure.suptitle(table.title, color=INK)
    return figure


def _draw(axes: "Axes", metric: str, rows: Sequence[SearchRow]) -> None:
    cases = len({row.case for row in rows}) > 1
    groups = list(dict.fromkeys((row.case, row.network) for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    width = 0.8 / len(methods)
    for number, method in enumerate(methods):
        own = [row for row in rows if row.method == method and row.figures.get(metric) is not None]
        left = [groups.index((row.case, row.network)) + number * width for row in own]
        heights = [row.figures[metric] or 0.0 for row in own]
        spreads = [
            row.spread(metric) or (height, height) for row, height in zip(own, heights, strict=True)
        ]
        errors = [
            [height - least for height, (least, _) in zip(heights, spreads, strict=True)],
            [most - height for height, (_, most) in zip(heights, spreads, strict=True)],
        ]
        colour = SERIES[number % len(SERIES)]
        bars = axes.bar(
            left, heights, width, yerr=errors, align="edge", color=colour, ecolor=INK, label=method
        )
        # there are more methods than colours
        for bar in bars if number >= len(SERIES) else ():
            bar.set(hatch="///", edgecolor="white", linewidth=0)
    if metric.endswith(_RATIOS):
        axes.axhline(1.0, color=INK, linewidth=1)
    values = [value for row in rows if (value := row.figures.get(metric)) is not None]
    if values and min(values) > 0 and max(values) > _SPAN * min(values):
        axes.set_yscale("log")
        label_plainly(axes.yaxis)
    networks = len({row.network for row in rows}) > 1
    names = ["\n".join([case] * (cases or not networks) + [one] * networks) for case, one in groups]
    axes.set_xticks([at + 0.4 for at in range(len(groups))], names, rotation=20, ha="right")
    axes.grid(axis="y", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)
