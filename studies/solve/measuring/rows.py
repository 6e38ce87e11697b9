"""Rows of results: of each kernel its time, noise and rate, and how it compares; or why not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from archloom.evaluators.host import (
    ConvShape,
    Schedule,
    Timing,
    ratio,
    schedule_record,
)
from archloom.evaluators.host.worker import Failed, Measured
from archloom.space import Infeasible

from .wanted import LIBRARY, Variant

#: a row as JSON: docs/how_to/host_kernels.md lists its keys
Row = dict[str, Any]


@dataclass(frozen=True)
class Candidate:
    """A kernel of a session: a variant with a schedule.

    Attributes:
        name: in the session.
        variant: its kind.
        tuned: whether the search found its schedule.
        schedule: how its loops run.
    """

    name: str
    variant: Variant
    tuned: bool
    schedule: Schedule


def layer_rows(
    shape: ConvShape,
    candidates: Sequence[Candidate],
    measured: Measured,
    missing: Mapping[Variant, Infeasible],
) -> list[Row]:
    """Return the rows of a layer: of each variant one that is untuned, and one that is tuned.

    Of several schedules that the search found, the row is the fastest one's, as measured again.
    """

    def more(fastest: Candidate, timing: Timing) -> Row:
        rate = shape.macs / timing.median_us / 1e3
        return {"schedule": schedule_record(fastest.schedule), "gmac_s": rate}

    rows = [refused(v.label, v, False, failure_record(why)) for v, why in missing.items()]
    return rows + fastest_rows(candidates, measured, more)


def fastest_rows(
    candidates: Sequence[Candidate],
    measured: Measured,
    more: Callable[[Candidate, Timing], Row],
) -> list[Row]:
    """Return the row of the fastest candidate of each variant, untuned and tuned, or why none is.

    ``more`` says what else stands in a row that has a time.
    """
    rows, library = [], best(candidates, measured, LIBRARY)
    for variant, tuned in dict.fromkeys((c.variant, c.tuned) for c in candidates):
        group = [c for c in candidates if (c.variant, c.tuned) == (variant, tuned)]
        fastest = best(group, measured)
        if fastest is None:
            why = measured.refusal or measured.failures[group[0].name]
            rows.append(refused(variant.label, variant, tuned, failure_record(why)))
            continue
        timing = measured.timings[fastest.name]
        row = timed_row(variant.label, variant, tuned, timing) | more(fastest, timing)
        if row["status"] == "timed":
            row["against_library"] = comparison(timing, library, measured)
        rows.append(row)
    return rows


def best(
    candidates: Sequence[Candidate], measured: Measured, variant: Variant | None = None
) -> Candidate | None:
    """Return the fastest candidate, of a variant if one is named; None if none was timed."""
    timed = [
        c
        for c in candidates
        if c.name in measured.timings and (variant is None or c.variant == variant)
    ]
    return min(timed, key=lambda c: measured.timings[c.name].median_us, default=None)


def timed_row(label: str, variant: Variant, tuned: bool, timing: Timing) -> Row:
    """Return a row with a time; one that is too noisy says so and is compared with nothing."""
    about = {"kernel": label, **asdict(variant), "tuned": tuned}
    return {**about, **status_record(timing.refusal), **timing.record}


def refused(label: str, variant: Variant, tuned: bool, reason: Row) -> Row:
    """Return a row without a time."""
    about = {"kernel": label, **asdict(variant), "tuned": tuned}
    return {**about, "status": "refused", "reason": reason}


def comparison(timing: Timing, other: Candidate | None, measured: Measured) -> Row | None:
    """Return a ratio of times as JSON, with whether it is resolved; None without the other."""
    if other is None or measured.timings[other.name].refusal:
        return None
    found = ratio(timing, measured.timings[other.name])
    return {"ratio": found.value, "noise": found.noise, "resolved": found.resolved}


def status_record(why: Infeasible | Failed | None) -> Row:
    """Return whether there is a time, or why not, as JSON."""
    return {
        "status": "timed" if why is None else "refused",
        "reason": None if why is None else failure_record(why),
    }


def failure_record(why: Infeasible | Failed) -> Row:
    """Return a reason as JSON."""
    if isinstance(why, Failed):
        return {"reason": why.kind, "text": why.message}
    return {"reason": why.reason, "text": str(why)}
