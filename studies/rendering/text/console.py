"""Consoles, tables and lines that all commands print with."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from archloom.studies.analysis import Details


def new_console(stderr: bool = False) -> "Console":
    """Return a console; a pipe has no width, and tables are not squeezed into 80 columns there."""
    from .whole_console import WholeConsole

    stream = sys.stderr if stderr else sys.stdout
    return WholeConsole(width=None if stream.isatty() else 160, stderr=stderr)


def known(name: str, option: str, names: Sequence[str]) -> None:
    """Raise UserError if an option has none of the values that it may have."""
    if name not in names:
        from archloom.space import did_you_mean

        hint = did_you_mean(name, names)
        valid = "" if hint.startswith("known") else f"; known: {', '.join(names)}"
        raise UserError(f"{option} {name!r} is not known; {hint}{valid}")


def fit_rows(fit: "Details") -> "Table":
    """Return the errors of the SRAM fit as a table."""
    rows = plain_table("SRAM fit, left-out CACTI runs: relative error (median, 90%, worst)")
    for head in ("left out", "read energy", "write energy", "leakage", "area"):
        rows.add_column(head)
    for axis, errors in fit.items():
        shares = (", ".join(f"{share:.0%}" for share in e.values()) for e in errors.values())
        rows.add_row(f"one {axis}", *shares)
    return rows


def source_rows(title: str, sources: Sequence[tuple[str, str]]) -> "Table":
    """Return names with the source of each."""
    rows = plain_table(title)
    rows.add_column("entry", no_wrap=True)
    rows.add_column("source", overflow="fold")
    for name, source in sources:
        rows.add_row(name, source)
    return rows


def plain_table(title: str) -> "Table":
    """Return an empty table in the style of the product."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(title=f"\n{title}", title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def print_json(data: Any, console: "Console") -> None:
    """Print JSON that nothing wraps or colours."""
    import json

    text = json.dumps(data, indent=2, allow_nan=False)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


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
    """Print a table in its own width where no terminal would fold its lines."""
    from rich.measure import Measurement

    if console.is_terminal:
        console.print(table)
        return
    wide = console.options.update(max_width=1 << 16)
    before = console.width
    console.width = max(before, Measurement.get(console, wide, table).maximum)
    console.print(table)
    console.width = before


def print_line(text: str, console: "Console") -> None:
    """Print a line of ours: no markup, no colours, folded between words."""
    console.print(text, markup=False, highlight=False)


class LiveLine:
    """A bar and a text on a terminal, gone at the end, and nothing elsewhere; a context manager.

    Args:
        total: where the bar is full.
        console: where to.
        bar: width of the bar.
        counted: whether what is done stands beside the bar as a number.
    """

    def __init__(self, total: int, console: "Console", bar: int, counted: bool = False) -> None:
        self._console = console
        self._total, self._bar, self._counted = total, bar, counted
        self._live: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            count = [MofNCompleteColumn()] if self._counted else []
            columns = (BarColumn(self._bar), *count, TextColumn("{task.description}"))
            self._live = Progress(*columns, console=self._console, transient=True)
            self._live.start()
            self._task = self._live.add_task("", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(
        self, text: str | None = None, completed: int | None = None, advance: int | None = None
    ) -> None:
        """Change the text, or how much is done."""
        if self._live and self._task is not None:
            self._live.update(self._task, description=text, completed=completed, advance=advance)
