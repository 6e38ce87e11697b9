"""Pages of tables and of the overview: HTML that needs nothing from elsewhere."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from archloom.studies.rendering import render, table
from archloom.studies.solve.papers import Results

from .overview import INTRODUCTION, by_paper, counted, measurement_cells, table_cells
from .tables import made, notes, published_cells, row_cells


def table_page(name: str, results: Results, picture: Path) -> str:
    """Return the page of a table; the picture becomes a part of it."""
    return render(
        "paper.html.j2",
        title=results.table.title,
        made=_plain(made(name, results)),
        figures=_table(*published_cells(results)),
        rows=_table(*row_cells(results)),
        terms=_plain(results.table.terms),
        picture=b64encode(picture.read_bytes()).decode(),
        notes=list(map(_plain, notes(results))),
    )


def overview_page(found: Mapping[str, Results]) -> str:
    """Return the page of all results in a directory."""
    return render(
        "papers.html.j2",
        title="Papers",
        introduction=_plain(INTRODUCTION),
        counted=counted(found),
        papers=[
            (paper, _table(*table_cells(tables)), list(tables))
            for paper, tables in by_paper(found).items()
        ],
        measurements=_table(*measurement_cells(found)),
    )


def _plain(text: str) -> str:
    """Return Markdown without the marks of words of the program."""
    return text.replace("`", "")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(heads, rows) if rows else ""
