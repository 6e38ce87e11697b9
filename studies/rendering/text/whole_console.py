"""Console that loses nothing of a table: what is too wide is folded, or printed in parts.

rich cuts what does not fit a terminal, down to columns of no width. Here a table whose columns do
not fit side by side becomes several, each with the columns of the whole one that name its rows.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any, Final

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

from .fitting_table import FittingTable

#: letters that a column of texts has at least, if its longest has as many
_READABLE: Final = 24

#: share of the width that several columns may take which name the rows of each part
_NAMES: Final = 0.75

#: of a column's width, what is not its texts: a border and a blank on both sides
_BESIDE: Final = 3


class WholeConsole(Console):
    """A console that prints tables whole."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print as rich does; tables as wide as they may be, in parts if need be."""
        if any(isinstance(one, Table) for one in objects):
            for one in objects:
                for part in self._parts(one):
                    super().print(part, **settings)
        else:
            super().print(*objects, **settings)

    def _parts(self, one: Any) -> list[Any]:
        # to ask rich of each cell how wide it is takes as long as to draw the table
        if not isinstance(one, Table) or (isinstance(one, FittingTable) and one.fits(self.width)):
            return [one]
        return [*parts_of(one, self)]


def parts_of(table: Table, console: Console) -> list[Table]:
    """Return tables that fit the console and have all cells of a table that may not.

    Args:
        table: with at least a column; it is left as it is.
        console: where they are to be printed.
    """
    widths = [_needed(column, console) for column in table.columns]
    groups = list(_groups(widths, console.width - 1, _named_by(table, widths, console.width)))
    parts = [_part(table, group, console) for group in groups]
    for part in parts[1:]:
        part.title = ""
    for part in parts[:-1]:
        part.caption = ""
    return parts


def _needed(column: Column, console: Console) -> int:
    """Return the letters that a column needs, with its borders."""
    wide = console.options.update(max_width=1 << 16)
    found = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    most = max((one.maximum for one in found), default=0)
    least = max((one.minimum for one in found), default=0)
    return (most if column.no_wrap else min(most, max(least, _READABLE))) + _BESIDE


def _named_by(table: Table, widths: list[int], most: int) -> int:
    """Return how many columns tell the rows apart: one, if that takes too much of the width."""
    rows = list(
        zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
    )
    for n in range(1, len(widths)):
        if n > 1 and sum(widths[:n]) > most * _NAMES:
            break
        if all(row[n - 1] for row in rows) and len({row[:n] for row in rows}) == len(rows):
            return n
    return min(1, len(widths))


def _groups(widths: list[int], most: int, keys: int) -> Iterator[list[int]]:
    """Yield the columns of each part: those that name rows, and as many of the others as fit."""
    key = min(widths[0], most // 2) if keys == 1 else sum(widths[:keys])
    group, used = [*range(keys)], key
    for i, width in enumerate(widths[keys:], keys):
        if used + width > most and len(group) > keys:
            yield group
            group, used = [*range(keys)], key
        group.append(i)
        used += width
    yield group


def _part(table: Table, group: list[int], console: Console) -> Table:
    """Return the part of a table that has some of its columns."""
    part = copy(table)
    part.columns = []
    for place, i in enumerate(group):
        column = copy(table.columns[i])
        column._index = place
        # texts without blanks break anywhere rather than end in dots
        column.overflow = "fold"
        part.columns.append(column)
    if sum(_needed(column, console) for column in part.columns) >= console.width:
        # even one column beside the first is too wide: its texts break
        for column in part.columns:
            column.no_wrap = False
    return part
