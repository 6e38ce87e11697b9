"""All results in a directory on one page: for each paper its tables, and how figures compare."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from archloom.studies.engine.progress import duration
from archloom.studies.solve.papers import (
    BUDGETS,
    Results,
    compared,
    is_results,
    read_results,
    tally,
)

from .tables import figure_cells, figure_name, markdown_table

#: heading of tables that name no paper
_OTHERS: Final = "Other tables"

INTRODUCTION: Final = """\
Each table is compared with figures of a paper. The first published figure of a table is shown here;
the table has all of them. The ratio is that of our figure to the paper's. This page is written by
`archloom reproduce --out`, from all results in its directory."""


def results_in(folder: Path) -> dict[str, Results]:
    """Return the results in a directory, by the names of their files.

    Raises:
        UserError: a file is damaged.
    """
    files = sorted(path for path in folder.glob("*.json") if is_results(path))
    return {path.stem: read_results(path) for path in files}


def overview(found: Mapping[str, Results]) -> str:
    """Return the page."""
    lines = ["# Papers", "", INTRODUCTION, "", counted(found)]
    for paper, tables in by_paper(found).items():
        lines += ["", f"## {paper}", "", *markdown_table(*table_cells(tables, "[{0}]({0}.md)"))]
    lines += ["", "## Measurements", "", *markdown_table(*measurement_cells(found))]
    return "\n".join(lines) + "\n"


def counted(found: Mapping[str, Results]) -> str:
    """Return how many figures are close, explained and not, of each table at its largest budget."""
    largest = {}
    for budget in BUDGETS:
        for name, results in found.items():
            if results.budget == budget:
                largest[name.removesuffix(f".{budget}")] = results
    count = tally(one for results in largest.values() for one in compared(results))
    total = count.close + count.explained + count.unexplained
    return (
        f"Of {total} published figures, {count.close} are within 20% of the paper's, "
        f"{count.explained} deviate more and have a remark, {count.unexplained} deviate more and "
        "are not explained."
    )


def by_paper(found: Mapping[str, Results]) -> dict[str, dict[str, Results]]:
    """Return results by paper, those of none at the end."""
    papers = sorted({results.table.paper for results in found.values()} - {""})
    grouped = {
        paper: {name: one for name, one in found.items() if one.table.paper == paper}
        for paper in [*papers, ""]
    }
    return {paper or _OTHERS: tables for paper, tables in grouped.items() if tables}


def table_cells(
    tables: Mapping[str, Results], link: str = "{0}"
) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of the tables of a paper; a link is made of the name."""
    heads = ["table", "in the paper", "shows", "budget"]
    heads += ["figure", "paper", "archloom", "ratio", "remark"]
    return heads, [[link.format(name), *_cells(one)] for name, one in tables.items()]


def _cells(results: Results) -> Iterator[str]:
    yield from (results.table.source, results.table.title, results.budget)
    headline = next(iter(compared(results)), None)
    if headline is None:
        yield "not compared at this budget" if results.table.published else "no published figure"
        yield from [""] * 4
        return
    yield figure_name(results, headline)
    yield from figure_cells(results, headline)
    yield headline.theirs.why


def measurement_cells(found: Mapping[str, Results]) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of what measured each table."""
    heads = [
        "table",
        "version",
        "date",
        "cores",
        "CPU time",
        "Python, CPU-s",
        "figures",
        "within 20%",
    ]
    heads += ["remark", "not explained"]
    rows = []
    for name, results in found.items():
        count, one = tally(compared(results)), results.measurement
        machine = ["not recorded", "", "", ""]
        if one is not None:
            machine = [one.date, str(one.cores), duration(one.cpu_s), f"{one.python_s:.2f}"]
        numbers = (count.close, count.explained, count.unexplained)
        rows.append([name, results.version, *machine, *map(str, (sum(numbers), *numbers))])
    return heads, rows
