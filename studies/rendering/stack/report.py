"""One self-contained HTML file about a study across the stack: no network, no server."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from archloom.studies.analysis.stack import StackRecord, read_record
from archloom.studies.storage import write_whole

from ...errors import writing
from ..html import card, definitions, document, fold, plot, tile
from . import plots, tables
from .verdicts import verdict_sections


def write_stack_report(results: Mapping[str, Any], path: Path) -> None:
    """Write the page of a study.

    Args:
        results: its ``results.json``.
        path: of the HTML file; its folder is there.

    Raises:
        UserError: the file cannot be written.
    """
    with writing(path):
        write_whole(path, render(results))


def render(results: Mapping[str, Any]) -> str:
    """Return the page of a study."""
    record = read_record(results)
    sections = [
        f"<h1>{escape(record.name)}</h1>",
        '<p class="soft">Accuracy, time and size of combinations of model, compression, '
        "convolution algorithm and kernel schedule.</p>",
        *_overview(record, results),
        *_accuracy(record),
        *_times(record),
        *_gains(record),
        *_front(record),
        *verdict_sections(results),
    ]
    return document(f"{record.name} - Archloom", "\n".join(sections))


def _overview(record: StackRecord, results: Mapping[str, Any]) -> list[str]:
    timed = sum(point.time_us is not None for point in record.points)
    missing = sum(not point.exists for point in record.points)
    refused = len(record.points) - timed - missing
    tiles = [
        tile("Models", str(len(record.models)), ", ".join(record.models)),
        tile("Compression methods", str(len(record.compressions)), ", ".join(record.compressions)),
        tile(
            "Combinations",
            f"{timed} timed",
            f"of {len(record.points)}; {refused} measurements refused, {missing} without a kernel",
        ),
        tile("Pareto front", f"{len(record.front)} points", "in accuracy, time and size"),
    ]
    facts = definitions(tables.machine_facts(record.machine, results))
    settings = definitions(tables.study_facts(record.study))
    cards = card("Machine", "", facts) + card("Study settings", "", settings)
    return [
        f'<div class="tiles">{"".join(tiles)}</div>',
        f'<div class="pair">{cards}</div>',
    ]


def _chapter(title: str, *cards: str) -> list[str]:
    """Return a heading with cards below one another."""
    return [f"<h2>{title}</h2>", *(f'<div class="wide">{one}</div>' for one in cards)]


def _accuracy(record: StackRecord) -> list[str]:
    curves = card(
        "Accuracy over compression",
        "Means over the seeds; error bars are one standard deviation. Ringed: the elbow, which is "
        "the most compressed level before accuracy drops by more than one percentage point (or by "
        "more than the standard deviation of the dense model, if that is larger).",
        plot(plots.accuracy_curves(record), "accuracy"),
    )
    listed = card("", "", fold("All compressed models", tables.compressed_models(record)))
    return _chapter("Accuracy", curves, listed)


def _times(record: StackRecord) -> list[str]:
    cards = [
        card(model, "", plot(plots.times(record, model), f"times-{number}"))
        for number, model in enumerate(record.models)
    ]
    note = (
        "Time of the whole network for one image. Hollow markers: untuned; filled markers: tuned; "
        "error bars: quartiles. Refused measurements have no marker and are listed below."
    )
    lists = fold("All times", tables.all_times(record)) + tables.refusals(record)
    return [
        "<h2>Time by convolution algorithm, before and after tuning</h2>",
        f"<p>{escape(note)}</p>",
        f'<div class="pair">{"".join(cards)}</div>',
        f'<div class="wide">{card("", "", lists)}</div>',
    ]


def _gains(record: StackRecord) -> list[str]:
    note = (
        "Speed-up of each compressed model over its dense model, both with their fastest algorithm "
        "of direct, GEMM and spatial pack. Expected speed-up: ratio of MACs for pruned models, 2 "
        "for float16, 4 for int8. Error bars: range due to measurement noise."
    )
    drawn = card("Achieved over expected speed-up", note, plot(plots.gains(record), "gains"))
    listed = card("", "", fold("All speed-ups", tables.all_gains(record)))
    return _chapter("Expected and achieved speed-up", drawn, listed)


def _front(record: StackRecord) -> list[str]:
    note = (
        "Points that no other point dominates in accuracy, time and stored size. Mean accuracy and "
        "median time are compared; differences within the measurement noise count as well."
    )
    drawn = card("Accuracy, time and size", note, plot(plots.front(record), "front"))
    members = card("", "", fold("Points of the front", tables.front_members(record)))
    return _chapter("Pareto front", drawn, members)
