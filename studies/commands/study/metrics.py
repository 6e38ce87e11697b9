"""Figures of a study for Prometheus: a text file that is replaced whenever something happens.

Prometheus' node_exporter reads such files from the folder of its textfile collector, which is for
what runs on a machine for a while: https://github.com/prometheus/node_exporter#textfile-collector.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_args

from prometheus_client import CollectorRegistry, Metric, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from archloom.studies.config import Location
from archloom.studies.storage import TrialState, read_journal, read_trials

from ...errors import choosing

#: events that are results of rounds
_RESULTS: Final = ("advanced", "crashed", "lost", "over_limit", "validated")

#: those of them that gave nothing
_FAILED: Final = ("crashed", "lost", "over_limit")

#: fields of a status that are gauges, and what they are
_STATUS: Final = {
    "fraction": "Estimated share of the study's work that is done, 0 to 1.",
    "front": "Number of designs on the Pareto front.",
    "volume": "Hypervolume of the front between base-10 logarithms of the objectives; reference "
    "point: 1.1 x the worst of the first batch.",
    "volume_gain": "Hypervolume over that of the first batch.",
    "certified": "Proven lower bound on the share of the largest possible hypervolume at the "
    "search budget of the study, 0 to 1.",
}


class Metrics(logging.Handler, Collector):
    """Counts what is told of a study, on top of what its directory has, and writes a file.

    Args:
        path: of the file.
        study: name of the study, a label of every figure.
        location: of the study, which may not be there yet.
        trials: that the study has at the most.

    Raises:
        UserError: the file cannot be written, or the directory is damaged.
    """

    def __init__(self, path: Path, study: str, location: Location, trials: int) -> None:
        super().__init__(logging.DEBUG)
        self._path, self._study, self._wanted = path, study, trials
        self._totals = Counter[str]()
        self._failed = Counter[str]()
        self._states: dict[int, tuple[str, int]] = {}
        self._status: dict[str, Any] = {}
        self._up, self._at = 1, time.time()
        self._registry = CollectorRegistry()
        self._registry.register(self)
        for event in read_journal(location):
            self._count(event["event"], event)
        for trial in read_trials(location):
            self._states[trial.number] = trial.state, trial.evaluations
        with choosing(path, "--metrics"):
            self._write()

    def emit(self, record: logging.LogRecord) -> None:
        """Count an event, and write the file again."""
        event, fields = getattr(record, "event", ""), getattr(record, "fields", {})
        self._at = record.created
        if event == "status":
            self._status = fields
        elif event == "trial_ended":
            self._states[fields["trial"]] = fields["state"], fields["evaluations"]
        else:
            self._count(event, fields)
        with suppress(OSError):
            # figures are not worth a study
            self._write()

    def close(self) -> None:
        """Say that nobody works on the study any more."""
        super().close()
        if self._up:  # logging closes handlers once more at the end of the process
            self._up = 0
            with suppress(OSError):
                self._write()

    def _write(self) -> None:
        write_to_textfile(str(self._path), self._registry)

    def _count(self, event: str, fields: dict[str, Any]) -> None:
        seconds, cpu_seconds = fields.get("seconds", 0.0), fields.get("cpu_seconds", 0.0)
        if event in _RESULTS:
            self._totals.update(rounds=1)
            self._totals["search"] += seconds
            self._totals["search_cpu"] += cpu_seconds
            if event in _FAILED:
                self._failed[event] += 1
        elif event == "asked":
            self._totals["proposal"] += seconds
            self._totals["proposal_cpu"] += cpu_seconds
        elif event in ("worker_died", "node_refused", "node_left"):
            self._totals[event] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield all figures."""
        states = Counter(state for state, _ in self._states.values())
        for state in get_args(TrialState):
            states.setdefault(state, 0)
        yield self._gauge("trials", "Finished trials, by state.", "state", states)
        yield self._gauge("trials_wanted", "Maximum number of trials.", None, {"": self._wanted})
        yield self._counter("rounds", "Finished rounds of trials.", self._totals["rounds"])
        failed = CounterMetricFamily(
            "archloom_rounds_failed",
            "Rounds that crashed, were lost or exceeded a limit.",
            labels=["study", "kind"],
        )
        for kind in _FAILED:
            failed.add_metric([self._study, kind], self._failed[kind])
        yield failed
        plans = sum(evaluations for _, evaluations in self._states.values())
        text = "Fusion plans evaluated for each network, over all finished trials."
        yield self._gauge("evaluations", text, None, {"": plans})
        for key, what in (("search", "Software searches"), ("proposal", "Design proposals")):
            yield self._counter(
                f"{key}_seconds",
                f"Wall-clock time of {what.lower()} in seconds, summed over workers.",
                self._totals[key],
            )
            cpu = self._totals[f"{key}_cpu"]
            yield self._counter(
                f"{key}_cpu_seconds", f"CPU time of {what.lower()} in seconds.", cpu
            )
        for name, text in _STATUS.items():
            if self._status.get(name) is not None:
                yield self._gauge(name, text, None, {"": self._status[name]})
        workers = self._status.get("workers", {}) if self._up else {}
        yield self._gauge("workers", "Ray workers, by node.", "node", workers)
        for name, key, text in (
            ("worker_deaths", "worker_died", "Workers that died or whose node left."),
            ("nodes_left", "node_left", "Nodes that left the cluster."),
            ("nodes_refused", "node_refused", "Nodes that were rejected."),
        ):
            yield self._counter(
                name, f"{text[:-1]}, since this process started.", self._totals[key]
            )
        yield self._gauge(
            "up", "1 while a process works on the study, else 0.", None, {"": self._up}
        )
        text = "Time of the last event, in seconds since 1970-01-01 UTC."
        yield self._gauge("last_event_timestamp_seconds", text, None, {"": self._at})

    def _gauge(
        self, name: str, text: str, label: str | None, values: "dict[str, float] | Counter[str]"
    ) -> GaugeMetricFamily:
        labels = ["study", label] if label else ["study"]
        family = GaugeMetricFamily(f"archloom_{name}", text, labels=labels)
        for key, value in values.items():
            family.add_metric([self._study, key] if label else [self._study], value)
        return family

    def _counter(self, name: str, text: str, value: float) -> CounterMetricFamily:
        family = CounterMetricFamily(f"archloom_{name}", text, labels=["study"])
        family.add_metric([self._study], value)
        return family
