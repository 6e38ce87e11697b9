"""The pictures of a comparison: how fast each arm's front grew, and the fronts themselves."""

from html import escape
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.analysis import LABELS, Comparison, band

from .files import write_figure
from .plots import log_axis
from .style import INK, SERIES, apply_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

VOLUME_LABEL: Final = "hypervolume (% of the front of all studies)"

#: panels beside each other in a picture
_ACROSS: Final = 3


def growth(comparison: Comparison, kind: str) -> "Figure":
    """Return hypervolume against what was spent: medians over runs, with their ranges."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for i, (arm, courses) in enumerate(zip(comparison.arms, comparison.courses, strict=True)):
        lines, colour = band(courses, kind), SERIES[i % len(SERIES)]
        there_and_back = [*lines.spent, *lines.spent[::-1]]
        if len(courses) > 1:
            figure.add_scatter(
                x=there_and_back,
                y=[*lines.high, *lines.low[::-1]],
                fill="toself",
                fillcolor=colour,
                opacity=0.18,
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
                legendgroup=arm.label,
            )
        figure.add_scatter(
            x=lines.spent,
            y=lines.median,
            mode="lines",
            line={"color": colour, "width": 2, "shape": "hv"},
            name=escape(f"{arm.label} ({len(courses)})"),
            legendgroup=arm.label,
            hovertemplate=f"{escape(arm.label)}: %{{y:.1f}}% at %{{x}}<extra></extra>",
        )
    apply_style(figure, LABELS[kind], VOLUME_LABEL)
    figure.update_yaxes(range=[0, 103])
    return figure


def fronts(comparison: Comparison, x: int, y: int) -> "Figure":
    """Return what all arms found in two objectives; the common front's members are ringed."""
    import plotly.graph_objects as go

    figure = go.Figure()
    everything = []
    for i, arm in enumerate(comparison.arms):
        found = [
            (comparison.figures(s.costs), r, s.trial) for r in arm.runs for s in r.steps if s.costs
        ]
        everything += [values for values, *_ in found]
        members = {
            (id(run), comparison.figures(costs))
            for costs, own, run, _ in comparison.front
            if own is arm
        }
        ringed = [(id(run), values) in members for values, run, _ in found]
        figure.add_scatter(
            x=[values[x] for values, *_ in found],
            y=[values[y] for values, *_ in found],
            mode="markers",
            name=escape(arm.label),
            marker={
                "color": SERIES[i % len(SERIES)],
                "size": [11 if ring else 6 for ring in ringed],
                "opacity": [1.0 if ring else 0.45 for ring in ringed],
                "line": {"color": INK, "width": [1.2 if ring else 0 for ring in ringed]},
            },
            hovertext=[
                f"{escape(str(run.location))}: trial {trial.label}<br>"
                + "<br>".join(
                    f"{escape(objective.name)} {value:.4g}"
                    for objective, value in zip(comparison.objectives, values, strict=True)
                )
                for values, run, trial in found
            ],
            hoverinfo="text",
        )
    apply_style(figure, *(escape(comparison.objectives[i].name) for i in (x, y)))
    figure.update_xaxes(**log_axis([values[x] for values in everything]))
    figure.update_yaxes(**log_axis([values[y] for values in everything]))
    return figure


def draw(comparison: Comparison, path: Path) -> None:
    """Write hypervolume against each thing spent, and the fronts, as one PNG or SVG."""
    from matplotlib.figure import Figure

    kinds = comparison.kinds()
    rows = ceil((len(kinds) + 1) / _ACROSS)
    figure = Figure(figsize=(5.2 * _ACROSS, 4.4 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, _ACROSS, squeeze=False).ravel()
    for axes, kind in zip(panels, kinds, strict=False):
        _growth(axes, comparison, kind)
    _fronts(panels[len(kinds)], comparison)
    for axes in panels[len(kinds) + 1 :]:
        axes.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    write_figure(figure, path)


def _growth(axes: "Axes", comparison: Comparison, kind: str) -> None:
    for i, (arm, courses) in enumerate(zip(comparison.arms, comparison.courses, strict=True)):
        lines, colour = band(courses, kind), SERIES[i % len(SERIES)]
        label = f"{arm.label} ({len(courses)})"
        axes.step(lines.spent, lines.median, where="post", color=colour, label=label)
        if len(courses) > 1:
            edges = (lines.spent, lines.low, lines.high)
            axes.fill_between(*edges, step="post", color=colour, alpha=0.18, linewidth=0)
    axes.set(xlabel=LABELS[kind], ylabel=VOLUME_LABEL, ylim=(0, 103))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)


def _fronts(axes: "Axes", comparison: Comparison) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    y, x = 0, min(1, len(comparison.objectives) - 1)
    for i, arm in enumerate(comparison.arms):
        found = [comparison.figures(s.costs) for run in arm.runs for s in run.steps if s.costs]
        colour = SERIES[i % len(SERIES)]
        axes.scatter([v[x] for v in found], [v[y] for v in found], s=9, color=colour, alpha=0.4)
        members = [comparison.figures(v) for v, own, *_ in comparison.front if own is arm]
        axes.scatter(
            [v[x] for v in members],
            [v[y] for v in members],
            s=38,
            color=colour,
            edgecolors=INK,
            linewidths=0.8,
            zorder=3,
        )
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel=comparison.objectives[x].name, ylabel=comparison.objectives[y].name)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("ringed: on the front of all studies together", fontsize=10, color=INK)
    axes.grid(alpha=0.3, which="both")
