"""Fronts of a table of searches: designs in the first two objectives, each with its baseline."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import PaperTable, SearchRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS: Final = ("o", "s", "^", "D", "v", "P")


def search_front(table: PaperTable, rows: Sequence[SearchRow]) -> "Figure":
    """Return a picture with a panel for each case: the designs that each method found with all
    seeds, in the first two objectives, and the baseline as a star."""
    from matplotlib.figure import Figure

    searched = [row for row in rows if row.seeds and row.network == "searched"]
    cases = list(dict.fromkeys(row.case for row in searched))
    methods = list(dict.fromkeys(row.method for row in searched))
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(9, 4.6 * len(cases) + 0.6), layout="constrained", dpi=110)
    grid = figure.subplots(len(cases), 1, squeeze=False).ravel()
    for axes, case in zip(grid, cases, strict=True):
        own = [row for row in searched if row.case == case]
        for row in own:
            number = methods.index(row.method)
            points = [point for one in row.seeds for point in one.progress.front]
            axes.scatter(
                *zip(*((point[0], point[-1]) for point in points), strict=True),
                color=SERIES[number % len(SERIES)],
                marker=_MARKERS[number % len(_MARKERS)],
                label=row.method,
            )
        beside = {
            (point[0], point[-1])
            for row in own
            for one in row.seeds
            if (point := one.progress.baseline)
        }
        if beside:
            at = zip(*sorted(beside), strict=True)
            axes.scatter(*at, color=INK, marker="*", s=150, label="baseline")
        axes.set_title(case, loc="left", color=INK)
        titles = own[0].seeds[0].progress.objectives
        axes.set_xlabel(titles[0])
        axes.set_ylabel(titles[-1])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(color=FADED, linewidth=0.4)
        axes.set_axisbelow(True)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(table.title, color=INK)
    return figure
