"""The command line of ``archloom compile``."""

from typing import Annotated, Final

from archloom.studies.commands.options import Exit, Option
from archloom.studies.rendering.text import new_console

COMPILE_EXAMPLES: Final = ("archloom compile", "archloom compile --workers 8 --weaving")


def compile_(
    workers: Annotated[
        int | None,
        Option(
            "--workers",
            least=1,
            help="Number of kernels compiled in parallel (default: all cores).",
        ),
    ] = None,
    weaving: Annotated[
        bool,
        Option(
            "--weaving",
            help="Also compile the kernels that schedule several networks on one accelerator: for "
            "studies with tenants, and for archloom weave, serve and reproduce.",
        ),
    ] = False,
) -> None:
    """Compile the cost model's kernels ahead of the first study, for container images and clusters.

    Compiled kernels are cached on disk. A study compiles those that are missing when it starts.
    """
    from .kernels import compile_kernels

    raise Exit(compile_kernels(new_console(), workers, weaving))
