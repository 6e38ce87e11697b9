"""Writes the tables of ``docs/validation/stack.md`` from the results of a study that it keeps.

``python -m docs.draw_stack`` makes the page's tables from ``docs/validation/stack_digits.json.gz``,
and a test fails where they differ. ``python -m docs.draw_stack RESULTS.json`` first keeps other
results: without the rows of single layers, which no verdict needs.
"""

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from archloom.studies.analysis.stack import Point, StackRecord, is_elbow, judge, read_record
from archloom.studies.rendering.stack import verdict_rows

from .made_parts import with_parts

FOLDER = Path(__file__).parent / "validation"
PAGE, KEPT = FOLDER / "stack.md", FOLDER / "stack_digits.json.gz"


def keep(results: Mapping[str, Any]) -> None:
    """Keep the results, small and always the same bytes."""
    points = [{k: v for k, v in p.items() if k != "blocks_us"} for p in results["points"]]
    kept = {**results, "points": points, "layers": []}
    text = json.dumps(kept, separators=(",", ":"))
    KEPT.write_bytes(gzip.compress(text.encode(), mtime=0))


def kept() -> dict[str, Any]:
    """Return the results that the page is about."""
    found: dict[str, Any] = json.loads(gzip.decompress(KEPT.read_bytes()))
    return found


def page(text: str, results: Mapping[str, Any]) -> str:
    """Return the page with its tables made again."""
    record = read_record(results)
    heads = ["", "observation of the paper", "evidence in the paper", "verdict", "evidence here"]
    tables = {
        "verdicts": markdown(heads, broken(verdict_rows(judge(results)))),
        "models": markdown(
            ["model", "compression", "accuracy %", "kB", "M MACs", "untuned us", "tuned us"],
            model_rows(record),
        ),
    }
    return with_parts(text, tables)


def markdown(heads: Sequence[str], rows: Iterator[list[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def broken(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows whose last cell, a list of findings, has a line for each."""
    for row in rows:
        yield [*row[:-1], row[-1].replace("; ", ";<br>")]


def model_rows(record: StackRecord) -> Iterator[list[str]]:
    """Yield what a compressed model keeps, and its fastest times."""
    for point in record.compressed():
        mark = " (elbow)" if is_elbow(record, point) else ""
        accuracy = point.accuracy_percent
        points = record.of(point.model, point.compression)
        yield [
            f"`{point.model}`",
            f"{point.compression}{mark}",
            "" if accuracy is None else f"{accuracy:.2f}",
            f"{point.stored_bytes / 1e3:,.1f}",
            f"{point.nonzero_macs / 1e6:.3f}",
            *(least(points, tuned) for tuned in (False, True)),
        ]


def least(points: Sequence[Point], tuned: bool) -> str:
    """Return the least time with its algorithm, and how many were refused."""
    there = [point for point in points if point.tuned == tuned and point.exists]
    timed = [(point.time_us, point.algorithm) for point in there if point.time_us is not None]
    refused = len(there) - len(timed)
    note = f", {refused} refused" if refused else ""
    if not timed:
        return f"none{note}"
    time, algorithm = min(timed)
    return f"{time:,.0f} {algorithm}{note}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(json.loads(Path(sys.argv[1]).read_text()))
    PAGE.write_text(page(PAGE.read_text(), kept()))
