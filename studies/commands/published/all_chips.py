"""``archloom validate --all``: ratios of all chips, and of a file, in one table."""

from collections.abc import Sequence
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.analysis.published_chips import Chapter, Figure
from archloom.studies.rendering.text import plain, plain_table, print_line, print_whole

from .recorded_cases import compared, summary

if TYPE_CHECKING:
    from rich.console import Console


def as_chapter(path: Path) -> Chapter:
    """Return how many recorded cases of another tool agree, as the figures of a chip.

    Raises:
        UserError: the file cannot be read, or holds no cases.
    """
    found = summary(compared(path))
    inexact = len(found.failures) - len(found.unexpected)
    expected = found.cases - inexact
    reason = f"{inexact} records are marked as inexact" if inexact else ""
    counts = {
        "access counts": found.counts_equal,
        "energy": found.energy_equal,
        "cycles": found.cycles_equal,
    }
    return Chapter(
        f"Recorded cases, {path.name}",
        "",
        tuple(
            Figure(
                f"cases with equal {name}",
                float(number),
                float(found.cases),
                str(path),
                (expected / found.cases, 1.0),
                reason,
            )
            for name, number in counts.items()
        ),
    )


def print_ratios(found: Sequence[Chapter], console: "Console") -> None:
    """Print the figures of all chapters: first those outside their range, then by the ratio."""
    rows = [(chapter.title, figure) for chapter in found for figure in chapter.figures]
    rows.sort(key=lambda row: (row[1].holds, -distance(row[1].ratio)))
    table = plain_table("Ratios of archloom to measured figures, worst first")
    for head in ("chip", "figure"):
        table.add_column(head, overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    switched = any(explanation(figure) for _, figure in rows)
    if switched:
        table.add_column("with a switch", overflow="fold")
    for head in ("allowed", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for title, figure in rows:
        band = "" if figure.band is None else f"{figure.band[0]:.3g} to {figure.band[1]:.3g}"
        why = (explanation(figure),) if switched else ()
        cells = (title, figure.name, f"{figure.ratio:.3f}", *why, band)
        table.add_row(*map(plain, (*cells, "" if figure.holds else "!")))
    print_whole(table, console)
    for chapter in found:
        checked = [figure for figure in chapter.figures if figure.band is not None]
        outside = sum(not figure.holds for figure in checked)
        print_line(
            f"{chapter.title}: {len(chapter.figures)} figures, {len(checked)} checked, "
            f"{outside} outside the allowed range",
            console,
        )


def explanation(figure: Figure) -> str:
    """Return the ratio with the switch that brings it nearest to 1; empty if none brings it nearer.

    Differences of less than 1% are no explanation.
    """
    ratios = {name: value / figure.theirs for name, value in figure.switched.items()}
    best = min(ratios, key=lambda name: distance(ratios[name]), default=None)
    if best is None or distance(ratios[best]) > distance(figure.ratio) - 0.01:
        return ""
    return f"{ratios[best]:.3f}: {best}"


def distance(ratio: float) -> float:
    """Return how far a ratio is from 1; a half is as far as twice."""
    return abs(log(ratio)) if ratio > 0 else inf
