"""Trials as a table: one row a trial, whatever became of it, and units in names of columns."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from archloom.studies.config import Location, stored_objective_set
from archloom.studies.storage import Trial, read_header, read_trials

from .front import front_of


@dataclass(frozen=True, slots=True)
class TrialTable:
    """Rows of trials, in order of their numbers unless they came in another one. Each outcome of a
    trial has a row, with a column that says which one, if any trial has several.

    Attributes:
        columns: their names: figures first, then what is known of each network, then parameters.
        rows: values by column; what a trial does not have is missing.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


def trial_table(trials: Sequence[Trial], on_front: Collection[str] | None = None) -> TrialTable:
    """Return trials as a table.

    Args:
        trials: to be rows.
        on_front: labels of those on the front, for a column that says so; None for no such column.
    """
    outcomes = [one for trial in trials for one in trial.outcomes]
    several = any(one.outcome for one in outcomes)
    rows = tuple(_row(one, on_front, several) for one in outcomes)
    first = [
        "trial",
        *(["outcome"] if several else []),
        "state",
        *([] if on_front is None else ["on_front"]),
    ]
    first += ["edp_js", "area_mm2", "tdp_w"]
    heads = dict.fromkeys([*first, *(name for head, _, _ in rows for name in head)])
    networks = dict.fromkeys(name for _, found, _ in rows for name in found)
    parameters = dict.fromkeys(name for _, _, point in rows for name in point)
    taken = {*heads, *networks}
    renamed = {name: f"{name} (parameter)" if name in taken else name for name in parameters}
    whole = tuple(
        head | found | {renamed[name]: value for name, value in point.items()}
        for head, found, point in rows
    )
    return TrialTable((*heads, *networks, *renamed.values()), whole)


def read_trial_table(location: Location) -> TrialTable:
    """Return all finished trials of a study as a table.

    Raises:
        UserError: there is no study, or it is damaged.
    """
    objective_set = stored_objective_set(read_header(location).config)
    trials = read_trials(location)
    return trial_table(trials, {trial.label for trial in front_of(trials, objective_set)})


_Row = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def _row(trial: Trial, on_front: Collection[str] | None, several: bool) -> _Row:
    """Return figures, what is known of each network, and parameters of a trial."""
    crash, reason = trial.crash, trial.reason
    why = f"{crash.error}: {crash.message}" if crash else str(reason or "")
    head: dict[str, Any] = {"trial": trial.number, "state": trial.state}
    if several:
        head["outcome"] = trial.outcome
    if on_front is not None:
        head["on_front"] = trial.label in on_front
    head |= {"edp_js": trial.edp_js, "area_mm2": trial.area_mm2, "tdp_w": trial.tdp_w}
    head |= {name: value for name, value in trial.values.items() if name not in head}
    head |= {"evaluations": trial.evaluations, "rounds": trial.rounds, "batch": trial.batch}
    head |= {"effort": trial.effort} if trial.effort > 1 else {}
    head |= {"plan_gap_percent": trial.plan_gap_percent, "hardware": trial.hardware, "why": why}
    return head, dict(_network_figures(trial)), dict(trial.point or {})


def _network_figures(trial: Trial) -> Iterator[tuple[str, float]]:
    """Yield the figures of a pass of each network, and of how many inferences it is."""
    for name, found in trial.networks.items():
        yield f"edp_js({name})", found.edp_js
        yield f"energy_pj({name})", found.energy_pj
        yield f"latency_cycles({name})", found.latency_cycles
        yield f"latency_s({name})", found.latency_s
        yield f"dram_bytes({name})", found.dram_bytes
        yield f"inferences({name})", found.batch
