"""Tables of a study across the stack: settings, compressed models, times, refusals, the front."""

from collections.abc import Iterator, Mapping
from typing import Any

from archloom.studies.analysis.stack import StackRecord, is_elbow, speed_ups

from ..html import Cell, fold, table
from .words import algorithm_name


def machine_facts(
    machine: Mapping[str, Any], results: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield what was run where, as labels and texts."""
    yield "processor", str(machine["cpu"])
    yield "vector instructions", ", ".join(machine["flags"]) or "none known"
    threads = machine["threads"]
    how = "1 (CPU time is measured)" if threads == 1 else f"{threads} (wall-clock time is measured)"
    yield "threads", how
    yield "cores", str(machine["cores"])
    if results.get("load"):
        yield "system load", "{:.1f} to {:.1f}".format(*results["load"])
    yield "libraries", ", ".join(f"{name} {v}" for name, v in machine["libraries"].items())
    yield "Python", str(machine["python"])
    yield "Archloom", str(results["archloom"])


def study_facts(study: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings of a study, nested ones by their path."""
    for key, value in study.items():
        if isinstance(value, Mapping):
            for name, text in study_facts(value):
                yield f"{key}.{name}", text
        elif isinstance(value, list):
            yield key, ", ".join(map(_text, value))
        else:
            yield key, _text(value)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return "none" if value is None else str(value)


def compressed_models(record: StackRecord) -> str:
    """Return the table of accuracies and of what is left."""
    heads = [
        "model",
        "compression",
        "accuracy %",
        "seeds",
        "before fine-tuning %",
        "kB",
        "nonzero parameters",
        "nonzero M MACs",
        "elbow",
    ]
    rows: list[list[Cell]] = [
        [
            point.model,
            point.compression,
            _percent(point.accuracy_percent),
            ", ".join(f"{seed:.2f}" for seed in point.accuracies_percent),
            _percent(point.before_percent),
            point.stored_bytes / 1e3,
            point.nonzero_params,
            point.nonzero_macs / 1e6,
            "elbow" if is_elbow(record, point) else "",
        ]
        for point in record.compressed()
    ]
    return table(heads, rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def all_times(record: StackRecord) -> str:
    """Return the table of all times."""
    heads = [
        "model", "compression", "algorithm", "schedule", "time us", "noise", "quartile 1 us",
        "quartile 3 us",
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for point in record.points:
        if point.time_us is None or point.quartiles_us is None:
            continue
        low, high = point.quartiles_us
        rows.append(
            [
                point.model,
                point.compression,
                algorithm_name(point.algorithm),
                _state(point.tuned),
                f"{point.time_us:,.1f}",
                f"{point.noise:.1%}",
                f"{low:,.1f}",
                f"{high:,.1f}",
            ]
        )
    return table(heads, rows)


def refusals(record: StackRecord) -> str:
    """Return what was refused and why, and what has no kernel; both to open."""
    heads = ["model", "compression", "algorithm", "schedule", "reason", "explanation"]
    failed: list[list[Cell]] = []
    absent: list[list[Cell]] = []
    for point in record.points:
        if point.reason is not None:
            row: list[Cell] = [point.model, point.compression, algorithm_name(point.algorithm)]
            (failed if point.exists else absent).append([*row, _state(point.tuned), *point.reason])
    text = "<p>No measurement was refused.</p>" if not failed else ""
    if failed:
        text += fold(f"{len(failed)} refused measurements", table(heads, failed))
    if absent:
        text += fold(f"{len(absent)} combinations without a kernel", table(heads, absent))
    return text


def all_gains(record: StackRecord) -> str:
    """Return the table of speed-ups."""
    heads = ["model", "compression", "schedule", "expected", "achieved", "achieved / expected"]
    rows: list[list[Cell]] = [
        [
            gain.point.model,
            gain.point.compression,
            _state(gain.tuned),
            f"{gain.expected:.2f}",
            str(gain.achieved),
            str(gain.share),
        ]
        for gain in speed_ups(record)
    ]
    return table(heads, rows)


def front_members(record: StackRecord) -> str:
    """Return the table of the front, the most accurate first."""
    heads = ["model", "compression", "algorithm", "schedule", "accuracy %", "time us", "kB"]
    members = [record.points[i] for i in record.front]
    members.sort(key=lambda point: (-(point.accuracy_percent or 0.0), point.time_us or 0.0))
    rows: list[list[Cell]] = [
        [
            point.model,
            point.compression,
            algorithm_name(point.algorithm),
            _state(point.tuned),
            _percent(point.accuracy_percent),
            f"{point.time_us:,.1f}",
            point.stored_bytes / 1e3,
        ]
        for point in members
    ]
    return table(heads, rows)


def _state(tuned: bool) -> str:
    return "tuned" if tuned else "untuned"
