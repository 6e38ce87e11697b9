"""How far a study is, what it does, and what went wrong, read from where it is kept."""

from collections import Counter
from dataclasses import dataclass
from time import time
from typing import Any, Final

from archloom.studies.config import Location, stored_objective_set
from archloom.studies.storage import (
    Event,
    read_header,
    read_holder,
    read_journal,
    read_live,
    read_trials,
)

from .front import front_of

#: seconds that the rate of rounds is taken over
RECENT_S: Final = 600.0

#: events that are results of rounds
_RESULTS: Final = ("advanced", "crashed", "lost", "over_limit", "validated")


@dataclass(frozen=True, slots=True)
class Failure:
    """A round that failed, broke a limit, or that machines failed.

    Attributes:
        trial: its number.
        where: round, or held-out network, counted from 1.
        kind: ``crashed``, ``lost`` or ``over limit``.
        error: its class and message.
    """

    trial: int
    where: str
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """A study's state; times are in seconds, and ages are as of now.

    Attributes:
        folder: where it is kept.
        process, host: that work on it; None if none does.
        process_age_s: for how long.
        trials, trials_wanted: that ended, and all of them.
        states: of the trials that ended, counted.
        front: designs on the front.
        rounds_done: results in the journal.
        rounds_per_minute: over the last ten minutes; None if there was no result.
        searched_cpu_s, proposed_cpu_s: spent by searches of software, and on proposals.
        last_age_s: since the last event; None if there is none.
        openings: how often a process took the study up.
        stages: what is done besides trials, the innermost last.
        left_s: until the study ends, extrapolated from what its process did; None if nobody knows.
        workers: by the node that they are on; empty where the process does tasks itself.
        running: tasks under way: label, stage, design, for how many seconds, worker and its node
            (empty for the process itself).
        failures: that no later result has made good.
    """

    folder: str
    process: int | None
    host: str | None
    process_age_s: float | None
    trials: int
    trials_wanted: int
    states: dict[str, int]
    front: int
    rounds_done: int
    rounds_per_minute: float | None
    searched_cpu_s: float
    proposed_cpu_s: float
    last_age_s: float | None
    openings: int
    stages: tuple[str, ...]
    left_s: float | None
    workers: dict[str, int]
    running: tuple[tuple[str, str, str, float, str, str], ...]
    failures: tuple[Failure, ...]


def read_status(location: Location) -> StudyStatus:
    """Read how far a study is; nothing of it is changed.

    Raises:
        UserError: there is no study, or its journal or its trials are damaged.
    """
    config, now = read_header(location).config, time()
    events, trials = read_journal(location), read_trials(location)
    holder = read_holder(location)
    live = read_live(location) if holder else {}
    results = [event for event in events if event["event"] in _RESULTS]
    recent = [event for event in results if now - event.get("at", 0.0) < RECENT_S]
    begins = (event["at"] - event.get("seconds", 0.0) for event in recent)
    since = now - min(begins, default=now)
    return StudyStatus(
        folder=str(location),
        process=holder.process if holder else None,
        host=(holder.host or live.get("host")) if holder else None,
        process_age_s=now - live["since"] if "since" in live else None,
        trials=len(trials),
        trials_wanted=config["trials"],
        states=dict(Counter(trial.state for trial in trials)),
        front=len(front_of(trials, stored_objective_set(config))),
        rounds_done=len(results),
        rounds_per_minute=60 * len(recent) / since if since else None,
        searched_cpu_s=sum(event.get("cpu_seconds", 0.0) for event in results),
        proposed_cpu_s=sum(e.get("cpu_seconds", 0.0) for e in events if e["event"] == "asked"),
        last_age_s=now - events[-1]["at"] if events and "at" in events[-1] else None,
        openings=sum(event["event"] == "opened" for event in events),
        stages=tuple(live.get("stages", ())),
        left_s=live.get("left_s"),
        workers=dict(live.get("workers", {})),
        running=tuple(_running(one, now) for one in live.get("running", ())),
        failures=tuple(_failures(events)),
    )


def _running(task: dict[str, Any], now: float) -> tuple[str, str, str, float, str, str]:
    where = task.get("worker", ""), task.get("node", "")
    return task["label"], task["stage"], task["design"], now - task["since"], *where


def _failures(events: list[Event]) -> list[Failure]:
    found: dict[tuple[int, str], Failure] = {}
    for event in events:
        if event["event"] not in (*_RESULTS, "retried"):
            continue
        at = (
            f"round {event['round'] + 1}" if "round" in event else f"network {event['network'] + 1}"
        )
        place = event["trial"], at
        found.pop(place, None)
        if crash := event.get("crash"):
            known = event["event"] in ("lost", "over_limit")
            kind = event["event"].replace("_", " ") if known else "crashed"
            found[place] = Failure(*place, kind, f"{crash['error']}: {crash['message']}")
    return list(found.values())
