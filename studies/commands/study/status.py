"""``archloom status``: how far a study is, what it does, and what went wrong."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from archloom.studies.analysis import StudyStatus, read_status
from archloom.studies.config import Location, argument
from archloom.studies.rendering.text import print_line

if TYPE_CHECKING:
    from rich.console import Console

#: failures that are printed one by one
_MOST: Final = 10


def show_status(location: Location, as_json: bool, console: "Console") -> None:
    """Print how far a study is.

    Raises:
        UserError: there is no study, or is damaged.
    """
    status = read_status(location)
    if as_json:
        text = json.dumps(asdict(status), indent=2)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    for line in status_lines(status):
        print_line(line, console)


def status_lines(status: StudyStatus) -> Iterator[str]:
    """Yield what is printed."""
    yield f"study {status.folder}: {_who(status)}"
    states = ", ".join(f"{count} {state}" for state, count in status.states.items())
    yield (
        f"  trials: {status.trials} of {status.trials_wanted} done"
        f"{f' ({states})' if states else ''}; Pareto front: {status.front} designs"
    )
    rate = status.rounds_per_minute
    yield (
        f"  rounds: {status.rounds_done} done"
        + (f", {rate:.3g} per minute recently" if rate else "")
        + f"; CPU time: {_time(status.searched_cpu_s)} for software searches, "
        f"{_time(status.proposed_cpu_s)} for proposing designs"
        + (f"; last event {_time(status.last_age_s)} ago" if status.last_age_s is not None else "")
    )
    if status.left_s is not None:
        yield f"  estimated time left: {_time(status.left_s)}"
    for node, workers in sorted(status.workers.items()):
        yield f"  workers: {workers} on {node}"
    for stage in status.stages:
        yield f"  current stage: {stage}"
    for label, stage, design, seconds, worker, _ in status.running:
        who = f", worker {worker}" if worker else ""
        yield f"  running: {label}, {stage}, since {_time(seconds)}{who}, design {design}"
    for failure in status.failures[:_MOST]:
        yield f"  {failure.kind}: trial {failure.trial}, {failure.where}: {failure.error}"
    if len(status.failures) > _MOST:
        yield f"  and {len(status.failures) - _MOST} more failures; --json lists all"


def _who(status: StudyStatus) -> str:
    if status.process is not None:
        where = f" on {status.host}" if status.host else ""
        age = f" for {_time(status.process_age_s)}" if status.process_age_s is not None else ""
        return f"running in process {status.process}{where}{age}"
    if status.trials >= status.trials_wanted:
        return "finished"
    return f"not running; resume with: archloom resume {argument(status.folder)}"


def _time(seconds: float) -> str:
    """Return a time in the largest unit of which there are at least two."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
