"""Bars of a table of plans: energy and latency of each network over those of layer by layer; where
all run layer by layer, over those of the table's first design."""

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
    fused = [row for row in rows if row.planner.split()[0] != "none"]
    shares, rows = (_SHARES, fused) if fused else (_over_first(rows), rows)
    looks = _looks(rows)
    panels = _panels(rows)
    # without pyplot: no global state, no window, and nothing to close
    size = (7.5 * len(shares), 3.6 * len(panels) + 0.8)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    grid = figure.subplots(len(panels), len(shares), squeeze=False)
    for (name, bars), line in zip(panels.items(), grid, strict=True):
        for axes, (label, share) in zip(line, shares.items(), strict=True):
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


def _over_first(rows: Sequence[PlanRow]) -> dict[str, _Share]:
    """Return what stands for a network where nothing is fused: figures of an inference over those
    of the first row with the network."""
    first = {one.network: one for row in reversed(rows) for one in row.sets}

    def energy(one: PlanFigures) -> float:
        return one.plan.energy_pj / one.batch

    def seconds(one: PlanFigures) -> float:
        # clocks of designs differ; EDP is that of an image
        return one.plan.edp_js / one.plan.energy_pj

    return {
        "energy over first design": lambda one: energy(one) / energy(first[one.network]),
        "time over first design": lambda one: seconds(one) / seconds(first[one.network]),
    }


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
    """Draw groups of bars, and a line where that is which they are compared with."""
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
