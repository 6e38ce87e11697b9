"""Results of tables in files: rows with the version that made them, and what they were made of."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from archloom.studies.config import Reading

from ...errors import UserError
from .budgets import FULL
from .figures import PaperRow, PaperTable
from .kinds import kind_of
from .table_file import table_of

FORMAT: Final = "archloom paper table 1"

#: how files of results begin
_BEGIN: Final = f'{{"format": "{FORMAT}"'

#: keys of a table that no row depends on
_SAID: Final = frozenset({"title", "note", "paper", "source", "figures", "published"})


@dataclass(frozen=True)
class Measurement:
    """Where rows were measured, and what that took.

    Attributes:
        date: of the last row, as 2026-01-31.
        cores: that the process could use.
        python_s: CPU-seconds that plain Python took there for a million of ``s += i * i``.
        cpu_s: CPU-seconds of all rows.
    """

    date: str
    cores: int
    python_s: float
    cpu_s: float


@dataclass(frozen=True)
class Results:
    """Rows of a table.

    Attributes:
        version: of archloom, that made them.
        table: what was asked for.
        sets: networks of it that were measured; None for all.
        rows: as many as are done.
        budget: of the table.
        measurement: None in results of a version that did not record it.
    """

    version: str
    table: PaperTable
    sets: int | None
    rows: tuple[PaperRow, ...]
    budget: str = FULL
    measurement: Measurement | None = None

    @property
    def feasible(self) -> bool:
        """Whether anything in it can run."""
        return any(row.figures for row in self.rows)

    def answers(self, asked: "Results") -> bool:
        """Whether the rows are those of another table, whatever that says about them."""
        return self._question == asked._question

    @property
    def _question(self) -> tuple[Any, ...]:
        table = {key: value for key, value in self.table.to_dict().items() if key not in _SAID}
        return self.version, self.budget, self.sets, table


def results_name(name: str, budget: str) -> str:
    """Return what the files of a table are called; those of a smaller budget say it."""
    return name if budget == FULL else f"{name}.{budget}"


def results_text(results: Results) -> str:
    """Return a file of results, a line for each row; equal results are equal files."""
    head = {
        "format": FORMAT,
        "version": results.version,
        "table": results.table.to_dict(),
        "sets": results.sets,
        "budget": results.budget,
        "measurement": results.measurement and asdict(results.measurement),
    }
    rows = ",\n".join(json.dumps(row.to_json(), separators=(",", ":")) for row in results.rows)
    return f'{json.dumps(head)[:-1]}, "rows": [\n{rows}\n]}}\n'


def is_results(path: Path) -> bool:
    """Whether a file says that it holds results of a table."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(len(_BEGIN)) == _BEGIN
    except (OSError, ValueError):
        return False


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
    measurement = Measurement(**data["measurement"]) if data.get("measurement") else None
    budget = data.get("budget", FULL)
    return Results(data["version"], table, data["sets"], rows, budget, measurement)
