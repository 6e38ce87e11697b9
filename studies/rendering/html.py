"""Pieces of an HTML page: escaped text, tables, cards and plots."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Cell = str | int | float | None

_NUMBER = re.compile(r"-?[\d,.]*(e[-+]?\d+)?")

_STYLE = """
:root { --ink: #1f2933; --soft: #5f6c7b; --line: #dfe4ea; --accent: #c2410c; --back: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
       font: 15px/1.5 Inter, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1480px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { margin: 0; font-size: 28px; line-height: 1.2; }
h2 { margin: 36px 0 12px; font-size: 20px; }
h3 { margin: 0 0 4px; font-size: 15px; }
p { margin: 4px 0 10px; max-width: 120ch; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr));
         gap: 14px; margin: 20px 0; }
.card { background: white; border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px;
        min-width: 0; }
.tile b { display: block; font-size: 22px; line-height: 1.3; font-weight: 600; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; }
.uneven { grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); }
@media (max-width: 1000px) { .pair, .uneven { grid-template-columns: minmax(0, 1fr); } }
.wide { margin-top: 16px; }
.scroll { overflow-x: auto; margin-top: 10px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { padding: 5px 12px 5px 0; text-align: left; border-bottom: 1px solid var(--line);
         vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
                       white-space: nowrap; }
tr.picked td { background: #fff4ec; }
dl { display: grid; grid-template-columns: max-content 1fr max-content 1fr; gap: 4px 18px;
     margin: 0; }
@media (max-width: 1000px) { dl { grid-template-columns: max-content 1fr; } }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin-top: 14px; } summary { cursor: pointer; font-weight: 600; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
"""


def document(title: str, body: str, script: str) -> str:
    """Return a whole page.

    Args:
        title: plain text.
        body: HTML.
        script: JavaScript that the body's plots need.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f"<script>{script}</script>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def number(value: float) -> str:
    """Return a number for people: thousands grouped, four digits."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    if abs(value) < 1e-2 or abs(value) >= 1e15:
        return f"{value:.3e}"
    return f"{value:,.1f}" if abs(value) >= 1e3 else f"{value:.4g}"


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], marked: int | None = None) -> str:
    """Return a table; columns that hold only numbers, or nothing, are aligned right.

    Args:
        heads: labels of the columns, plain text.
        rows: plain text or numbers; None is an empty cell.
        marked: position of the row to emphasise.
    """
    rows = list(rows)
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(heads))]
    head = "".join(_cell("th", text, right) for text, right in zip(heads, numeric, strict=True))
    lines = [
        ("<tr class='picked'>" if i == marked else "<tr>")
        + "".join(_cell("td", value, right) for value, right in zip(row, numeric, strict=True))
        + "</tr>"
        for i, row in enumerate(rows)
    ]
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return labels and values, one pair in a line."""
    lines = "".join(f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>" for label, value in pairs)
    return f"<dl>{lines}</dl>"


def tile(label: str, value: str, note: str = "") -> str:
    """Return a small card with one figure."""
    return (
        f'<div class="card tile"><span class="soft">{escape(label)}</span>'
        f'<b>{escape(value)}</b><span class="soft">{escape(note)}</span></div>'
    )


def card(title: str, note: str, content: str) -> str:
    """Return a card; ``content`` is HTML."""
    head = f"<h3>{escape(title)}</h3>" if title else ""
    text = f'<p class="soft">{escape(note)}</p>' if note else ""
    return f'<div class="card">{head}{text}{content}</div>'


def fold(title: str, content: str) -> str:
    """Return content that opens on a click."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def plot(figure: "Figure", name: str) -> str:
    """Return a plot; ``name`` is unique in the page, so that equal reports are equal files."""
    html: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        default_height=f"{figure.layout.height}px",
        config={"displaylogo": False, "responsive": True},
    )
    return html


def _is_number(value: Cell) -> bool:
    return not isinstance(value, str) or _NUMBER.fullmatch(value) is not None


def _cell(kind: str, value: Cell, right: bool) -> str:
    text = "" if value is None else value if isinstance(value, str) else number(value)
    style = " class='number'" if right else ""
    # a percent sign stays with its number
    return f"<{kind}{style}>{escape(text).replace(' %', '&nbsp;%')}</{kind}>"
