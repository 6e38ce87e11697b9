"""What became of each trial, counted by reason, with the amounts that were lacking."""

from collections.abc import Iterator, Sequence

from archloom.studies.analysis import StudyView
from archloom.studies.storage import Trial

from ..html import Cell, number

Rows = tuple[list[str], list[list[Cell]]]


def fate_rows(view: StudyView) -> Rows:
    """Return heads and rows: on the front, dominated, beyond a limit, without an EDP and why."""
    kept = [design for design in view.designs if design.kept]
    front = sum(design.on_front for design in kept)
    stopped = sum(design.state == "stopped" for design in kept if not design.on_front)
    note = f"halving ended the software search of {stopped} early" if stopped else ""
    rows: list[list[Cell]] = [
        ["on the Pareto front", front, "", ""],
        ["dominated by a design of the front", len(kept) - front, note, ""],
        *_beyond_limits(view),
        *_without_figures(view.losses),
    ]
    heads = ["outcome", "designs", "amounts", "suggested change"]
    return heads, [row for row in rows if row[1]]


def _beyond_limits(view: StudyView) -> Iterator[list[Cell]]:
    """Yield a row for each limit that designs break; one may break several."""
    for limit in view.objective_set.every_limit:
        objective = limit.objective
        found = [
            design.figure(objective)
            for design in view.designs
            if not design.kept and limit.excess(objective.figure(design.figure(objective))) > 0
        ]
        if found:
            unit = objective.facts.unit
            amounts = f"have {_span(found)} {unit}".rstrip()
            yield [f"violates the limit {limit.text}", len(found), amounts, ""]


def _without_figures(losses: Sequence[Trial]) -> Iterator[list[Cell]]:
    """Yield a row for each reason, with the least and the most that was needed and there."""
    kinds: dict[tuple[str, str], list[Trial]] = {}
    for trial in losses:
        kinds.setdefault(_kind(trial), []).append(trial)
    for (state, reason), trials in kinds.items():
        rules = [trial.reason for trial in trials if trial.reason is not None]
        amounts = hint = ""
        if rules and trials[0].crash is None:
            unit = rules[0].unit or ""
            needed, there = ([getattr(r, key) for r in rules] for key in ("needed", "available"))
            amounts = f"need {_span(needed)}, have {_span(there)} {unit}".rstrip()
            hint = rules[0].hint if len({rule.hint for rule in rules}) == 1 else ""
        elif trials[0].crash is not None:
            amounts = trials[0].crash.message
        yield [f"{state.replace('_', ' ')}: {reason}", len(trials), amounts, hint]


def _kind(trial: Trial) -> tuple[str, str]:
    if trial.crash is not None:
        return trial.state, trial.crash.error
    if trial.reason is not None:
        return trial.state, f"{trial.reason.reason} at {trial.reason.where}"
    return trial.state, "no plan with a cost within the budget"


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def loss_rows(view: StudyView) -> Rows:
    """Return heads and rows of trials without an EDP, and those that failed after they had one."""
    heads = ["trial", "state", "reason", "detail", "design"]
    rows: list[list[Cell]] = []
    for loss in view.losses:
        point = ", ".join(f"{k}={v}" for k, v in (loss.point or {}).items())
        rows.append([loss.label, loss.state, *_why(loss), point])
    return heads, rows


def _why(trial: Trial) -> tuple[str, str]:
    """Return the name of what went wrong with a trial, and the amounts or the message."""
    if trial.crash is not None:
        return trial.crash.error, trial.crash.message
    if trial.reason is not None:
        return trial.reason.reason, str(trial.reason)
    return "no_plan", "no plan with a cost was found within the budget"
