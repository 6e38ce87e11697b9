"""Trace of a woven schedule, for Perfetto and Chrome's tracing view.

Trace Event Format (Google, "Trace Event Format", 2016): complete events ``X`` on a track for each
engine, counters ``C`` for the buffers, metadata ``M`` for names; times in microseconds.
"""

import json
from pathlib import Path
from typing import Any, Final

from archloom.evaluators import Ints
from archloom.evaluators.weaving import Stretch
from archloom.studies.storage import write_whole

from ....errors import choosing
from .lanes import Lane, WovenRun, step_name

_PID: Final = 1
_ARRAY, _DRAM = 1, 2

Event = dict[str, Any]


def save_trace(run: WovenRun, path: Path, option: str = "--trace") -> None:
    """Write a schedule as JSON that https://ui.perfetto.dev opens.

    Raises:
        UserError: a file that cannot be written.
    """
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": trace_events(run)})
    with choosing(path, option):
        write_whole(path, text)


def trace_events(run: WovenRun) -> list[Event]:
    """Return the events: names first, then tracks and counters in the order of time."""
    timeline = run.timeline
    events = [
        *_track(run, timeline.computes, "array", _ARRAY),
        *_track(run, timeline.fetches, "weights", _DRAM),
        *_track(run, timeline.maps, "maps", _DRAM),
        *_counter(run, timeline.weights, "weight buffer"),
        *_counter(run, timeline.on_chip_maps, "feature map buffer"),
    ]
    # a counter that jumps has two values of one time, and keeps their order
    events.sort(key=lambda event: event["ts"])
    named = [("process_name", 0, run.title), *_threads()]
    names = [
        {"ph": "M", "pid": _PID, "tid": tid, "name": kind, "args": {"name": text}}
        for kind, tid, text in named
    ]
    return [*names, *events]


def _threads() -> list[tuple[str, int, str]]:
    return [("thread_name", _ARRAY, "array"), ("thread_name", _DRAM, "DRAM")]


def _track(run: WovenRun, stretches: tuple[Stretch, ...], lane: Lane, tid: int) -> list[Event]:
    starts = run.nanoseconds([a for a, _, _ in stretches])
    ends = run.nanoseconds([b for _, b, _ in stretches])
    events = []
    for start, end, (_, _, step) in zip(starts, ends, stretches, strict=True):
        part, chain = int(run.timeline.part[step]), int(run.timeline.chain[step])
        amount = {"array": "compute", "weights": "fetch", "maps": "maps"}[lane]
        events.append(
            {
                "ph": "X",
                "pid": _PID,
                "tid": tid,
                "ts": int(start) / 1e3,
                "dur": int(end - start) / 1e3,
                "name": step_name(run, step),
                "cat": lane,
                "args": {
                    "network": run.names[chain],
                    "step": step,
                    "ticks" if lane == "array" else "bytes": int(getattr(run.work, amount)[part]),
                },
            }
        )
    return events


def _counter(run: WovenRun, curve: Ints, name: str) -> list[Event]:
    """Return a counter with a series for each network, which viewers stack."""
    if not curve[:, 1:].any():
        return []
    times = run.nanoseconds(curve[:, 0].tolist())
    series = [f"{name} (bytes)" for name in run.names]
    return [
        {
            "ph": "C",
            "pid": _PID,
            "ts": int(t) / 1e3,
            "name": name,
            "args": dict(zip(series, map(int, held), strict=True)),
        }
        for t, held in zip(times, curve[:, 1:], strict=True)
    ]
