"""Bars of a table of plans: energy and latency of each network over those of layer by layer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

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

#: of the mappings of a table, in their order
_HATCHES: Final = ("", "///", "...", "xxx", "+++")


def plan_bars(title: str, rows: Sequence[PlanRow]) -> "Figure":
    """Return a picture with a line of two panels for each design, or with designs side by side
    where there is one network."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    # layer by layer is the line that bars are compared with
    rows = [row for row in rows if row.planner.split()[0] != "none"] or rows
    looks = _looks(rows)
    panels = _panels(rows)
    # without pyplot: no global state, no window, and nothing to close
    size = (7.5 * len(_SHARES), 3.6 * len(panels) + 0.8)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    grid = figure.subplots(len(panels), len(_SHARES), squeeze=False)
    for (name, bars), line in zip(panels.items(), grid, strict=True):
        for axes, (label, share) in zip(line, _SHARES.items(), strict=True):
            axes.set_title(name, loc="left", color=INK)
            axes.set_ylabel(label)
            _draw(axes, [(one, group, share(figures)) for one, group, figures in bars], looks)
    legend = [Patch(**look) for look in looks.values()]
    several = len({row.mappings for row in rows}) > 1
    names = [_series(row) if several else row.planner for row in rows]
    figure.legend(
        legend, list(dict.fromkeys(names)), loc="outside lower center", ncols=3, frameon=False
    )
    figure.suptitle(title, color=INK)
    return figure


def _looks(rows: Sequence[PlanRow]) -> dict[str, dict[str, Any]]:
    """Return how bars of each series look: a colour for the planner, a hatch for the mappings."""
    planners = list(dict.fromkeys(row.planner for row in rows))
    mappings = list(dict.fromkeys(row.mappings for row in rows))
    return {
        _series(row): {
            "facecolor": SERIES[planners.index(row.planner) % len(SERIES)],
            "hatch": _HATCHES[mappings.index(row.mappings) % len(_HATCHES)],
            "edgecolor": "white",
            "linewidth": 0,
        }
        for row in rows
    }


def _series(row: PlanRow) -> str:
    return f"{row.planner}, {row.mappings} mappings"


def _panels(rows: Sequence[PlanRow]) -> dict[str, list[tuple[str, str, PlanFigures]]]:
    """Return the bars of each panel by its title: series, group of bars, figures."""
    alone = len({one.network for row in rows for one in row.sets}) == 1
    found: dict[str, list[tuple[str, str, PlanFigures]]] = {}
    for row in rows:
        for one in row.sets:
            title, group = (one.network, row.design) if alone else (row.design, one.network)
            found.setdefault(title, []).append((_series(row), group, one))
    return found


def _draw(
    axes: "Axes", bars: Sequence[tuple[str, str, float]], looks: dict[str, dict[str, Any]]
) -> None:
    """Draw groups of bars, and a line where layer by layer is."""
    groups = list(dict.fromkeys(group for _, group, _ in bars))
    width = 0.8 / len(looks)
    places = {one: width * at for at, one in enumerate(looks)}
    for series, group, height in bars:
        left = groups.index(group) + places[series]
        axes.bar(left, height, width, align="edge", **looks[series])
    axes.axhline(1.0, color=INK, linewidth=1)
    axes.set_xticks([at + 0.4 for at in range(len(groups))], groups)
    axes.grid(axis="y", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)
