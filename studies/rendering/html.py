"""Pages that work offline: the template engine, and pieces of pages that several commands write.

Templates, style and scripts are files in ``pages/``. Every value that a template shows is escaped;
what :func:`document` and :func:`card` are given as HTML is not.
"""

import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure

Cell = str | int | float | None

_PAGES: Final = Path(__file__).with_name("pages")

_NUMBER = re.compile(r"-?[\d,.]*(e[-+]?\d+)?( %)?")


def render(template: str, **values: Any) -> str:
    """Return a template of ``pages/`` with values."""
    return _environment().get_template(template).render(values)


def document(title: str, body: str) -> str:
    """Return a whole page, with what draws its plots.

    Args:
        title: plain text.
        body: HTML.
    """
    return render("document.html.j2", title=title, body=body, plotly=packed_plotly())


def packed(data: bytes) -> str:
    """Return bytes as a page carries them: compressed, in letters (``pages/unpack.js``)."""
    return b64encode(zlib.compress(data, 9)).decode()


@cache
def packed_plotly() -> str:
    """Return plotly's script, packed: 1.9 of its 4.8 MB."""
    from plotly.offline import get_plotlyjs

    return packed(get_plotlyjs().encode())


def number(value: float) -> str:
    """Return a number for people: thousands grouped, four digits."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    if abs(value) < 1e-2 or abs(value) >= 1e15:
        return f"{value:.3e}"
    return f"{value:,.1f}" if abs(value) >= 1e3 else f"{value:.4g}"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    marked: int | None = None,
    *,
    labels: Sequence[str] = (),
    help: dict[str, str] | None = None,  # noqa: A002
) -> str:
    """Return a table; columns that hold only numbers, or nothing, are aligned right.

    The page's script sorts it by a click on a head, and writes it as CSV.

    Args:
        heads: labels of the columns, plain text.
        rows: plain text or numbers; None is an empty cell.
        marked: position of the row to emphasise.
        labels: the design of each row, which a click selects in the plots.
        help: what columns mean, by head.
    """
    rows = list(rows)
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(heads))]
    said = help or {}
    return _piece(
        "table",
        heads=[
            (head, right, said.get(head, "")) for head, right in zip(heads, numeric, strict=True)
        ],
        rows=[
            [(_text(value), value, right) for value, right in zip(row, numeric, strict=True)]
            for row in rows
        ],
        marked=marked,
        labels=list(labels),
    )


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return labels and values, one pair in a line."""
    return _piece("definitions", pairs=list(pairs))


def tile(label: str, value: str, note: str = "") -> str:
    """Return a small card with one figure."""
    return _piece("tile", label=label, value=value, note=note)


def card(title: str, note: str, content: str) -> str:
    """Return a card; ``content`` is HTML."""
    return _piece("card", title=title, note=note, content=content)


def fold(title: str, content: str) -> str:
    """Return content that opens on a click; ``content`` is HTML."""
    return _piece("fold", title=title, content=content)


def plot(figure: "Figure", name: str) -> str:
    """Return a plot; ``name`` is unique in the page, so that equal reports are equal files."""
    data = packed(figure_json(figure).encode())
    return _piece("plot", name=name, height=figure.layout.height, data=data)


def figure_json(figure: "Figure") -> str:
    """Return a figure as JSON, in the same order in every process."""
    text: str = figure.to_json(engine="json")
    return text


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["number"] = _text
    return made


def _piece(macro: str, /, **values: Any) -> str:
    """Return what a macro of ``pieces.html.j2`` makes of values."""
    return str(getattr(_environment().get_template("pieces.html.j2").module, macro)(**values))


def _is_number(value: Cell) -> bool:
    return not isinstance(value, str) or _NUMBER.fullmatch(value) is not None


def _text(value: Cell) -> str:
    """Return a cell for people; a percent sign stays with its number."""
    if value is None:
        return ""
    return (value if isinstance(value, str) else number(value)).replace(" %", "\N{NO-BREAK SPACE}%")
