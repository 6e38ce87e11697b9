"""Timeline of a woven schedule as a file: HTML to zoom, PNG or SVG for papers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.storage import write_whole

from ....errors import choosing
from ..files import save_figure
from ..style import ACCENT, INK
from .lanes import Content, WovenRun, bars_of, contents_of, end_us, shown_text
from .page import woven_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE: Final = (14.0, 5.6)
_DPI: Final = 150
#: fewer bars have edges
_EDGED: Final = 1200
#: of each lane the middle and the height of its bars
_PLACES: Final = {"array": (1.0, 0.8), "weights": (0.0, 0.8), "maps": (0.0, 0.8)}


def save_woven(run: WovenRun, path: Path, option: str = "--plot") -> None:
    """Write the timeline of a schedule as ``.html``, ``.png`` or ``.svg``.

    Raises:
        UserError: a file that cannot be written.
    """
    with choosing(path, option):
        if path.suffix.lower() == ".html":
            write_whole(path, woven_page(run))
        else:
            _save(run, path)


def _save(run: WovenRun, path: Path) -> None:
    from matplotlib.figure import Figure

    contents = contents_of(run)
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=_SIZE, layout="constrained", dpi=_DPI)
    rows = 1 + len(contents)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=(1, 1.4, 1)[:rows])
    _engines(axes[0, 0], run)
    for row, content in enumerate(contents, start=1):
        _buffer(axes[row, 0], run, content)
    axes[0, 0].set_xlim(0, end_us(run))
    axes[-1, 0].set_xlabel("time (us)")
    limited = shown_text(run)
    title = f"{run.title}; {limited}" if limited else run.title
    figure.suptitle(title, fontsize=11, parse_math=False)
    _legend(figure, run)
    save_figure(figure, path)


def _engines(axes: "Axes", run: WovenRun) -> None:
    found = bars_of(run)
    # between bars thinner than a dot, edges would be all that is seen
    edge = 0.3 if sum(len(bars.labels) for bars in found) < _EDGED else 0.0
    for bars in found:
        middle, height = _PLACES[bars.lane]
        hatched: dict[str, Any] = {"hatch": "////"} if bars.lane == "maps" else {}
        axes.broken_barh(
            list(zip(bars.start_us, bars.length_us, strict=True)),
            (middle - height / 2, height),
            facecolors=run.colour(bars.chain),
            edgecolors="white",
            linewidth=edge,
            rasterized=len(bars.labels) > 500,
            **hatched,
        )
    axes.set(ylim=(-0.6, 1.6), yticks=[0, 1], yticklabels=["DRAM", "array"])
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)


def _buffer(axes: "Axes", run: WovenRun, content: Content) -> None:
    colours = [run.colour(chain) for chain in range(len(run.names))]
    axes.stackplot(content.times_us, content.held, colors=colours, alpha=0.75, linewidth=0)
    low = content.capacity > content.top
    if not low:
        axes.axhline(content.capacity, color=ACCENT, ls="--", lw=1.2)
    place = (0.996, 0.97) if low else (0.004, content.capacity / content.top)
    axes.text(*place, content.capacity_text, color=ACCENT, fontsize=8.5,
              ha="right" if low else "left", va="top" if low else "bottom",
              transform=axes.transAxes)  # fmt: skip
    axes.set_ylim(0, content.top)
    # in two lines, since the lower axis is short
    axes.set_ylabel(f"{content.name.replace(' buffer', '')}\nbuffer ({content.unit})", color=INK)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def _legend(figure: "Figure", run: WovenRun) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=run.colour(chain), label=name) for chain, name in enumerate(run.names)
    ]
    if run.timeline.maps:
        handles.append(Patch(facecolor="#94a3b8", hatch="////", edgecolor="white",
                             label="hatched: feature map transfers"))  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9,
                  frameon=False)  # fmt: skip
