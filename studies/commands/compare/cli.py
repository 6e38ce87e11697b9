"""The command line of ``archloom compare``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.config import Location, location_of
from archloom.studies.rendering.text import new_console

from ..options import Argument, AsJson, Option

COMPARE_EXAMPLES: Final = (
    "Example: archloom compare runs/mobo-* runs/random-* --out compared.html; "
    "archloom compare runs/first runs/second --json"
)


def compare(
    folders: Annotated[
        list[Location],
        Argument(
            metavar="STUDY...",
            help="Studies. Those that differ in the seed alone are one arm.",
            read=location_of,
            names="studies",
        ),
    ],
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="Draw it: .html (interactive), .png or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare studies: whose front grew how fast, which parameters decide, what is excluded."""
    from .command import compare_studies

    compare_studies(folders, out, as_json, new_console())
