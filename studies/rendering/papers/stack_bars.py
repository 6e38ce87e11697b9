"""Bars of a table of a stack study: shares of cases that support a claim, by verdict."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.analysis.stack import Verdict
from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import StackRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS: Final = {Verdict.HOLDS: SERIES[2], Verdict.FAILS: SERIES[1], Verdict.UNTOLD: SERIES[0]}

#: characters of a claim on a line
_LINE: Final = 58


def stack_bars(title: str, rows: Sequence[StackRow]) -> "Figure":
    """Return a picture of the claims that are decided by a share of cases, each with its range."""
    from textwrap import fill

    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = [row for row in rows if row.share is not None]
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=(9, 0.55 * len(shown) + 1.6), layout="constrained", dpi=110)
    axes = figure.subplots()
    for at, row in enumerate(shown):
        share = 100 * (row.share or 0.0)
        low, high = row.interval or (row.share or 0.0, row.share or 0.0)
        errors = [[share - 100 * low], [100 * high - share]]
        axes.barh(at, share, xerr=errors, color=_COLOURS[Verdict(row.verdict)], ecolor=INK)
        if not share:
            # above the line of its range
            axes.annotate(
                "0 %", (0, at), (4, 3), textcoords="offset points", va="bottom", fontsize=8
            )
    names = [fill(f"{row.observation} {row.claim}", _LINE) for row in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of cases that support the claim (%)")
    axes.grid(axis="x", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)
    handles = [Patch(color=colour, label=str(verdict)) for verdict, colour in _COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, color=INK)
    return figure
