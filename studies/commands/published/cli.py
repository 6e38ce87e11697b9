"""The command line of ``archloom reproduce``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import Argument, AsJson, Exit, Option
from archloom.studies.rendering.text import new_console

REPRODUCE_EXAMPLES: Final = (
    "archloom reproduce",
    "archloom reproduce layerweaver_pairs",
    "archloom reproduce layerweaver --out runs/layerweaver",
    "archloom reproduce deepfrack --budget small --out runs/papers",
    "archloom reproduce casco_parts --budget small --seeds 3 --out runs/papers",
    "archloom reproduce all --budget tiny --out runs/tiny",
)


def reproduce(
    tables: Annotated[
        list[str] | None,
        Argument(
            "[TABLE...]",
            "Name of a table, name of a paper for all of its tables, all, or a table file of your "
            "own (default: list all tables with their costs).",
        ),
    ] = None,
    budget: Annotated[
        str,
        Option(
            "--budget",
            metavar="NAME",
            names=("tiny", "small", "full"),
            help="tiny: enough to see that a table works; small: fewer networks, seeds and "
            "evaluations; full: the table as its file has it.",
        ),
    ] = "full",
    sets: Annotated[
        int | None,
        Option(
            "--sets",
            metavar="N",
            least=1,
            help="Only evaluate the first N networks, or sets of networks, of each table "
            "(default: all).",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        Option(
            "--seeds",
            metavar="N",
            least=1,
            help="Run each search with seeds 0 to N - 1 (default: as many as the budget has).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Directory for the results of each table (.json), a Markdown table (.md), a page "
            "(.html) and a plot (.png), and for an overview of all results there. Results that are "
            "already there are reused.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce tables of published papers: print published values beside computed values.

    docs/validation/papers.md and layerweaver.md show all tables and explain the table files.
    """
    if not tables:
        from .listing import list_tables

        list_tables(as_json, new_console())
        return
    from .measuring import Wish, reproduce_tables

    raise Exit(reproduce_tables(tables, Wish(budget, sets, seeds, out), as_json, new_console()))
