"""Results of tables in files: rows with the version that made them, and what they were made of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archloom.studies.config import Reading

from ...errors import UserError
from .figures import PaperRow, PaperTable
from .kinds import kind_of
from .table_file import table_of

FORMAT: Final = "archloom paper table 1"


@dataclass(frozen=True)
class Results:
    """Rows of a table.

    Attributes:
        version: of archloom, that made them.
        table: what was asked for.
        sets: networks of it that were measured; None for all.
        rows: as many as are done.
    """

    version: str
    table: PaperTable
    sets: int | None
    rows: tuple[PaperRow, ...]


def results_text(results: Results) -> str:
    """Return a file of results, a line for each row; equal results are equal files."""
    head = {
        "format": FORMAT,
        "version": results.version,
        "table": results.table.to_dict(),
        "sets": results.sets,
    }
    rows = ",\n".join(json.dumps(row.to_json(), separators=(",", ":")) for row in results.rows)
    return f'{json.dumps(head)[:-1]}, "rows": [\n{rows}\n]}}\n'


def read_results(path: Path) -> Results:
    """Return the results in a file.

    Raises:
        UserError: it cannot be read, or holds none of this version's format.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{path}: holds no results of format {FORMAT!r}; name another folder")
    try:
        return _results(data)
    except (KeyError, TypeError, ValueError, UserError) as error:
        raise UserError(f"{path}: is damaged ({error}); delete it to measure again") from None


def _results(data: Mapping[str, Any]) -> Results:
    table = table_of(data["table"], Reading())
    rows = tuple(map(kind_of(table).row, data["rows"]))
    return Results(data["version"], table, data["sets"], rows)
