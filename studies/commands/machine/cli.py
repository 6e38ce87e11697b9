"""The command line of ``archloom compile``."""

from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ..options import Exit, Option

COMPILE_EXAMPLE: Final = "Example: archloom compile --workers 8"


def compile_(
    workers: Annotated[
        int | None,
        Option("--workers", least=1, help="Kernels at a time; all cores if nobody says."),
    ] = None,
    weaving: Annotated[
        bool,
        Option(
            "--weaving",
            help="Those of networks that share a chip too: studies with tenants, archloom weave, "
            "serve and reproduce.",
        ),
    ] = False,
) -> None:
    """Compile the kernels of studies ahead, for images and clusters; once on each machine."""
    from .kernels import compile_kernels

    raise Exit(compile_kernels(new_console(), workers, weaving))
