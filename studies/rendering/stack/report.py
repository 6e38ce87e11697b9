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
        '<p class="soft">Model, compression, algorithm, code: accuracy, time and size.</p>',
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
        tile("Compressions", str(len(record.compressions)), ", ".join(record.compressions)),
        tile(
            "Combinations",
            f"{timed} timed",
            f"of {len(record.points)}: {refused} refused, {missing} without a kernel",
        ),
        tile("Front", f"{len(record.front)} points", "of accuracy, time and size"),
    ]
    facts = definitions(tables.machine_facts(record.machine, results))
    settings = definitions(tables.study_facts(record.study))
    cards = card("The machine", "", facts) + card("The study", "", settings)
    return [
        f'<div class="tiles">{"".join(tiles)}</div>',
        f'<div class="pair">{cards}</div>',
    ]


def _chapter(title: str, *cards: str) -> list[str]:
    """Return a heading with cards below one another."""
    return [f"<h2>{title}</h2>", *(f'<div class="wide">{one}</div>' for one in cards)]


def _accuracy(record: StackRecord) -> list[str]:
    curves = card(
        "Accuracy against compression",
        "Means over seeds, bars are one standard deviation. Ringed: the elbow, the most compressed "
        "level before accuracy falls by more than a point (or by what dense models differ).",
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
        "One image through the whole network. Hollow untuned, filled tuned; bars are quartiles. "
        "What was refused has no mark, and stands below with its reason."
    )
    lists = fold("All times", tables.all_times(record)) + tables.refusals(record)
    return [
        "<h2>Time by algorithm, before and after tuning</h2>",
        f"<p>{escape(note)}</p>",
        f'<div class="pair">{"".join(cards)}</div>',
        f'<div class="wide">{card("", "", lists)}</div>',
    ]


def _gains(record: StackRecord) -> list[str]:
    note = (
        "Each compressed model over its dense one, both by their fastest algorithm of direct, GEMM "
        "and spatial pack. Expected: by MACs left where something is pruned, 2 for float16, 4 for "
        "int8. Bars are the interval of noise."
    )
    drawn = card("Achieved against expected", note, plot(plots.gains(record), "gains"))
    listed = card("", "", fold("All speed-ups", tables.all_gains(record)))
    return _chapter("Expected and achieved speed-up", drawn, listed)


def _front(record: StackRecord) -> list[str]:
    note = (
        "No other point is better in one of accuracy, time and bytes stored, and as good in all, "
        "by means and medians: differences within the noise count too."
    )
    drawn = card("Accuracy, time, size", note, plot(plots.front(record), "front"))
    members = card("", "", fold("Points of the front", tables.front_members(record)))
    return _chapter("Front", drawn, members)
