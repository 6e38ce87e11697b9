"""Where commands print to."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def new_console() -> "Console":
    """Return a console; a pipe has no width, and tables are not squeezed into 80 columns there."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160)
