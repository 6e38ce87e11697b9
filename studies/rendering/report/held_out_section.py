"""Section of a report on the held-out networks."""

from collections.abc import Sequence

from archloom.studies.analysis import StudyView
from archloom.studies.storage import HeldOutTrial

from ..html import Cell, card, table


def held_out_sections(view: StudyView) -> list[str]:
    """Return the section: each network's EDP, energy and latency on each design."""
    names = list(
        dict.fromkeys(name for one in view.held_out for name in (*one.networks, *one.missing))
    )
    together = list(dict.fromkeys(name for one in view.held_out for name in one.values))
    note = (
        f"Software searched with {view.held_out[0].evaluations:,} evaluations for each network "
        "and design, after the search was over. All figures but the first are of one network."
    )
    heads = ["trial", *(f"all: {name}" for name in together)]
    for name in names:
        heads += [f"{name}: EDP (J s)", "energy (J)", "latency (s)"]
    picked = None if view.picked is None else view.designs[view.picked].label
    rows = [_row(one, together, names) for one in view.held_out]
    marked = next((i for i, row in enumerate(rows) if row[0] == picked), None)
    return [
        "<h2>Held-out networks</h2>",
        f'<div class="wide">{card("", note, table(heads, rows, marked=marked))}</div>',
    ]


def _row(trial: HeldOutTrial, together: Sequence[str], names: Sequence[str]) -> list[Cell]:
    row: list[Cell] = [trial.label, *(trial.values.get(name) for name in together)]
    for name in names:
        found = trial.networks.get(name)
        if found is None:
            row += [None, None, None]
        else:
            energy = found.energy_pj * 1e-12 / found.batch
            row += [found.edp_js, energy, found.latency_s]
    return row
