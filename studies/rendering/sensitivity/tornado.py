"""Tornado charts: what each assumed value changes, the largest change on top."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES, save_figure
from archloom.studies.solve.sensitivity import DECIDES, METRICS, Effect, Metric, Sensitivity

from .words import LABELS, factor_words, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: of a part of each value, and of a multiple
_COLOURS: Final = (SERIES[0], SERIES[1])

#: width of one of the two bars of a value, where values are 1 apart
_BAR: Final = 0.38

#: an axis ends at least so far from 0, in percent
_SMALLEST: Final = 120 * DECIDES


def draw_tornado(found: Sensitivity, path: Path) -> None:
    """Draw a line of panels for each network, and one panel for the area."""
    save_figure(tornado(found), path)


def tornado(found: Sensitivity) -> "Figure":
    """Return the picture; values that were not varied are left out."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    # without pyplot: no global state, no window, and nothing to close
    varied = [one for one in found.effects if one.varied]
    lines = len(found.networks)
    height = lines * (0.42 * len(varied) + 1.2) + 0.9
    figure = Figure(figsize=(14.5, max(height, 3.2)), layout="constrained", dpi=110)
    grid = figure.subplots(lines, len(METRICS), squeeze=False, sharey="row")
    for network, panels in enumerate(grid):
        ranked = [one for one in found.ranked(network) if one.varied]
        for metric, axes in zip(METRICS, panels, strict=True):
            _panel(axes, found, ranked, metric, network)
        panels[0].set_yticks(range(len(ranked)), list(map(_label, ranked)))
        panels[0].invert_yaxis()
        named = found.networks[network]
        panels[0].set_title(f"{named.name}, batch {named.batch}", loc="left", color=INK)
    names = factor_words(found.factor)
    patches = [Patch(color=colour) for colour in _COLOURS]
    labels = [f"value {word}" for word in names]
    shade = Patch(color=FADED, alpha=0.35)
    figure.legend(
        [*patches, shade],
        [*labels, f"up to {DECIDES:.0%}"],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    figure.suptitle(
        f"{found.hardware.name}: changes with other values where no source gives them",
        color=INK,
        parse_math=False,
    )
    return figure


def _label(effect: Effect) -> str:
    mark = effect.assumed.mark
    beside = f" (same product with {mark.product_with})" if mark.product_with else ""
    return f"{mark.key} = {value_text(effect.assumed.value)}{beside}"


def _panel(
    axes: "Axes", found: Sensitivity, ranked: Sequence[Effect], metric: Metric, network: int
) -> None:
    """Draw two bars for each value, from no change to what it changes, in percent."""
    axes.axvspan(-100 * DECIDES, 100 * DECIDES, color=FADED, alpha=0.35, linewidth=0)
    ends = [-_SMALLEST, _SMALLEST]
    for at, effect in enumerate(ranked):
        for side, (outcome, colour) in enumerate(
            zip((effect.less, effect.more), _COLOURS, strict=True)
        ):
            if outcome.refused:
                continue
            change, middle = 100 * found.change(outcome, metric, network), at + _BAR * (side - 0.5)
            if change == float("inf"):
                text = "cannot run"
                axes.text(0, middle, text, color=colour, fontsize=8, va="center", ha="center")
                continue
            axes.barh(middle, change, _BAR, color=colour)
            ends.append(1.05 * change)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(min(ends), max(ends))
    axes.set_xlabel(f"change of {LABELS[metric]} (%)")
    axes.grid(axis="x", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)
