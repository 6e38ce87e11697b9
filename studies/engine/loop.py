"""The loop of a study: propose designs, search their software in rounds, learn, repeat.

It starts by replaying the store, every time; a fresh study is one whose store is empty. What it
does next depends on the config, the seed and the store, never on time or on the executor.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from archloom.search import derived_seed
from archloom.space.design_space import Point
from archloom.studies.storage import BASELINE, Crash, History, Store, Trial, decode

from ..errors import UserError
from .held_out import validate
from .learning import Learning
from .live_front import LiveFront
from .progress import PublishedWatch, Running, Status, Watch
from .study import Study
from .trial_task import Executor, TrialTask

if TYPE_CHECKING:
    from archloom.search.budget import Standing
    from archloom.search.software import SoftwareResult
    from archloom.space.hardware import Hardware


def run_study(
    study: Study, store: Store, executor: Executor, watch: Watch, retry: bool = False
) -> list[Trial]:
    """Run the study to its end, from wherever its store says that it is; return the trials.

    ``retry`` has searches done again that crashed, or that machines failed.
    """
    published = PublishedWatch(watch, store)
    try:
        return _Loop(study, store, executor, published).run(retry)
    finally:
        published.close()


class _Loop:
    def __init__(self, study: Study, store: Store, executor: Executor, watch: Watch) -> None:
        self._study = study
        self._store = store
        self._executor = executor
        self._watch = watch
        self._history = History(store)
        self._trials: list[Trial] = []
        #: costs of those that have some
        self._measured: list[tuple[float, ...]] = []
        self._live = LiveFront(study, watch.found)
        #: results of the round under way, so that none is decoded twice
        self._decoded: dict[int, SoftwareResult] = {}

    def run(self, retry: bool) -> list[Trial]:
        config = self._study.config
        self._history.opened(config.executor.name)
        if retry:
            self._history.retry()
        learning = Learning(self._study.proposals, self._store, self._history, self._watch)
        batch = 0
        while len(self._trials) < config.trials:
            points = self._points(batch, learning)
            if not points:
                break  # the space has no more feasible designs, or none that can add to the front
            trials = self._batch(batch, points)
            self._store.publish(trials)
            self._trials += trials
            objective_set = self._study.problem.objective_set
            self._measured += [t.costs(objective_set) for t in trials if t.edp_js is not None]
            self._live.ended(trials)
            learning.ended(batch, trials)
            if self._history.points(batch + 1) is None:
                self._live.certified = learning.certified()
            self._tell(self._study.allocator.rounds, len(self._trials) / config.trials)
            batch += 1
        if self._trials:
            self._live.certified = learning.certified()
        else:
            self._publish_baseline(self._rounds(self._beside(0), {}))
        self._store.settle()
        self._validate()
        return self._trials

    def _points(self, batch: int, learning: Learning) -> list[Point]:
        """Return the batch's points: from the journal, else from the optimizer.

        Those that the study begins with come first.
        """
        noted = self._history.points(batch)
        if noted is not None:
            points, refused = noted
            self._check_noted([*points, *refused])
            learning.refused(refused)
            return points
        self._store.settle()
        config, begun, start = self._study.config, len(self._trials), self._study.start
        proposals = learning.proposals()
        n = min(config.batch_size, config.trials - begun)
        began, cpu_began = perf_counter(), process_time()
        self._watch.begin(f"proposing designs {begun} to {begun + n - 1}")
        points, refused = proposals.next(n, start.first[begun : begun + n] if start else ())
        self._watch.end()
        taken = (perf_counter() - began, process_time() - cpu_began)
        self._history.asked(batch, points, refused, *taken)
        return points

    def _batch(self, batch: int, points: Sequence[Point]) -> list[Trial]:
        proposed = dict(enumerate(points, len(self._trials)))
        designs = {number: self._study.hardware(point) for number, point in proposed.items()}
        results = self._rounds(designs | self._beside(batch), proposed)
        self._publish_baseline(results)
        return [
            self._study.trial(number, batch, point, designs[number], results[number])
            for number, point in proposed.items()
        ]

    def _check_noted(self, points: Sequence[Point]) -> None:
        """Refuse points of the journal that the space does not have.

        Raises:
            UserError: the journal is not what archloom wrote.
        """
        try:
            for point in points:
                self._study.problem.assess(point)
        except (ValueError, TypeError) as error:
            raise UserError(
                f"{self._store.location}: the journal has a design that the space does not have "
                f"({error}); restore it from a copy, or begin a study in another directory"
            ) from None

    def _beside(self, batch: int) -> "dict[int, Hardware]":
        """Return the preset, which is evaluated beside the first batch as a trial that no round
        stops: whoever waits for the front can compare it, and no worker waits for it at the end."""
        hardware = self._study.baseline
        return {} if batch or hardware is None else {BASELINE: hardware}

    def _publish_baseline(self, results: "Mapping[int, list[SoftwareResult | Crash]]") -> None:
        hardware = self._study.baseline
        if hardware is not None and BASELINE in results:
            parts = None, hardware, results[BASELINE]
            self._store.publish_baseline(self._study.trial(BASELINE, BASELINE, *parts))

    def _validate(self) -> None:
        """Search software for held-out networks, on the designs of the front."""
        if self._study.context.held_out:
            parts = (self._history, self._executor, self._watch, self._tell_validation)
            self._store.publish_validation(validate(self._study, self._live.front, *parts))

    def _rounds(
        self, designs: "Mapping[int, Hardware]", points: Mapping[int, Point]
    ) -> "dict[int, list[SoftwareResult | Crash]]":
        """Search the software of the designs, round by round; return the results of each.

        Args:
            designs: by trial.
            points: of them, by trial; a trial without one is never stopped.
        """
        results: dict[int, list[SoftwareResult | Crash]] = {trial: [] for trial in designs}
        allocator = self._study.allocator
        standings: dict[int, Standing] = {}
        alive = list(designs)
        for round_index in range(allocator.rounds):
            self._round(designs, points, results, alive, round_index)
            going: dict[int, Standing] = {}
            beside: list[int] = []
            for trial in alive:
                result = self._result(trial, round_index)
                results[trial].append(result)
                self._live.note(trial, points.get(trial), designs[trial], results[trial])
                # what no plan can run on will not run with more search
                if isinstance(result, Crash) or result.infeasible is not None:
                    continue
                if trial in points:
                    going[trial] = self._standing(result, designs[trial], points[trial])
                else:
                    beside.append(trial)
            standings |= going
            if round_index == allocator.rounds - 1:
                break
            rivals = self._rivals(standings, going)
            best = allocator.survivors(going, round_index, rivals) if going else []
            alive = [*best, *beside]
        for trial in designs:
            self._history.forget(trial)
        return results

    def _standing(self, result: "SoftwareResult", hardware: "Hardware", point: Point) -> "Standing":
        from archloom.search.budget import Standing
        from archloom.search.hardware import Candidate

        facts = self._study.problem.assess(point)
        costs = self._study.costs(hardware, result)
        if costs is None or not isinstance(facts, Candidate):
            return Standing(result.curve)
        return Standing(result.curve, costs, facts.values)

    def _rivals(
        self, standings: "Mapping[int, Standing]", going: "Mapping[int, Standing]"
    ) -> list[tuple[float, ...]]:
        """Return the costs of what is measured: in earlier batches, and in this one and stopped."""
        stopped = (one.costs for trial, one in standings.items() if trial not in going)
        return [*self._measured, *(costs for costs in stopped if costs is not None)]

    def _round(
        self,
        designs: "Mapping[int, Hardware]",
        points: Mapping[int, Point],
        results: "Mapping[int, list[SoftwareResult | Crash]]",
        alive: Sequence[int],
        round_index: int,
    ) -> None:
        """Do what the journal does not have of a round, and journal each task as it ends."""
        self._decoded.clear()
        missing = [t for t in alive if self._history.payload(t, round_index) is None]
        if not missing:
            return
        tasks = [self._task(trial, designs[trial], round_index) for trial in missing]
        done = len(alive) - len(missing)
        self._tell_watcher(len(points), round_index, done / len(alive))
        stage = f"round {round_index + 1}/{self._study.allocator.rounds}"

        def started(index: int) -> None:
            trial = missing[index]
            self._watch.started(running(trial, designs[trial], stage, tasks[index].budget))

        for index, result in self._executor.run(tasks, started):
            trial = missing[index]
            self._history.done(trial, round_index, result)
            self._watch.finished(label(trial))
            if not isinstance(result, Crash):
                self._decoded[trial] = decode(result.payload)
                so_far = [*results[trial], self._decoded[trial]]
                self._live.note(trial, points.get(trial), designs[trial], so_far)
            done += 1
            self._tell_watcher(len(points), round_index, done / len(alive))

    def _task(self, trial: int, hardware: "Hardware", round_index: int) -> TrialTask:
        previous = self._history.payload(trial, round_index - 1) if round_index else None
        if isinstance(previous, Crash):
            raise RuntimeError(f"trial {trial} crashed in round {round_index - 1}, cannot go on")
        seed = derived_seed(self._study.config.seed, trial, "software")
        return TrialTask(hardware, seed, previous, self._study.allocator.budget(round_index))

    def _result(self, trial: int, round_index: int) -> "SoftwareResult | Crash":
        if trial in self._decoded:
            return self._decoded[trial]
        result = self._history.payload(trial, round_index)
        if result is None:
            raise RuntimeError(f"the executor lost trial {trial} in round {round_index}")
        return result if isinstance(result, Crash) else decode(result)

    def _tell_validation(self, done: int, total: int) -> None:
        rounds = self._study.allocator.rounds
        self._tell(rounds, 1.0, validation=(done, total))

    def _tell_watcher(self, size: int, round_index: int, share: float) -> None:
        inside = size * (round_index + share) / self._study.allocator.rounds
        fraction = min((len(self._trials) + inside) / self._study.config.trials, 1.0)
        self._tell(round_index + 1, fraction)

    def _tell(
        self,
        round_: int,
        fraction: float,
        validation: tuple[int, int] | None = None,
    ) -> None:
        front = self._live.shown
        objective = self._study.problem.objective_set.objectives[0]
        self._watch.status(
            Status(
                trials_done=len(self._trials),
                trials=self._study.config.trials,
                round=round_,
                rounds=self._study.allocator.rounds,
                fraction=fraction,
                best=objective.text(front[0].figure(objective)) if front else None,
                front=len(front),
                failed=sum(trial.state in ("failed", "lost") for trial in self._trials),
                validation=validation,
                volume=self._live.volume,
                certified=self._live.certified,
            )
        )


def label(trial: int) -> str:
    """Return what a trial is called while it runs."""
    return "baseline" if trial == BASELINE else f"trial {trial}"


def running(trial: int, hardware: "Hardware", stage: str, plans: int) -> Running:
    """Return a task for people who watch."""
    return Running(label(trial), stage, hardware.name, plans)
