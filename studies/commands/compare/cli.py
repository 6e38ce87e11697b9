"""The command line of ``archloom compare``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import Argument, AsJson, Option
from archloom.studies.config import Location, location_of
from archloom.studies.rendering.text import new_console

COMPARE_EXAMPLES: Final = (
    "archloom compare runs/mobo-* runs/random-* --out compared.html",
    "archloom compare runs/first runs/second --json",
)


def compare(
    folders: Annotated[
        list[Location],
        Argument(
            metavar="STUDY...",
            help="Directories of studies, or postgresql://HOST/DATABASE#STUDY. Studies that differ "
            "only in their seed form one arm.",
            read=location_of,
            names="studies",
        ),
    ],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="FILE",
            help="Draw the comparison into this file: .html (interactive), .png or .svg.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare studies: growth of the Pareto front, parameter importance, excluded designs."""
    from .command import compare_studies

    compare_studies(folders, out, as_json, new_console())
