"""Studies of kind stack on the command line; ``tables.py`` has what they print."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .command import (
        StackOverrides as StackOverrides,
        report_stack as report_stack,
        resume_stack as resume_stack,
        run_stack as run_stack,
        show_stack as show_stack,
        show_stack_status as show_stack_status,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
