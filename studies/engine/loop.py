"""The loop of a study: propose designs, search their software in rounds, learn, repeat.

It starts by replaying the store, every time; a fresh study is one whose store is empty. What it
decides depends on the config, the seed and the store, never on time or on the executor: see
:mod:`.logical_order`.
"""

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from functools import partial
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeVar

from archloom.search.hardware.certify import LastEffort
from archloom.space.design_space import Point
from archloom.studies.storage import BASELINE, History, Store, Trial

from ..errors import UserError
from .batch import Batch
from .held_out import validate
from .learning import Learning, Proposed, Snapshot
from .live_front import LiveFront
from .logical_order import Job, LogicalOrder
from .progress import Status, Watch
from .rounds import Rounds
from .study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from archloom.search.hardware.certify import Certificate
    from archloom.space.hardware import Hardware

    from .executors import Executor


Result = TypeVar("Result")

_LOG: Final = logging.getLogger("archloom.study")

#: Seconds between two looks at the rounds while designs are proposed.
_PATIENCE_S: Final = 0.05


def run_study(
    study: Study, store: Store, executor: "Executor", watch: Watch, retry: bool = False
) -> int:
    """Run the study to its end, from wherever its store says that it is; return its trials' number.

    ``retry`` has searches done again that crashed, broke a limit, or that machines failed.
    """
    return _Loop(study, store, executor, watch).run(retry)


class _Loop:
    def __init__(self, study: Study, store: Store, executor: "Executor", watch: Watch) -> None:
        self._study = study
        self._store = store
        self._executor = executor
        self._watch = watch
        self._history = History(store)
        self._learning = Learning(study.proposals, self._newest_snapshot)
        self._order = LogicalOrder(study.config.logical_workers)
        #: batches under way, by number, and those that are over and wait for one before them
        self._batches: dict[int, Batch] = {}
        self._unpublished: dict[int, list[Trial]] = {}
        #: trials of published batches, by state
        self._states = Counter[str]()
        #: costs of those of batches that are over, as far as they decide a hypervolume
        self._measured = Deciding(len(study.problem.objective_set.objectives))
        self._proposed = self._published = 0
        self._exhausted = False
        self._live = LiveFront(study, watch.found)
        self._rounds = Rounds(study, self._history, executor, watch, self._live)

    def run(self, retry: bool) -> int:
        seed, rounds = self._study.config.seed, self._history.known_rounds
        _LOG.info("seed %d; the journal has the results of %d rounds", seed, rounds)
        self._history.opened(self._study.config.executor.name)
        if retry:
            self._history.retry()
        self._propose()
        while (job := self._order.close()) is not None:
            while not self._rounds.done(job):
                self._pump()
            self._close(job)
            self._propose()
        if self._states:
            self._certify()
        self._store.settle()
        self._validate()
        return self._states.total()

    def _propose(self) -> None:
        """Begin batches while there is room for rounds, and there are designs to run."""
        while self._order.has_room and not self._exhausted:
            number = self._learning.asked
            more = self._proposed < self._study.config.trials
            points, effort = self._points(number) if more else ([], 1)
            # none: the space has no more feasible designs, or none that can add to the front; but
            # what is under way may leave some that are to be searched again
            under_way = bool(self._batches) and self._study.searches_again
            waits = more and not points and under_way
            self._exhausted = not points and not waits
            named = dict(enumerate(points, self._proposed))
            batch = Batch(self._study, number, named, self._beside(number), effort)
            self._proposed += len(points)
            if not batch.over:
                self._batches[number] = batch
                self._open(batch)
            if waits:
                self._publish(number, [])
                break

    def _beside(self, number: int) -> "dict[int, Hardware]":
        """Return the preset, which is evaluated beside the first batch as a trial that no round
        stops: whoever waits for the front can compare it, and no worker waits for it at the end."""
        hardware = self._study.baseline
        return {} if number or hardware is None else {BASELINE: hardware}

    def _points(self, number: int) -> tuple[list[Point], int]:
        """Return the batch's points and their effort: from the journal, else from the optimizer.

        Those that the study begins with come first.
        """
        noted = self._history.proposal(number)
        if noted is not None:
            self._check_noted([*noted.points, *noted.refused])
            self._learning.asked_before(self._wanted, self._pending(), noted)
            return noted.points, noted.effort
        self._store.settle()
        share = self._noted_share(self._learning.certificate_number)
        proposed = self._ask(share is None and self._learning.certificate_number >= 0)
        if proposed.certificate is not None:
            share = self._publish_certificate(number - 1, proposed.certificate)
        self._live.certified = share if share is not None else self._live.certified
        taken = (proposed.seconds, proposed.cpu_seconds, proposed.learning_cpu_seconds)
        self._history.asked(number, proposed.asked, *taken)
        if proposed.snapshot is not None:
            self._history.keep_learned(self._store.publish_learned(asdict(proposed.snapshot)))
        return proposed.asked.points, proposed.asked.effort

    @property
    def _wanted(self) -> int:
        """Designs of the next batch."""
        return min(self._study.config.batch_size, self._study.config.trials - self._proposed)

    def _pending(self) -> list[Point]:
        """Return the designs that were proposed and have not ended."""
        return [point for batch in self._batches.values() for point in batch.pending()]

    def _newest_snapshot(self) -> Snapshot | None:
        """Return what was learned before, if it is there as it was written."""
        found = self._store.learned(self._history.learned) if self._history.learned else None
        try:
            return None if found is None else Snapshot(**found)
        except TypeError:
            return None

    def _ask(self, certify: bool) -> Proposed:
        """Have designs proposed; where that can be, beside the rounds under way."""
        n, begun, start = self._wanted, self._proposed, self._study.start
        learned = self._learning.trials
        first = start.first[begun : begun + n] if start else ()
        work = partial(self._learning.propose, n, first, self._pending(), certify)
        learning = f"learning from {learned} trials, " if learned else ""
        self._watch.begin(f"{learning}proposing designs {begun} to {begun + n - 1}")
        try:
            return self._beside_workers(work, self._executor.get_ready)
        finally:
            self._watch.end()

    def _beside_workers(
        self, work: "Callable[[], Result]", first: "Callable[[], None]"
    ) -> "Result":
        """Return what some work comes to; where that can be, do it on a thread, and meanwhile
        ``first`` what the executor needs, then what rounds are under way."""
        if not self._executor.apart:
            return work()
        with ThreadPoolExecutor(1, "proposals") as thread:
            found = thread.submit(work)
            first()
            while not found.done():
                if not (self._batches and self._pump()):
                    # there may be nothing that the executor could wait for
                    wait([found], _PATIENCE_S)
        return found.result()

    def _check_noted(self, points: list[Point]) -> None:
        """Refuse points of the journal that the space does not have.

        Raises:
            UserError: the journal is not what archloom wrote.
        """
        try:
            for point in points:
                self._study.problem.assess(point)
        except (ValueError, TypeError) as error:
            raise UserError(
                f"{self._store.location}: the journal contains a design that is not in the "
                f"hardware space ({error}); restore it from a copy, or start a study in another "
                "directory"
            ) from None

    def _open(self, batch: Batch) -> None:
        """Let a batch's round begin."""
        self._rounds.begin(batch)
        self._order.add(batch.jobs())
        self._tell()

    def _pump(self) -> bool:
        """Take what has arrived; return whether anything has."""
        arrived = self._rounds.pump()
        if arrived:
            self._tell()
        return arrived

    def _close(self, job: Job) -> None:
        """Let the study know a result; decide who goes on where it was the last of a round."""
        batch = self._rounds.batch(job)
        if not self._rounds.close(job):
            return
        elsewhere = (other.costs() for other in self._batches.values() if other is not batch)
        ended = batch.next_round(
            [*self._measured.costs, *(c for costs in elsewhere for c in costs)]
        )
        trials = [batch.trial(trial) for trial in ended if trial in batch.points]
        self._learning.ended(trials)
        self._order.ended(len(trials))
        if batch.over:
            self._finish(batch)
        else:
            self._open(batch)

    def _finish(self, batch: Batch) -> None:
        """Publish what came of a batch, once all batches before it are published."""
        del self._batches[batch.number]
        self._rounds.forget(batch)
        trials = [batch.trial(trial) for trial in batch.points]
        objective_set = self._study.problem.objective_set
        priced = [t.costs(objective_set) for t in trials if t.edp_js is not None]
        self._measured.add(priced)
        self._live.ended(trials)
        if BASELINE in batch.designs:
            self._store.publish_baseline(batch.trial(BASELINE))
        self._publish(batch.number, trials)
        self._tell()

    def _publish(self, number: int, trials: list[Trial]) -> None:
        """Publish the trials of a batch after those of all batches before it."""
        self._unpublished[number] = trials
        while (ready := self._unpublished.pop(self._published, None)) is not None:
            if ready:
                self._store.publish(ready)
            self._states.update(trial.state for trial in ready)
            self._published += 1

    def _certify(self) -> None:
        """Publish what is proven at the end, unless it is there as it was."""
        config, number = self._study.config, self._learning.certificate_number
        effort = LastEffort(config.certificate_cuts, config.certificate_plans)
        # with effort at the end it says more than that of the same trials before a proposal
        number = -2 - number if effort.steps else number
        share = self._noted_share(number)
        if share is None:
            self._watch.begin(
                f"learning from {self._learning.trials} trials, computing bounds of other designs",
                effort.steps + self._learning.trials if effort.steps else None,
            )
            # held-out networks are searched by workers, too
            first = (lambda: None) if self._study.context.held_out else self._executor.let_go
            told = partial(self._watch.advance, "")
            work = partial(self._learning.certificate, effort, told)
            certificate = self._beside_workers(work, first)
            self._watch.end()
            share = self._publish_certificate(number, certificate) if certificate else None
        self._live.certified = share
        self._tell()

    def _noted_share(self, number: int) -> float | None:
        """Return the certified share of a certificate, if that is still there."""
        noted = self._history.certificate(number)
        there = noted is not None and noted.digest == self._store.certificate_digest()
        return noted.share if noted is not None and there else None

    def _publish_certificate(self, number: int, certificate: "Certificate") -> float:
        digest = self._store.publish_certificate(certificate)
        self._history.certified(number, digest, certificate.share)
        return certificate.share

    def _validate(self) -> None:
        """Search software for held-out networks, on the designs of the front."""
        if self._study.context.held_out:
            parts = (self._history, self._executor, self._watch, self._tell_validation)
            self._store.publish_validation(validate(self._study, self._live.front, *parts))

    def _tell_validation(self, done: int, total: int) -> None:
        self._tell((done, total))

    def _tell(self, validation: tuple[int, int] | None = None) -> None:
        """Say how far the study is."""
        config, rounds = self._study.config, self._study.allocator.rounds
        inside = 0.0
        for batch in self._batches.values():
            jobs = batch.jobs()
            done = sum(map(self._rounds.done, jobs))
            inside += len(batch.points) * (batch.round + done / len(jobs)) / rounds
        over = self._proposed - sum(len(batch.points) for batch in self._batches.values())
        oldest = next(iter(self._batches.values()), None)
        front = self._live.shown
        objective = self._study.problem.objective_set.objectives[0]
        self._watch.status(
            Status(
                trials_done=over,
                trials=config.trials,
                round=oldest.round + 1 if oldest else rounds,
                rounds=rounds,
                fraction=min((over + inside) / config.trials, 1.0),
                best=objective.text(front[0].figure(objective)) if front else None,
                front=len({trial.number for trial in front}),
                failed=self._states["failed"] + self._states["lost"],
                over_limit=self._states["over_limit"],
                validation=validation,
                volume=self._live.volume,
                volume_gain=self._live.volume_gain,
                certified=self._live.certified,
            )
        )


class Deciding:
    """Costs that decide a hypervolume below a corner beyond the worst of all that were added:
    those that nothing dominates, and the worst of each objective.

    Args:
        objectives: how many costs a design has.
    """

    def __init__(self, objectives: int) -> None:
        from archloom.search import Undominated

        self._undominated = Undominated(objectives)
        self._front: list[tuple[float, ...]] = []
        self._worst: list[tuple[float, ...]] = []

    @property
    def costs(self) -> list[tuple[float, ...]]:
        """These costs, each once: the front as it was added, then the worst beside it."""
        return [*dict.fromkeys([*self._front, *self._worst])]

    def add(self, more: list[tuple[float, ...]]) -> None:
        """Add the costs of some designs."""
        known = [*self._worst, *more]
        if not known:
            return
        rows = self._undominated.rows
        # the first of equal ones, and the front comes before what is worse
        firsts = (
            [[self._front[i]] for i in rows.argmax(axis=0)] if len(rows) else [[]] * rows.shape[1]
        )
        self._worst = [max([*first, *known], key=itemgetter(i)) for i, first in enumerate(firsts)]
        for costs in more:
            stays = self._undominated.add(costs)
            if stays is not None:
                self._front = [*compress(self._front, stays.tolist()), costs]
