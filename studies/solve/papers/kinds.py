"""Kinds of tables: what rows are measured with, by the word that files have as ``kind``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from archloom.studies.engine.progress import Stages

from .figures import PaperRow, PaperTable
from .plans import PlanRow, PlanTable, planned
from .streams import StreamRow, StreamTable, woven

#: of files that name none
DEFAULT: Final = "streams"


class Kind(NamedTuple):
    """A kind of tables.

    Attributes:
        table: reads a file; a class of sections.
        measured: yields rows: of a table, told to stages, without those that are known, of the
            first so many sets of networks or of all.
        row: of plain values.
    """

    table: Any
    measured: Callable[[Any, Stages, Sequence[Any], int | None], Iterator[PaperRow]]
    row: Callable[[Mapping[str, Any]], PaperRow]


KINDS: Final = {
    "streams": Kind(StreamTable, woven, StreamRow.from_json),
    "plans": Kind(PlanTable, planned, PlanRow.from_json),
}


def kind_of(table: PaperTable) -> Kind:
    """Return the kind of a table."""
    return next(kind for kind in KINDS.values() if isinstance(table, kind.table))


def measured(
    table: PaperTable, stages: Stages, known: Sequence[PaperRow] = (), sets: int | None = None
) -> Iterator[PaperRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: of networks, the first ones; None for all.
    """
    return kind_of(table).measured(table, stages, known, sets)
