"""Tables whose numbers stay whole, however narrow the terminal is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def new_table(title: str, columns: Sequence[str], texts: Sequence[str]) -> "Table":
    """Return an empty table.

    Args:
        title: shown as it is; brackets are no markup.
        columns: headings.
        texts: headings of columns that hold texts; numbers stand to the right.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    head = Text(title, style="bold")
    table = Table(
        title=head,
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for name in columns:
        table.add_column(name, justify="left" if name in texts else "right", no_wrap=True)
    return table


def plain(text: str) -> str:
    """Return a user's text so that its brackets are no markup."""
    from rich.markup import escape

    return escape(text)


def print_whole(table: "Table", console: "Console") -> None:
    """Print a table in its own width; the terminal folds its lines rather than we its numbers."""
    from rich.measure import Measurement

    wide = console.options.update(max_width=1 << 16)
    before = console.width
    console.width = max(before, Measurement.get(console, wide, table).maximum)
    console.print(table)
    console.width = before


def print_line(text: str, console: "Console") -> None:
    """Print a line of ours: no markup, no colours, folded between words."""
    console.print(text, markup=False, highlight=False)
