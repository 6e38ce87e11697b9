"""Rounds under way: what is given to the executor, and journaled as soon as it is done."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from archloom.search import derived_seed
from archloom.studies.storage import BASELINE, Crash, History, decode

from .logical_order import Job
from .progress import Running
from .trial_task import TrialTask

if TYPE_CHECKING:
    from archloom.search.software import SoftwareResult

    from .batch import Batch
    from .executors import Executor
    from .live_front import LiveFront
    from .progress import Watch
    from .study import Study

_LOG: Final = logging.getLogger("archloom.rounds")


class Rounds:
    """Has rounds done, and keeps the results that have arrived.

    Args:
        study: that they belong to.
        history: knows what was done before, and gets what is done.
        executor: does it.
        watch: hears what runs.
        live: gets results for people as they arrive.
    """

    def __init__(
        self,
        study: "Study",
        history: History,
        executor: "Executor",
        watch: "Watch",
        live: "LiveFront",
    ) -> None:
        self._study = study
        self._history = history
        self._executor = executor
        self._watch = watch
        self._live = live
        self._batches: dict[int, Batch] = {}
        #: results that have arrived and nobody has taken, so that none is decoded twice
        self._decoded: dict[Job, SoftwareResult] = {}

    def begin(self, batch: "Batch") -> None:
        """Let a batch's round begin: what the journal does not have of it is to be done."""
        stage = f"round {batch.round + 1}/{self._study.allocator.rounds}"
        for job in batch.jobs():
            self._batches[job.trial] = batch
            if not self.done(job):
                hardware = batch.designs[job.trial]
                task = self._task(job, batch)
                about = (stage, hardware.name, task.budget, job.trial, batch.round + 1)
                shown = Running(label(job.trial), *about)
                self._executor.submit(job, task, partial(self._watch.started, shown))

    def done(self, job: Job) -> bool:
        """Return whether the result of a round is in the journal."""
        return self._history.payload(*job) is not None

    def pump(self) -> bool:
        """Journal what has ended since the last call; return whether anything has."""
        ended = self._executor.poll()
        for key, result in ended:
            job = Job(*key)
            self._history.done(*job, result)
            self._watch.finished(label(job.trial))
            if not isinstance(result, Crash):
                self._decoded[job] = decode(result.payload)
                batch = self._batches[job.trial]
                self._show(batch, job.trial, [*batch.results[job.trial], self._decoded[job]])
        return bool(ended)

    def close(self, job: Job) -> bool:
        """Let the batch know a result; return whether all results of its round are known."""
        result: SoftwareResult | Crash | None = self._decoded.pop(job, None)
        before = result is None
        if result is None:
            found = self._history.payload(*job)
            assert found is not None, "a round is closed once it is done"
            result = found if isinstance(found, Crash) else decode(found)
        batch = self._batches[job.trial]
        over = batch.close(job.trial, result)
        self._show(batch, job.trial, batch.results[job.trial], before)
        return over

    def batch(self, job: Job) -> "Batch":
        """Return the batch that a round belongs to."""
        return self._batches[job.trial]

    def forget(self, batch: "Batch") -> None:
        """Let go of a batch that is over."""
        for trial in batch.designs:
            self._history.forget(trial)
            self._batches.pop(trial, None)

    def _task(self, job: Job, batch: "Batch") -> TrialTask:
        previous = self._history.payload(job.trial, job.round - 1) if job.round else None
        if isinstance(previous, Crash):
            raise RuntimeError(f"trial {job.trial} crashed in round {job.round - 1}")
        seed = derived_seed(self._study.config.seed, job.trial, "software")
        budget = batch.effort * self._study.allocator.budget(job.round)
        problem = self._study.problem
        about = (label(job.trial), job.round + 1, seed, budget, batch.designs[job.trial].name)
        _LOG.debug("%s, round %d: seed %d, %d plans at the most, on %s", *about)
        forms = problem.networks_at(batch.points.get(job.trial)) if problem.forms else None
        design, effort = batch.designs[job.trial], batch.effort
        return TrialTask(design, seed, previous, budget, networks=forms, effort=effort)

    def _show(
        self,
        batch: "Batch",
        trial: int,
        results: "list[SoftwareResult | Crash]",
        told: bool = False,
    ) -> None:
        point, effort = batch.points.get(trial), batch.effort
        self._live.note(trial, point, batch.designs[trial], results, told, effort)


def label(trial: int) -> str:
    """Return what a trial is called while it runs."""
    return "baseline" if trial == BASELINE else f"trial {trial}"
