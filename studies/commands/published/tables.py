"""Tables of ``archloom reproduce``: rows, and figures of the paper beside ours."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from archloom.studies.rendering.text import new_table, plain
from archloom.studies.solve.papers import PaperRow, Results, beside

if TYPE_CHECKING:
    from rich.table import Table


def printed(results: Results) -> "Iterator[Table | str]":
    """Yield what a terminal shows."""
    heads, rows = _rows(results)
    labels = [item for row in results.rows[:1] for item in row.labels.items()]
    words = [head for head, label in labels if not label.isdigit()]
    table = new_table(results.table.title, heads, words)
    for row in rows:
        table.add_row(*map(plain, row))
    yield table
    if results.table.published:
        heads, rows = _published(results)
        table = new_table("Published figures", heads, ["figure", "source", "remark"])
        for row in rows:
            table.add_row(*map(plain, row))
        yield table
    yield from _notes(results)


def markdown(name: str, results: Results) -> str:
    """Return a table as a page has it."""
    lines = [
        f"# {results.table.title}",
        "",
        f"`archloom reproduce {name}`, {_made(results)}.",
        "",
    ]
    lines += [*_lines(*_rows(results)), "", results.table.terms]
    if results.table.published:
        lines += ["", *_lines(*_published(results))]
    for note in _notes(results):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _made(results: Results) -> str:
    some = "" if results.sets is None else f", {results.sets} of {len(results.table.sets)} sets"
    return f"version {results.version}{some}"


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        "|" + "---|" * len(heads),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells; labels that are the same in all rows are left out where the table
    says so, and figures that no row has."""
    table, rows = results.table, results.rows
    heads = [] if not rows else list(rows[0].labels)
    said = [
        head
        for head in heads
        if head in table.always_shown or len({row.labels[head] for row in rows}) > 1
    ]
    metrics = [key for key in table.shown if any(row.figures.get(key) is not None for row in rows)]
    cells = [
        [*(row.labels[head] for head in said), *(_cell(results, row, key) for key in metrics)]
        for row in rows
    ]
    return [*said, *(table.metrics[key].heading for key in metrics)], cells


def _cell(results: Results, row: PaperRow, metric: str) -> str:
    value = row.figures.get(metric)
    if value is None:
        return row.missing(metric)
    text, spread = _text(results, metric, value), row.spread(metric)
    if spread is None:
        return text
    least, most = (_text(results, metric, one) for one in spread)
    return f"{text} ({least} to {most})"


def _text(results: Results, metric: str, value: float) -> str:
    style = results.table.metrics[metric].style
    # what rounds to nothing is nothing, without a sign; significant digits round by themselves
    return format(value if style.endswith("g") else round(value, 2) + 0.0, style)


def _published(results: Results) -> tuple[list[str], list[list[str]]]:
    cells = []
    for theirs in results.table.published:
        ours = beside(results.rows, theirs)
        cells.append([
            f"{results.table.metrics[theirs.metric].heading}, {theirs.row}",
            _text(results, theirs.metric, theirs.value),
            "none" if ours is None else _text(results, theirs.metric, ours),
            theirs.source,
            theirs.why,
        ])  # fmt: skip
    return ["figure", "paper", "archloom", "source", "remark"], cells


def _notes(results: Results) -> Iterator[str]:
    if results.table.note:
        yield results.table.note.strip()
    reasons = dict.fromkeys(reason for row in results.rows for reason in row.infeasible)
    for reason in reasons:
        yield f"Infeasible: {reason}"
