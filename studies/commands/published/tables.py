"""Tables of ``archloom reproduce``: rows, and figures of the paper beside ours."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.text import new_table, plain
from archloom.studies.solve.papers import METRICS, Results, Row, beside

if TYPE_CHECKING:
    from rich.table import Table

_STYLES: Final = {
    "antt": ".2f",
    "worst_slowdown": ".2f",
    "share_percent": ".2f",
    "least_share_percent": ".2f",
}

_HEADS: Final = {
    "npu": "NPU",
    "batch": "batch",
    "layout": "layout",
    "sequence_length": "sequence length",
    "weight_buffer_mib": "weight buffer MiB",
    "scheduler": "scheduler",
}

_TERMS: Final = """\
STP (system throughput) and ANTT (average normalised turnaround time) are those of Eyerman and
Eeckhout (IEEE Micro 28(3), 2008), relative to running each network alone. A gain is relative to
running one network at a time: a gain of 60% is an STP of 1.6. `STP*` is an upper bound for any
schedule. Means, and the smallest and largest values, are over all sets of networks. Utilisation is
the fraction of time in which the array or DRAM is active. `starved` counts the sets in which a
network is not served."""
"""What the columns mean."""


def printed(results: Results) -> "Iterator[Table | str]":
    """Yield what a terminal shows."""
    heads, rows = _rows(results.rows)
    table = new_table(results.table.title, heads, ["NPU", "layout", "scheduler"])
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
    lines += _lines(*_rows(results.rows))
    lines += ["", _TERMS]
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


def _rows(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells; what is the same in all rows is left out, but for NPU and
    scheduler."""
    said = [
        key
        for key in _HEADS
        if key in ("npu", "scheduler") or len({getattr(row, key) for row in rows}) > 1
    ]
    metrics = [key for key in METRICS if any(row.figures.get(key) is not None for row in rows)]
    heads = [*(_HEADS[key] for key in said), *(METRICS[key] for key in metrics)]
    cells = [
        [*(str(getattr(row, key)) for key in said), *(_cell(row, key) for key in metrics)]
        for row in rows
    ]
    return heads, cells


def _cell(row: Row, metric: str) -> str:
    if not row.figures:
        return "infeasible" if metric == "bound_gain_percent" else ""
    value = row.figures.get(metric)
    if value is not None:
        return _text(metric, value)
    return f"{row.starved} starved" if metric in ("antt", "worst_slowdown") else ""


def _text(metric: str, value: float) -> str:
    gain = metric.endswith("gain_percent") or metric == "over_ai_mt_percent"
    # what rounds to nothing is nothing, without a sign
    rounded = round(value, 2) + 0.0
    return format(rounded, _STYLES.get(metric, "+.1f" if gain else ".1f"))


def _published(results: Results) -> tuple[list[str], list[list[str]]]:
    cells = []
    for theirs in results.table.published:
        ours = beside(results.rows, theirs)
        figure = f"{METRICS[theirs.metric]}, {theirs.npu}, batch {theirs.batch}, {theirs.scheduler}"
        cells.append([
            figure,
            _text(theirs.metric, theirs.value),
            "none" if ours is None else _text(theirs.metric, ours),
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
