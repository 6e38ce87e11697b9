"""``archloom validate CASES``: recorded cases of another tool beside our counts and energies."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.space.importers.cases import BadCase, read_cases
from archloom.studies.analysis import Agreement, agreement
from archloom.studies.rendering.text import new_table, plain, print_line, print_whole

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


#: figures of a case that the table shows
_SHOWN: Final = 3


@dataclass(frozen=True)
class Summary:
    """How many cases agree, and the others, the worst first."""

    cases: int
    counts_equal: int
    energy_equal: int
    cycles_equal: int
    truncated: tuple[Agreement, ...]
    failures: tuple[Agreement, ...]

    @property
    def unexpected(self) -> tuple[Agreement, ...]:
        """Failures whose record does not say that its figures are off."""
        return tuple(f for f in self.failures if f.expected)

    def to_json(self) -> dict[str, Any]:
        """Return the record that ``--json`` prints."""
        return {
            "cases": self.cases,
            "counts_equal": self.counts_equal,
            "energy_equal": self.energy_equal,
            "cycles_equal": self.cycles_equal,
            "failures": [_failure_json(f) for f in self.failures],
        }


def compared(path: Path) -> Iterator[Agreement]:
    """Yield the agreement of each case of a file; a record that is no case is one too.

    Raises:
        UserError: the file cannot be read, or holds no cases.
    """
    empty = True
    try:
        for case in read_cases(path):
            empty = False
            if isinstance(case, BadCase):
                yield Agreement(case.name, "; ".join(case.faults), (), (), (), (), True)
            else:
                yield agreement(case)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UserError(f"{path}: {reason}") from None
    if empty:
        raise UserError(f"{path}: holds no cases; it needs one JSON object per line")


def summary(agreements: Iterable[Agreement]) -> Summary:
    """Count what agrees."""
    every = list(agreements)
    sound = [a for a in every if not a.failure]
    failures = [a for a in every if not a.agrees]
    return Summary(
        cases=len(every),
        counts_equal=sum(not a.counts for a in sound),
        energy_equal=sum(not a.energy for a in sound),
        cycles_equal=sum(not a.cycles for a in sound),
        truncated=tuple(a for a in sound if a.truncated),
        failures=tuple(sorted(failures, key=_badness)),
    )


def _badness(case: Agreement) -> tuple[bool, bool, float, str]:
    """Sort key: what should have agreed, then what could not be evaluated, then the largest."""
    worst = case.differences[0].relative if case.differences else 0.0
    return (not case.expected, not case.failure, -worst, case.name)


def _failure_json(case: Agreement) -> dict[str, Any]:
    return {
        "id": case.name,
        "closed_form_agrees": case.expected,
        "failure": case.failure,
        "differences": [
            {"what": d.what, "ours": d.ours, "theirs": _finite(d.theirs)} for d in case.differences
        ],
    }


def _finite(figure: float) -> float | str:
    """JSON has no NaN; a record may have one."""
    return figure if isfinite(figure) else str(figure)


def validate_cases(path: Path, as_json: bool, rows: int, console: "Console") -> bool:
    """Compare all cases of a file and print the result; True if nothing unexpected differs."""
    from rich.console import Console
    from rich.progress import track

    live = Console(stderr=True)
    every = track(
        compared(path), "cases", console=live, transient=True, disable=not live.is_terminal
    )
    result = summary(every)
    if as_json:
        print(json.dumps(result.to_json(), allow_nan=False))
        return not result.unexpected
    if result.failures:
        _print_failures(result, rows, console)
    _print_summary(path, result, console)
    return not result.unexpected


def _print_failures(result: Summary, rows: int, console: "Console") -> None:
    shown = result.failures[:rows]
    # a case that cannot be evaluated has a sentence, the others have figures
    for case in (c for c in shown if c.failure):
        print_line(f"{case.name}: {case.failure}", console)
    different = [c for c in shown if not c.failure]
    if different:
        print_whole(_differences(different), console)
    if any(not c.expected for c in shown):
        print_line("* known difference: the record itself marks its figures as inexact", console)
    if len(result.failures) > rows:
        print_line(f"and {len(result.failures) - rows} more cases; show more with --rows", console)


def _differences(cases: Sequence[Agreement]) -> "Table":
    columns = ("case", "figure", "archloom", "recorded", "difference")
    table = new_table("Differences, largest first", columns, columns[:2])
    for case in cases:
        for i, d in enumerate(case.differences[:_SHOWN]):
            table.add_row(
                plain(case.name) + ("" if case.expected else " *") if i == 0 else "",
                plain(d.what),
                f"{d.ours:,.10g}",
                f"{d.theirs:,.10g}",
                f"{d.relative:.2%}" if d.relative > 1e-4 else f"{d.relative:.1e}",
            )
        if len(case.differences) > _SHOWN:
            table.add_row("", f"and {len(case.differences) - _SHOWN} more figures")
    return table


def _print_summary(path: Path, result: Summary, console: "Console") -> None:
    known = len(result.failures) - len(result.unexpected)
    print_line(
        f"{path}: {result.cases} case{'s' if result.cases > 1 else ''}; access counts equal in "
        f"{result.counts_equal}, energy in {result.energy_equal}, cycles in {result.cycles_equal}",
        console,
    )
    if known:
        print_line(f"{known} of the other cases have records that are marked as inexact", console)
    for case in result.truncated:
        d = case.truncated[0]
        print_line(
            f"{case.name}: {d.what} was recorded one word lower ({d.theirs:,.0f} instead of "
            f"{d.ours:,.0f}) because Timeloop truncated it to an integer; counted as equal",
            console,
        )
    unexpected = len(result.unexpected)
    if unexpected:
        verb = "case differs" if unexpected == 1 else "cases differ"
        print_line(f"{unexpected} {verb} unexpectedly", console)
