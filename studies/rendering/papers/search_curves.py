"""Curves of a table of searches: the best figure so far against trials, with ranges over seeds."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import PaperTable, SearchRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def search_curves(table: PaperTable, rows: Sequence[SearchRow]) -> "Figure":
    """Return a picture with a panel for each case, and in it a curve for each method: the median
    of its seeds, and between the least and the greatest a band."""
    from matplotlib.figure import Figure

    searched = [row for row in rows if row.seeds and row.network == "searched"]
    cases = list(dict.fromkeys(row.case for row in searched))
    methods = list(dict.fromkeys(row.method for row in searched))
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(9, 3.8 * len(cases) + 0.6), layout="constrained", dpi=110)
    grid = figure.subplots(len(cases), 1, squeeze=False).ravel()
    for axes, case in zip(grid, cases, strict=True):
        own = [row for row in searched if row.case == case]
        for row in own:
            colour = SERIES[methods.index(row.method) % len(SERIES)]
            at, least, middle, most = _curve(row)
            axes.fill_between(at, least, most, step="post", color=colour, alpha=0.2, linewidth=0)
            axes.step(at, middle, where="post", color=colour, label=row.method)
        axes.set_title(case, loc="left", color=INK)
        axes.set_xlabel("trials")
        axes.set_ylabel(f"best {own[0].seeds[0].progress.objectives[0]}")
        axes.grid(color=FADED, linewidth=0.4)
        axes.set_axisbelow(True)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(table.title, color=INK)
    return figure


def _curve(row: SearchRow) -> tuple[list[int], list[float], list[float], list[float]]:
    """Return trials from the first on that all seeds have a design at, and of the best figures so
    far the least, the median and the greatest."""
    ends = zip(*(one.progress.best for one in row.seeds), strict=False)
    known = [
        (count, found)
        for count, figures in enumerate(ends, 1)
        if len(found := [one for one in figures if one is not None]) == len(row.seeds)
    ]
    return (
        [count for count, _ in known],
        [min(found) for _, found in known],
        [median(found) for _, found in known],
        [max(found) for _, found in known],
    )
