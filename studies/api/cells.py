"""Short texts and small tables for notebooks; every text that is not ours is escaped.

A notebook brings its own style, so tables here have none.
"""

from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from typing import Final

from archloom.studies.rendering import Cell, table
from archloom.studies.rendering.text import gap_text

#: rows of a table in a notebook
MOST_ROWS: Final = 12


def cell(title: str, notes: Iterable[str], *parts: str) -> str:
    """Return what a notebook shows.

    Args:
        title, notes: plain text.
        parts: HTML.
    """
    lines = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<div><strong>{escape(title)}</strong>{lines}{''.join(parts)}</div>"


def short_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], what: str) -> str:
    """Return a table of the first rows, and how many ``what`` there are besides."""
    shown, more = rows[:MOST_ROWS], len(rows) - MOST_ROWS
    rest = f"<div>and {more} more {escape(what)}</div>" if more > 0 else ""
    return table(heads, shown) + rest


def preformatted(lines: Iterable[str]) -> str:
    """Return lines in a type of equal widths."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def gap(gap_percent: float) -> str:
    """Say how far above the least something may be; an infinite gap says nothing."""
    text = gap_text(gap_percent if isfinite(gap_percent) else None)
    return text if text in ("proven", "not proven") else f"gap {text}"


def percent_or_inf(gap_percent: float | None) -> float:
    """Return a gap of a JSON record, which has None where nothing is known."""
    return float("inf") if gap_percent is None else gap_percent
