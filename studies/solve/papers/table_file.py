"""Files that ask for tables of papers; docs/validation/layerweaver.md and papers.md explain the
keys."""

from pathlib import Path
from typing import Any, Final

from archloom.space import Faults, bounded_text, did_you_mean
from archloom.studies.config import ConfigError, Reading, collecting, read_document

from ...errors import UserError
from .figures import PaperTable
from .kinds import DEFAULT, KINDS

_TABLES: Final = Path(__file__).parent / "tables"


def own_tables() -> dict[str, Path]:
    """Return the files that come with archloom, by name."""
    return {path.stem: path for path in sorted(_TABLES.glob("*.yaml"))}


def table_of(data: Any, beside: Reading) -> PaperTable:
    """Return what plain values ask for.

    Raises:
        ValueError: they are no table.
        EntryError: everything that is wrong in it.
    """
    word = data.get("kind", DEFAULT) if isinstance(data, dict) else DEFAULT
    if not isinstance(word, str) or word not in KINDS:
        raise ValueError(f"kind: {word!r} is unknown; {did_you_mean(str(word), KINDS)}")
    table: PaperTable = KINDS[word].table.read(data, beside)
    return table


def read_table(path: Path) -> PaperTable:
    """Return what a file asks for.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read.
    """
    try:
        content = bounded_text(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    faults = Faults()
    document = read_document(path, content, faults)
    table, wrong = None, Faults()
    with collecting(wrong):
        table = table_of(document.data, Reading(path.parent))
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    if table is not None:
        for message in table.contradictions():
            faults.add(document.place(()), message)
    if faults or table is None:
        raise ConfigError(path, faults)
    return table
