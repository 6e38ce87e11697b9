"""Kinds of tables: what rows are measured with, by the word that files have as ``kind``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from archloom.studies.config import StudyConfig
from archloom.studies.engine.progress import Stages
from archloom.studies.solve.stack import StackConfig

from .figures import PaperRow, PaperTable
from .plans import PlanRow, PlanTable, planned
from .searches import RunStudy, SearchRow, SearchTable, searched
from .stacks import RunStack, StackRow, StackTable, judged
from .streams import StreamRow, StreamTable, woven

#: of files that name none
DEFAULT: Final = "streams"


class Studies(NamedTuple):
    """How studies of tables are run.

    Attributes:
        folder: where they are kept, each in a directory.
        run: runs one there.
        run_stack: runs a stack study there.
    """

    folder: Path
    run: RunStudy
    run_stack: RunStack


def _no_study(config: StudyConfig | StackConfig, folder: Path) -> NoReturn:
    raise TypeError(f"{folder}: study {config.name} needs somebody who runs it")


#: for tables that have none
NO_STUDIES: Final = Studies(Path(), _no_study, _no_study)


class Kind(NamedTuple):
    """A kind of tables.

    Attributes:
        table: reads a file; a class of sections.
        measured: yields rows: of a table, told to stages, without those that are known, of the
            first so many sets of networks or of all, by studies.
        row: of plain values.
    """

    table: Any
    measured: Callable[[Any, Stages, Sequence[Any], int | None, Studies], Iterator[PaperRow]]
    row: Callable[[Mapping[str, Any]], PaperRow]


KINDS: Final = {
    "streams": Kind(StreamTable, lambda *asked: woven(*asked[:-1]), StreamRow.from_json),
    "plans": Kind(PlanTable, lambda *asked: planned(*asked[:-1]), PlanRow.from_json),
    "searches": Kind(
        SearchTable,
        lambda table, stages, known, sets, studies: searched(
            table, stages, known, sets, studies.folder, studies.run
        ),
        SearchRow.from_json,
    ),
    "stack": Kind(
        StackTable,
        lambda table, stages, known, sets, studies: judged(
            table, stages, known, sets, studies.folder, studies.run_stack
        ),
        StackRow.from_json,
    ),
}


def kind_of(table: PaperTable) -> Kind:
    """Return the kind of a table."""
    return next(kind for kind in KINDS.values() if isinstance(table, kind.table))


def measured(
    table: PaperTable,
    stages: Stages,
    known: Sequence[PaperRow] = (),
    sets: int | None = None,
    studies: Studies = NO_STUDIES,
) -> Iterator[PaperRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: of networks, the first ones; None for all.
        studies: how they are run; only tables of searches and of stack studies have any.
    """
    return kind_of(table).measured(table, stages, known, sets, studies)
