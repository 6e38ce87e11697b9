"""The command line of ``archloom reproduce``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ..options import Argument, AsJson, Exit, Option

REPRODUCE_EXAMPLES: Final = (
    "Example: archloom reproduce; archloom reproduce layerweaver_pairs; "
    "archloom reproduce layerweaver --out runs/layerweaver"
)


def reproduce(
    tables: Annotated[
        list[str] | None,
        Argument(
            "[TABLE...]",
            "A table's name, a paper's for all of its tables, or a file like theirs. Without it, "
            "all are listed.",
        ),
    ] = None,
    sets: Annotated[
        int | None,
        Option("--sets", metavar="N", least=1, help="Measure the first N sets of networks alone."),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Write of each table the results (.json), Markdown (.md) and a picture (.png). "
            "What an earlier run has left there is not measured again.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the tables of papers again, and print their figures beside ours.

    docs/validation/layerweaver.md has all tables, and explains the files.
    """
    from .measuring import list_tables, reproduce_tables

    if not tables:
        list_tables(as_json, new_console())
        return
    raise Exit(reproduce_tables(tables, sets, out, as_json, new_console()))
