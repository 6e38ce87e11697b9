"""The picture of a study as a PNG, for papers and READMEs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.analysis import Design, StudyView

from .files import write_figure
from .plots import rest_label
from .style import (
    ACCENT,
    ALL_EVALUATIONS,
    BASELINE,
    EVALUATIONS,
    FADED,
    INK,
    SERIES,
    VOLUME,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_summary(view: StudyView, subtitle: str, path: Path) -> None:
    """Write the front, the hypervolume and the trials' curves side by side.

    Args:
        view: of the study.
        subtitle: what was studied and how it is evaluated.
        path: of the PNG file.
    """
    from matplotlib.figure import Figure

    # Without pyplot: no global state, no window, and nothing to close.
    figure = Figure(figsize=(15, 4.6), layout="constrained")
    figure.suptitle(f"{view.name}: {subtitle}", fontsize=11, parse_math=False)
    if view.designs:
        _panels(view, figure)
    else:
        figure.text(0.5, 0.5, "no trial is feasible", ha="center", color=INK, fontsize=14)
    write_figure(figure, path)


def _panels(view: StudyView, figure: "Figure") -> None:
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    _front(view, figure, left)
    _hypervolume(view, middle)
    _curves(view, right)


def _front(view: StudyView, figure: "Figure", axes: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    y, x, colour = view.axes[:3]

    def place(designs: Sequence[Design]) -> tuple[list[float], list[float]]:
        return [d.figure(x) for d in designs], [d.figure(y) for d in designs]

    rest = [design for design in view.designs if not design.on_front]
    axes.scatter(*place(rest), s=18, c=FADED, label=rest_label(view))
    dots = axes.scatter(
        *place(view.front),
        c=[design.figure(colour) for design in view.front],
        s=60,
        edgecolors=INK,
        linewidths=0.8,
        label="Pareto front",
        zorder=3,
    )
    if view.front:
        figure.colorbar(dots, ax=axes).set_label(colour.label, parse_math=False)
    if view.picked is not None:
        axes.scatter(
            *place([view.designs[view.picked]]),
            s=320,
            marker="*",
            facecolors="none",
            edgecolors=ACCENT,
            linewidths=1.6,
            label="selected design",
            zorder=4,
        )
    if view.baseline is not None:
        label = f"baseline {view.baseline.label}"
        axes.scatter(*place([view.baseline]), marker="x", s=60, c=BASELINE, label=label, zorder=3)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(x.label, parse_math=False)
    axes.set_ylabel(y.label, parse_math=False)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    _finish(axes, "Pareto front")


def _hypervolume(view: StudyView, axes: "Axes") -> None:
    spent = [evaluations for evaluations, _ in view.hypervolume]
    axes.step(spent, [volume for _, volume in view.hypervolume], where="post", color=SERIES[0])
    axes.set(xlabel=ALL_EVALUATIONS, ylabel=VOLUME)
    axes.set_ylim(bottom=0)
    axes.set_title("Hypervolume")
    about = f"box: ideal to {view.reference_text}" if view.reference else ""
    axes.text(0.5, 0.02, about, transform=axes.transAxes, ha="center", fontsize=7, parse_math=False)
    axes.grid(alpha=0.3)


def _curves(view: StudyView, axes: "Axes") -> None:
    named: set[str] = set()
    for design in sorted(view.designs, key=lambda design: design.state != "stopped"):
        group = "front" if design.on_front else design.state
        colour = {"front": ACCENT, "stopped": FADED}.get(group, SERIES[0])
        shown = "Pareto front" if group == "front" else group
        label = "_" if group in named else shown
        axes.step(*zip(*design.curve, strict=True), where="post", c=colour, lw=1.2, label=label)
        named.add(group)
    axes.set(yscale="log", xlabel=EVALUATIONS, ylabel="best EDP so far (J s)")
    _finish(axes, "Software search of each trial")


def _finish(axes: "Axes", title: str) -> None:
    axes.set_title(title)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False)
