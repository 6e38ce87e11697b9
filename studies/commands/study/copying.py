"""``archloom copy``: a study from one place to another."""

from typing import TYPE_CHECKING, Annotated, Final

from archloom.studies.commands.options import Argument
from archloom.studies.config import Location, location_of
from archloom.studies.rendering.text import new_console, print_line

if TYPE_CHECKING:
    from rich.console import Console

COPY_EXAMPLES: Final = (
    "archloom copy runs/quickstart postgresql://me@host/studies",
    "archloom copy postgresql://me@host/studies#quickstart runs/mine",
    "archloom copy runs/a runs/b",
)


def copy(
    source: Annotated[
        Location,
        Argument(
            "FROM",
            "Directory of the study, or postgresql://HOST/DATABASE#STUDY.",
            location_of,
            "studies",
        ),
    ],
    target: Annotated[
        str,
        Argument(
            "TO",
            "New directory, or postgresql://HOST/DATABASE[#STUDY]. Nothing may exist there yet.",
        ),
    ],
) -> None:
    """Copy a study between directories and databases, and verify the copy.

    The study may be running. A copy can be resumed like the original, with the same result.
    """
    copy_study(source, target, new_console())


def copy_study(source: Location, target: str, console: "Console") -> None:
    """Copy a study, and say what was copied.

    Raises:
        UserError: there is no such study, or there is something at the target.
        TroubleError: something cannot be written.
    """
    from archloom.studies.engine.progress import ProgressView
    from archloom.studies.storage import copy_study as make_copy

    to = location_of(target, source.name)
    with ProgressView(console) as view:
        view.begin(f"copying {source}")
        copied = make_copy(source, to)
        view.end()
    print_line(
        f"copied {source} to {to}: {copied.events} events, {copied.trials} trials, verified",
        console,
    )
