"""Fronts of a table of searches: designs in the first two objectives, each with its baseline."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import PaperTable, SearchRow

from .logarithmic import label_plainly
from .search_curves import progress_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS: Final = ("o", "s", "^", "D", "v", "P")


def search_front(table: PaperTable, rows: Sequence[SearchRow]) -> "Figure":
    """Return a picture with a panel for each case: the designs that each method found with all
    seeds, in the first two objectives, and the baseline as a star."""
    from matplotlib.figure import Figure

    searched = [(row, found) for row in rows if (found := progress_in(row))]
    cases = list(dict.fromkeys(row.case for row, _ in searched))
    methods = list(dict.fromkeys(row.method for row, _ in searched))
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(9, 4.6 * len(cases) + 0.6), layout="constrained", dpi=110)
    grid = figure.subplots(len(cases), 1, squeeze=False).ravel()
    for axes, case in zip(grid, cases, strict=True):
        own = [(row, found) for row, found in searched if row.case == case]
        for row, found in own:
            number = methods.index(row.method)
            points = [point for one in found for point in one.front]
            axes.scatter(
                *zip(*((point[0], point[-1]) for point in points), strict=True),
                color=SERIES[number % len(SERIES)],
                marker=_MARKERS[number % len(_MARKERS)],
                label=row.method,
            )
        beside = {
            (point[0], point[-1]) for _, found in own for one in found if (point := one.baseline)
        }
        if beside:
            at = zip(*sorted(beside), strict=True)
            axes.scatter(*at, color=INK, marker="*", s=150, label="baseline")
        axes.set_title(case, loc="left", color=INK)
        titles = own[0][1][0].objectives
        axes.set_xlabel(titles[0])
        axes.set_ylabel(titles[-1])
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_plainly(axes.xaxis)
        label_plainly(axes.yaxis)
        axes.grid(color=FADED, linewidth=0.4)
        axes.set_axisbelow(True)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(table.title, color=INK)
    return figure
