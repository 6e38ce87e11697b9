"""``archloom validate --all``: ratios of all chips, and of a file, in one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
        print_line(f"{chapter.title}: {Counts.of(chapter.figures)}", console)
    print_line(f"All: {Counts.of([figure for _, figure in rows])}", console)


#: ratios of figures that need no explanation if they have no allowed range
NEAR: Final = (0.8, 1.25)


@dataclass(frozen=True)
class Counts:
    """How many figures there are, and how far those without an allowed range are explained.

    Attributes:
        figures, checked, outside: all; those with an allowed range; those outside of it.
        far: those without a range that lie outside :data:`NEAR`, and show no switch of another.
        explained: of those, the ones that a switch brings into :data:`NEAR`.
    """

    figures: int
    checked: int
    outside: int
    far: int
    explained: int

    @classmethod
    def of(cls, figures: Sequence[Figure]) -> "Counts":
        """Count figures."""
        checked = [figure for figure in figures if figure.band is not None]
        far = [figure for figure in figures if is_far(figure)]
        outside = sum(not figure.holds for figure in checked)
        explained = sum(is_explained(figure) for figure in far)
        return cls(len(figures), len(checked), outside, len(far), explained)

    def __str__(self) -> str:
        return (
            f"{self.figures} figures, {self.checked} checked, {self.outside} outside the allowed "
            f"range; without a range and more than 25% off: {self.far}, {self.explained} explained "
            f"by a switch, {self.far - self.explained} not"
        )


def is_far(figure: Figure) -> bool:
    """Whether a figure is not checked, outside :data:`NEAR`, and no effect shown of another."""
    return figure.band is None and not figure.effect_of and not _near(figure.ratio)


def is_explained(figure: Figure) -> bool:
    """Whether a switch brings a figure into :data:`NEAR`."""
    return any(_near(value / figure.theirs) for value in figure.switched.values())


def _near(ratio: float) -> bool:
    return NEAR[0] <= ratio <= NEAR[1]


def explanation(figure: Figure) -> str:
    """Return the ratio with the switch that brings it nearest to 1; empty if none brings it nearer.

    Differences of less than 1% are no explanation. A figure that is far off and that no switch
    explains says so.
    """
    best = _best_switch(figure)
    if not is_far(figure) or is_explained(figure):
        return best
    return f"{best}; not explained" if best else "not explained"


def _best_switch(figure: Figure) -> str:
    ratios = {name: value / figure.theirs for name, value in figure.switched.items()}
    best = min(ratios, key=lambda name: distance(ratios[name]), default=None)
    if best is None or distance(ratios[best]) > distance(figure.ratio) - 0.01:
        return ""
    return f"{ratios[best]:.3f}: {best}"


def distance(ratio: float) -> float:
    """Return how far a ratio is from 1; a half is as far as twice."""
    return abs(log(ratio)) if ratio > 0 else inf
