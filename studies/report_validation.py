"""Designs of the front on held-out networks, in a report."""

from collections.abc import Sequence

from .page import Cell, card, table
from .trial import BASELINE, Record
from .view import StudyView


def held_out_sections(view: StudyView) -> list[str]:
    """Return the section: each network's EDP, energy and latency on each design."""
    names = list(dict.fromkeys(name for r in view.held_out for name in _networks(r)))
    together = list(dict.fromkeys(name for r in view.held_out for name in r["values"]))
    note = (
        f"Software searched with {view.held_out[0]['evaluations']:,} evaluations for each network "
        "and design, after the search was over. All figures but the first are of one network."
    )
    heads = ["trial", *(f"all: {name}" for name in together)]
    for name in names:
        heads += [f"{name}: EDP (J s)", "energy (J)", "latency (s)"]
    picked = None if view.picked is None else view.designs[view.picked].label
    rows = [_row(record, together, names) for record in view.held_out]
    marked = next((i for i, row in enumerate(rows) if row[0] == picked), None)
    return [
        "<h2>Held-out networks</h2>",
        f'<div class="wide">{card("", note, table(heads, rows, marked=marked))}</div>',
    ]


def _networks(record: Record) -> list[str]:
    return [*record["networks"], *record["missing"]]


def _row(record: Record, together: Sequence[str], names: Sequence[str]) -> list[Cell]:
    label = record["hardware"] if record["trial"] == BASELINE else str(record["trial"])
    row: list[Cell] = [label, *(record["values"].get(name) for name in together)]
    for name in names:
        found = record["networks"].get(name)
        if found is None:
            row += [None, None, None]
        else:
            energy = found["energy_pj"] * 1e-12 / found["batch"]
            row += [found["edp_js"], energy, found["latency_s"]]
    return row
