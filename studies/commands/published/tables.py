"""Tables of ``archloom reproduce`` as texts: rows, and figures of the paper beside ours."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from archloom.studies.engine.progress import duration
from archloom.studies.rendering.text import new_table, plain
from archloom.studies.solve.papers import FULL, Compared, PaperRow, Results, compared

if TYPE_CHECKING:
    from rich.table import Table


def printed(results: Results) -> "Iterator[Table | str]":
    """Yield what a terminal shows."""
    heads, rows = row_cells(results)
    labels = [item for row in results.rows[:1] for item in row.labels.items()]
    words = [head for head, label in labels if not label.isdigit()]
    table = new_table(results.table.title, heads, words)
    for row in rows:
        table.add_row(*map(plain, row))
    yield table
    heads, rows = published_cells(results)
    if rows:
        table = new_table("Published figures", heads, ["figure", "source", "remark"])
        for row in rows:
            table.add_row(*map(plain, row))
        yield table
    yield from notes(results)


def markdown(name: str, results: Results) -> str:
    """Return a table as a page has it."""
    lines = [f"# {results.table.title}", "", f"{made(name, results)}.", ""]
    lines += [*markdown_table(*row_cells(results)), "", results.table.terms]
    heads, rows = published_cells(results)
    if rows:
        lines += ["", *markdown_table(heads, rows)]
    for note in notes(results):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def made(name: str, results: Results) -> str:
    """Return what made the results: the command, version, day, machine and CPU time."""
    table = name.removesuffix(f".{results.budget}")
    small = "" if results.budget == FULL else f" --budget {results.budget}"
    parts = [f"`archloom reproduce {table}{small}`", f"version {results.version}"]
    if results.sets is not None:
        parts.append(f"{results.sets} of {len(results.table.sets)} sets")
    if (seeds := results.table.seed_count) > 1:
        parts.append(f"{seeds} seeds")
    if (one := results.measurement) is not None:
        parts += [
            f"measured on {one.date} with {one.cores} cores",
            f"{duration(one.cpu_s)} of CPU time (plain Python adds a million squares in "
            f"{one.python_s:.2f} CPU-s)",
        ]
    return ", ".join(parts)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [
        f"| {' | '.join(heads)} |",
        "|" + "---|" * len(heads),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def row_cells(results: Results) -> tuple[list[str], list[list[str]]]:
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


def published_cells(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of published figures."""
    cells = [
        [figure_name(results, one), *figure_cells(results, one), one.theirs.source, one.theirs.why]
        for one in compared(results)
    ]
    return ["figure", "paper", "archloom", "ratio", "source", "remark"], cells


def figure_name(results: Results, one: Compared) -> str:
    """Return what a figure is, and of which row."""
    return f"{results.table.metrics[one.theirs.metric].heading}, {one.theirs.row}"


def figure_cells(results: Results, one: Compared) -> tuple[str, str, str]:
    """Return a published figure, ours, and the ratio of ours to it."""
    return (
        _text(results, one.theirs.metric, one.theirs.value),
        "none" if one.ours is None else _text(results, one.theirs.metric, one.ours),
        "" if one.ratio is None else f"{round(one.ratio, 2) + 0.0:.2f}",
    )


def notes(results: Results) -> Iterator[str]:
    """Yield what a reader must know."""
    if results.budget != FULL:
        yield (
            f"Budget {results.budget}: fewer networks, seeds or evaluations than at budget full, "
            "which alone changes the figures; compare those of budget full with the paper."
        )
        absent = len(results.table.published) - len(compared(results))
        if absent:
            yield f"Published figures without a comparison at this budget: {absent}."
    if results.table.note:
        yield results.table.note.strip()
    reasons = dict.fromkeys(reason for row in results.rows for reason in row.infeasible)
    for reason in reasons:
        yield f"{results.table.unable}: {reason}"
