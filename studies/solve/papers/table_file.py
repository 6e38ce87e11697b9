"""Files that ask for tables of papers; docs/validation/layerweaver.md and papers.md explain the
keys."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from archloom.space import Document, Faults, Place, did_you_mean
from archloom.studies.config import (
    ConfigError,
    Reading,
    Section,
    collecting,
    file_text,
    read_document,
)

from ...errors import UserError
from .budgets import BUDGETS, FULL, BudgetKeys, merged
from .figures import PaperTable
from .heading import TABLES, Heading


@dataclass(frozen=True)
class TableFile:
    """What a file holds.

    Attributes:
        tables: by budget; the last is the table as it is.
        cost: CPU-seconds by budget, where they are known.
    """

    tables: Mapping[str, PaperTable]
    cost: Mapping[str, float]

    @property
    def full(self) -> PaperTable:
        """The table as it is."""
        return self.tables[FULL]


@dataclass(frozen=True)
class TableSummary:
    """What a file says of its table.

    Attributes:
        heading: of the table.
        cost: as of :class:`TableFile`.
    """

    heading: Heading
    cost: Mapping[str, float]


def own_tables() -> dict[str, Path]:
    """Return the files that come with archloom, by name."""
    return {path.stem: path for path in sorted(TABLES.glob("*.yaml"))}


def table_summary(path: Path) -> TableSummary:
    """Return what a file that comes with archloom says of its table.

    Nothing else in it is read: a table of searches takes seconds to be checked.
    """
    data = read_document(path, path.read_text("utf-8"), Faults()).data
    heading = Heading.read(_keys_of(Heading, data), Reading())
    return TableSummary(heading, BudgetKeys.read(_keys_of(BudgetKeys, data), Reading()).by_budget)


def _keys_of(section: type[Section], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in section.layout if key in data}


def table_of(data: Any, beside: Reading) -> PaperTable:
    """Return what plain values ask for.

    Raises:
        ValueError: they are no table.
        EntryError: everything that is wrong in it.
    """
    # the kinds load what measures rows, which the list of tables does without
    from .kinds import DEFAULT, KINDS

    word = data.get("kind", DEFAULT) if isinstance(data, dict) else DEFAULT
    if not isinstance(word, str) or word not in KINDS:
        raise ValueError(f"kind: {word!r} is unknown; {did_you_mean(str(word), KINDS)}")
    table: PaperTable = KINDS[word].table.read(data, beside)
    return table


def read_table(path: Path, budget: str = FULL) -> PaperTable:
    """Return what a file asks for at a budget.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read, or has no such budget.
    """
    tables = read_table_file(path).tables
    if budget not in tables:
        raise UserError(
            f"{path}: budgets: has no budget {budget}; it has {', '.join(tables)}, others stand "
            f"below the key budgets"
        )
    return tables[budget]


def read_table_file(path: Path) -> TableFile:
    """Return all that a file holds.

    Raises:
        ConfigError: everything that is wrong in it, at all budgets.
        UserError: it cannot be read.
    """
    faults = Faults()
    document = read_document(path, file_text(path), faults)
    data = dict(document.data)
    own = {key: data.pop(key) for key in BudgetKeys.layout if key in data}
    keys, wrong = BudgetKeys(), Faults()
    for key, entry in own.items():
        with collecting(wrong):
            found = BudgetKeys.read({key: entry}, Reading(path.parent))
            keys = replace(keys, **{key: getattr(found, key)})
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    tables = _at_budgets(document, data, keys, Reading(path.parent), faults)
    if faults:
        raise ConfigError(path, faults)
    return TableFile(tables, keys.by_budget)


def _at_budgets(
    document: Document, data: dict[str, Any], keys: BudgetKeys, beside: Reading, faults: Faults
) -> dict[str, PaperTable]:
    """Return the table at each budget; what is wrong with the table as it is, is said once."""
    found, said = dict[str, PaperTable](), set[str]()
    for budget in reversed(BUDGETS):
        changes = {} if budget == FULL else getattr(keys.budgets, budget)
        if changes is None:
            continue
        at, wrong = () if budget == FULL else ("budgets", budget), Faults()
        with collecting(wrong):
            found[budget] = table_of(merged(data, changes), beside)
        for fault in wrong:
            if not at or (fault.place.keys and fault.place.keys[0] in changes):
                faults.add(document.place((*at, *fault.place.keys)), fault.message)
        table = found.get(budget)
        messages = list(table.contradictions()) if table else []
        if table and not at:
            messages += table.astray()
        for message in messages:
            if message not in said:
                where, _, what = message.partition(": ")
                faults.add(Place(keys=(*at, where), line=document.place(at).line), what)
        said.update(messages)
    return {budget: found[budget] for budget in BUDGETS if budget in found}
