"""Bars of a table of plans: energy and latency of each network over those of layer by layer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import PlanFigures, PlanRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Share = Callable[[PlanFigures], float]

_SHARES: Final[dict[str, _Share]] = {
    "energy over layer by layer": lambda one: one.plan.energy_pj / one.unfused.energy_pj,
    "latency over layer by layer": lambda one: one.plan.latency_cycles / one.unfused.latency_cycles,
}


def plan_bars(title: str, rows: Sequence[PlanRow]) -> "Figure":
    """Return a picture with a line of two panels for each design."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    # layer by layer is the line that bars are compared with
    rows = [row for row in rows if row.planner != "none"] or rows
    designs = list(dict.fromkeys(row.design for row in rows))
    series = list(dict.fromkeys(_series(row) for row in rows))
    colours = {one: SERIES[i % len(SERIES)] for i, one in enumerate(series)}
    # without pyplot: no global state, no window, and nothing to close
    size = (7.5 * len(_SHARES), 3.6 * len(designs) + 0.8)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    grid = figure.subplots(len(designs), len(_SHARES), squeeze=False)
    for design, line in zip(designs, grid, strict=True):
        shown = [row for row in rows if row.design == design]
        for axes, (label, share) in zip(line, _SHARES.items(), strict=True):
            axes.set_title(design, loc="left", color=INK)
            axes.set_ylabel(label)
            _bars(axes, shown, share, colours)
    # a design that cannot run has no bars, so the legend is of all series
    bars = [Patch(color=colours[one]) for one in series]
    figure.legend(bars, series, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, color=INK)
    return figure


def _series(row: PlanRow) -> str:
    return f"{row.planner}, {row.mappings} mappings"


def _bars(axes: "Axes", rows: Sequence[PlanRow], share: _Share, colours: dict[str, str]) -> None:
    """Draw a group of bars for each network, and a line where layer by layer is."""
    names = list(dict.fromkeys(one.network for row in rows for one in row.sets))
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        left = [names.index(one.network) + width * number for one in row.sets]
        heights = [share(one) for one in row.sets]
        axes.bar(left, heights, width, align="edge", color=colours[_series(row)])
    axes.axhline(1.0, color=INK, linewidth=1)
    axes.set_xticks([at + 0.4 for at in range(len(names))], names)
    axes.grid(axis="y", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)
