"""The thirteen verdicts as tables: for terminals, pages and Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from archloom.studies.analysis.stack import Finding, Part, judge
from archloom.studies.rendering.text import plain, plain_table, print_line

from ..html import card, fold, table

if TYPE_CHECKING:
    from rich.console import Console


def print_verdicts(results: Mapping[str, Any], console: "Console") -> None:
    """Print the thirteen observations of DLAS with the verdicts of a study.

    Args:
        results: its ``results.json``.
        console: where to.
    """
    findings = judge(results)
    shown = plain_table(
        "The thirteen observations of the DLAS paper, and the verdicts of this study"
    )
    shown.add_column("", no_wrap=True)
    for head in ("observation", "verdict", "evidence"):
        shown.add_column(head, overflow="fold")
    for finding in findings:
        number, statement = finding.observation.number, finding.observation.statement
        verdict, (first, *others) = str(finding.verdict), deciding(finding)
        shown.add_row(number, plain(statement), verdict, plain(first))
        for text in others:
            shown.add_row("", "", "", plain(text))
    console.print(shown)
    print_line("What each verdict compares, and its intervals: docs/explanation/stack.md", console)


def deciding(finding: Finding) -> list[str]:
    """Return what decides a verdict: a line for each part; what would tell where there is none."""
    lines = [_decides(part, len(finding.parts) > 1) for part in finding.parts]
    if finding.observation.beyond:
        lines.append(finding.observation.beyond)
    return lines


def _decides(part: Part, several: bool) -> str:
    figure = f"{part.verdict}, {part.figure}" if several else part.figure
    return f"{part.claim}: {figure}"


def verdict_rows(findings: Sequence[Finding]) -> Iterator[list[str]]:
    """Yield number, statement, what the paper found, the verdict, and what decides it."""
    for finding in findings:
        seen = finding.observation
        yield [
            seen.number,
            f"{seen.statement} (section {seen.section})",
            seen.theirs,
            str(finding.verdict),
            "; ".join(deciding(finding)),
        ]


def verdict_sections(results: Mapping[str, Any]) -> list[str]:
    """Return HTML: the table of verdicts, and the evidence of each."""
    findings = judge(results)
    heads = ["", "observation of the paper", "evidence in the paper", "verdict", "evidence here"]
    note = (
        "Observations of Gibson et al., ACM TACO 2024. Figures are given with their intervals; "
        "refused measurements are not used. docs/explanation/stack.md says what each verdict "
        "compares."
    )
    folds = "".join(
        fold(f"{finding.observation.number}: {finding.verdict}", _evidence(finding))
        for finding in findings
        if finding.parts
    )
    rows = card("", note, table(heads, list(verdict_rows(findings))))
    return [
        "<h2>Observations of the DLAS paper</h2>",
        f'<div class="wide">{rows}</div>',
        f'<div class="wide">{card("Evidence", "", folds)}</div>',
    ]


def _evidence(finding: Finding) -> str:
    heads = ["claim", "verdict", "figure", "evidence"]
    rows = [[part.claim, str(part.verdict), part.figure, part.evidence] for part in finding.parts]
    return table(heads, rows)
