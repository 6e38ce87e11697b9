"""Picture of ``archloom compress``: accuracy against compression, with elbows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.studies.rendering.pictures import FADED, INK, SERIES, save_figure

from .tables import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from archloom.studies.analysis import Details

_MARKERS = ("o", "s", "^", "v", "D")


def save_compression(path: Path, record: "Details") -> None:
    """Draw a record of :func:`~.record.compression_record` into a .png or .svg file."""
    from matplotlib.figure import Figure

    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(7.2, 4.6), layout="constrained", dpi=150)
    axes = figure.subplots()
    title = f"{record['model']} (width multiplier {record['width']:g}) on {record['data']}"
    figure.suptitle(title, fontsize=11, parse_math=False)
    dense = record["dense"]["accuracy_percent"]
    axes.axhline(dense, color=INK, linewidth=1, linestyle=":", label="dense")
    axes.axhspan(dense - record["allowed_drop_points"], dense, color=FADED, alpha=0.35, zorder=0)
    for number, (method, found) in enumerate(record["methods"].items()):
        _draw(axes, method, found, (SERIES[number], _MARKERS[number]))
    axes.set_xlabel("fraction pruned (quantisation: fraction of bytes saved)")
    axes.set_ylabel("top-1 accuracy (%)")
    axes.set_xlim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, loc="lower left")
    save_figure(figure, path)


def _draw(axes: "Axes", method: str, found: dict[str, Any], look: tuple[str, str]) -> None:
    color, marker = look
    levels = found["levels"]
    x = [level["level"] for level in levels]
    y = [level["accuracy_percent"] for level in levels]
    spread = [level["deviation_points"] or 0.0 for level in levels]
    axes.errorbar(
        x, y, yerr=spread, color=color, marker=marker, markersize=5, capsize=3, label=LABELS[method]
    )
    if found["elbow"] is not None:
        height = y[x.index(found["elbow"])]
        axes.plot(
            [found["elbow"]], [height], "o", markersize=13, markerfacecolor="none", color=color
        )
