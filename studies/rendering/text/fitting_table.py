"""Tables that are drawn at once where they fit: rich asks of each cell how it could break.

A trial of two networks has a thousand cells, which rich draws in a tenth of a CPU-second.
"""

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.table import Table


class FittingTable(Table):
    """A table with a title, of texts in columns to the left or right; it looks as rich's own."""

    def __init__(self, title: str) -> None:
        super().__init__(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """Draw it; rich does where a line has to break, or a text is more than its letters."""
        lines = self._lines(options.max_width)
        if lines is None or options.ascii_only or options.legacy_windows:
            yield from super().__rich_console__(console, options)
        else:
            yield from lines

    def fits(self, most: int) -> bool:
        """Whether it is drawn at once in so many columns of a terminal."""
        title, cells = self._texts()
        total = _total(cells)
        texts = [*title, *(cell for column in cells for cell in column)]
        return max(total, *map(len, title)) == total <= most and all(map(_is_plain, texts))

    def _texts(self) -> tuple[list[str], list[list[str]]]:
        """Return the lines of the title, and the cells of each column."""
        cells = [[str(column.header), *map(str, column.cells)] for column in self.columns]
        return str(self.title).split("\n"), cells

    def _lines(self, most: int) -> list[Segment] | None:
        if not self.fits(most):
            return None
        title, cells = self._texts()
        widths, total = _widths(cells), _total(cells)
        bold = Style(bold=True)
        aligned = [
            [
                cell.rjust(width) if column.justify == "right" else cell.ljust(width)
                for cell in given
            ]
            for column, given, width in zip(self.columns, cells, widths, strict=True)
        ]
        heads, *rows = zip(*aligned, strict=True)
        empty = [Segment(" " * total), Segment.line()]
        found = [
            one for line in title for one in (Segment(line.ljust(total), bold), Segment.line())
        ]
        found += [*empty, Segment(" ")]
        for head in heads:
            found += [Segment(f" {head} ", bold), Segment(" ")]
        found += [Segment.line(), Segment(f" {'─' * (total - 2)} "), Segment.line()]
        for row, kept in zip(rows, self.rows, strict=True):
            found += [Segment("  " + "   ".join(row) + "  "), Segment.line()]
            found += empty if kept.end_section else []
        return found if self.rows and self.rows[-1].end_section else found + empty


def _widths(cells: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in cells]


def _total(cells: list[list[str]]) -> int:
    """Return the columns of a terminal that cells take with what is between them."""
    return sum(_widths(cells)) + 3 * len(cells) + 1


def _is_plain(text: str) -> bool:
    """Whether a text is printed as it is: a letter a column, no markup, no emoji by name."""
    return text.isascii() and text.isprintable() and "[" not in text and text.count(":") < 2
