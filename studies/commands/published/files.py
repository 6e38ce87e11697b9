"""Tables that somebody asks for: which files, and at which budget."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from archloom.space import did_you_mean
from archloom.studies.solve.papers import BUDGETS, PaperTable, own_tables, read_table

from ...errors import AllFaults, UserError

#: the word for all tables that come with archloom
ALL: Final = "all"


def asked_tables(
    texts: Sequence[str], budget: str, seeds: int | None = None
) -> Mapping[str, PaperTable]:
    """Return the tables that names, papers or paths mean, by name.

    Args:
        texts: names, papers or paths.
        budget: of all.
        seeds: of each search, from 0 on; None for those of the budget.

    Raises:
        UserError: no such table, no such budget, everything that is wrong in the files, or seeds of
            tables that have none.
    """
    if budget not in BUDGETS:
        raise UserError(f"budget {budget!r} is unknown; {did_you_mean(budget, BUDGETS)}")
    found, faults = dict[str, PaperTable](), AllFaults()
    for name, path in _files(texts).items():
        with faults.collecting():
            found[name] = read_table(path, budget)
    faults.raise_any()
    if seeds is None:
        return found
    if not any(table.seed_count for table in found.values()):
        raise UserError(f"--seeds: nothing is random in {', '.join(found)}; leave it out")
    return {name: table.with_seeds(seeds) for name, table in found.items()}


def _files(texts: Sequence[str]) -> dict[str, Path]:
    own, found = own_tables(), dict[str, Path]()
    for text in texts:
        paper = {n: path for n, path in own.items() if text == ALL or n.startswith(f"{text}_")}
        if text in own:
            found[text] = own[text]
        elif paper:
            found |= paper
        elif Path(text).is_file():
            found[Path(text).stem] = Path(text)
        else:
            papers = sorted({name.partition("_")[0] for name in own})
            hint = did_you_mean(text, list(dict.fromkeys([ALL, *papers, *own])))
            raise UserError(f"{text}: no such table, paper or file; {hint}")
    return found
