"""Rows of a table of searches: medians over seeds of what each method picked."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from archloom.studies.engine.progress import Stages

from .averages import averaged
from .hypervolumes import compared
from .search_row import SearchRow
from .search_sections import AVERAGE, SEARCHED, Case, Method
from .search_studies import RunStudy, SeedFigures, figures_of, study_name, study_of
from .search_table import SearchTable


def searched(
    table: SearchTable,
    stages: Stages,
    known: Sequence[SearchRow],
    sets: int | None,
    folder: Path,
    run: RunStudy,
) -> Iterator[SearchRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: cases, the first ones; None for all.
        folder: where the studies are kept, each in a directory.
        run: runs a study there.
    """
    cases = table.cases[:sets]
    stages.begin(table.title, len(cases) * len(table.methods) * len(table.seeds))
    every: list[SearchRow] = []
    for case in cases:
        found = [
            row
            for method in table.methods
            for row in _known(table, case, method, stages, known)
            or _rows(table, case, method, stages, folder, run)
        ]
        # a hypervolume is measured against all methods of a case
        yield from _with_figures(found)
        every += found
    yield from _with_figures(list(averaged(_whole_groups(table, cases), table.cases, every)))
    stages.end()


def _known(
    table: SearchTable, case: Case, method: Method, stages: Stages, known: Sequence[SearchRow]
) -> list[SearchRow]:
    """Return the rows of a search that need not be measured again; empty if some may be missing."""
    rows = [r for r in known if (r.case, r.method) == (case.name, method.name)
            and r.network != AVERAGE]  # fmt: skip
    # the last of a search may be missing, and studies that are there cost nothing
    if not rows or rows[-1] is known[-1]:
        return []
    stages.advance(steps=len(table.seeds))
    return rows


def _rows(
    table: SearchTable,
    case: Case,
    method: Method,
    stages: Stages,
    folder: Path,
    run: RunStudy,
) -> list[SearchRow]:
    """Return a row of the networks of the search, and one of each that is held out."""
    found: dict[str, list[SeedFigures]] = {SEARCHED: []}
    nothing = []
    for seed in table.seeds:
        name = study_name(case, method, seed)
        stages.advance(f"{case.name}, {method.name}, seed {seed}", steps=0)
        run(study_of(table.study, table.changes, case, method, seed), folder / name)
        figures = figures_of(table.together, folder / name, seed)
        for network, one in figures.items():
            found.setdefault(network, []).append(one)
        if not figures:
            nothing.append(f"{name}: no design keeps all limits")
        stages.advance()
    return [
        SearchRow(case.name, network, method.name, tuple(seeds), {}, {}, tuple(nothing))
        for network, seeds in found.items()
    ]


def _with_figures(rows: Sequence[SearchRow]) -> Iterator[SearchRow]:
    """Yield the rows of a case, or averages, with their figures."""
    optimised = [row for row in rows if row.network == SEARCHED]
    found = iter(compared([one.steps for row in optimised for one in row.seeds]))
    first: dict[tuple[str, str], SearchRow] = {}
    for row in rows:
        # as many as the row has, in the order in which they were compared
        those = [next(found) for _ in row.seeds] if row.network == SEARCHED else []
        yield row.with_figures(first.setdefault((row.case, row.network), row), those)


def _whole_groups(table: SearchTable, cases: Sequence[Case]) -> list[str]:
    """Return the averages whose cases were all searched."""
    left_out = {name for case in table.cases if case not in cases for name in case.average}
    every = dict.fromkeys(name for case in cases for name in case.average)
    return [name for name in every if name not in left_out]
