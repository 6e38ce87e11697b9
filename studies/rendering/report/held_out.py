"""Table of how designs do on networks that the search never saw."""

from collections.abc import Sequence

from archloom.studies.analysis import StudyView
from archloom.studies.storage import HeldOutTrial

from ..html import Cell, table


def held_out_table(view: StudyView) -> str:
    """Return each held-out network's EDP, energy and latency on each design, as HTML."""
    names = list(
        dict.fromkeys(name for one in view.held_out for name in (*one.networks, *one.missing))
    )
    together = list(dict.fromkeys(name for one in view.held_out for name in one.values))
    heads = ["trial", *(f"all: {name}" for name in together)]
    for name in names:
        heads += [f"{name}: EDP (J s)", "energy (J)", "latency (s)"]
    picked = None if view.picked is None else view.designs[view.picked].label
    rows = [_row(one, together, names) for one in view.held_out]
    marked = next((i for i, row in enumerate(rows) if row[0] == picked), None)
    return table(heads, rows, marked=marked, labels=[one.label for one in view.held_out])


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
