"""The picture of a study as a PNG, for papers and READMEs."""

from pathlib import Path
from typing import TYPE_CHECKING

from .plots import ACCENT, BASELINE, EDP_LABEL, FADED, INK, SERIES
from .view import StudyView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(view: StudyView, subtitle: str, path: Path) -> None:
    """Write the front, the hypervolume and the trials' curves side by side.

    Args:
        view: of the study.
        subtitle: what was studied and how it is priced.
        path: of the PNG file.
    """
    from matplotlib.figure import Figure

    # Without pyplot: no global state, no window, and nothing to close.
    figure = Figure(figsize=(15, 4.6), layout="constrained")
    figure.suptitle(f"{view.name}: {subtitle}", fontsize=11, parse_math=False)
    if view.designs:
        _panels(view, figure)
    else:
        figure.text(0.5, 0.5, "no trial has an EDP", ha="center", color=INK, fontsize=14)
    figure.savefig(path, format="png")


def _panels(view: StudyView, figure: "Figure") -> None:
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    _front(view, figure, left)
    _hypervolume(view, middle)
    _curves(view, right)


def _front(view: StudyView, figure: "Figure", axes: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    rest = [design for design in view.designs if not design.on_front]
    axes.scatter(
        [d.area_mm2 for d in rest], [d.edp_js for d in rest], s=18, c=FADED, label="dominated"
    )
    front = view.front
    dots = axes.scatter(
        [d.area_mm2 for d in front],
        [d.edp_js for d in front],
        c=[d.tdp_w for d in front],
        s=60,
        edgecolors=INK,
        linewidths=0.8,
        label="front",
        zorder=3,
    )
    figure.colorbar(dots, ax=axes, label="TDP (W)")
    if view.picked is not None:
        pick = view.designs[view.picked]
        axes.scatter(
            [pick.area_mm2],
            [pick.edp_js],
            s=320,
            marker="*",
            facecolors="none",
            edgecolors=ACCENT,
            linewidths=1.6,
            label="picked",
            zorder=4,
        )
    if view.baseline is not None:
        label = f"baseline {view.baseline.label}"
        point = ([view.baseline.area_mm2], [view.baseline.edp_js])
        axes.scatter(*point, marker="x", s=60, c=BASELINE, label=label, zorder=3)
    axes.set(xscale="log", yscale="log", xlabel="area (mm$^2$)", ylabel=EDP_LABEL)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    _finish(axes, "Pareto front")


def _hypervolume(view: StudyView, axes: "Axes") -> None:
    spent = [evaluations for evaluations, _ in view.hypervolume]
    axes.step(spent, [volume for _, volume in view.hypervolume], where="post", color=SERIES[0])
    axes.set(xlabel="software evaluations, all trials", ylabel="hypervolume (decades$^3$)")
    axes.set_ylim(bottom=0)
    axes.set_title("Hypervolume")
    axes.grid(alpha=0.3)


def _curves(view: StudyView, axes: "Axes") -> None:
    named: set[str] = set()
    for design in sorted(view.designs, key=lambda design: design.state != "stopped"):
        group = "front" if design.on_front else design.state
        colour = {"front": ACCENT, "stopped": FADED}.get(group, SERIES[0])
        label = "_" if group in named else group
        axes.step(*zip(*design.curve, strict=True), where="post", c=colour, lw=1.2, label=label)
        named.add(group)
    axes.set(yscale="log", xlabel="software evaluations of the trial", ylabel="best EDP (J s)")
    _finish(axes, "Software search of each trial")


def _finish(axes: "Axes", title: str) -> None:
    axes.set_title(title)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False)
