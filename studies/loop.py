"""The loop of a study: propose designs, search their software in rounds, learn, repeat.

It starts by replaying the store, every time; a fresh study is one whose store is empty. What it
does next depends on the config, the seed and the store, never on time or on the executor.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from ..search.seeds import derived_seed
from .executors import Executor
from .front import front_of
from .history import History, Point
from .proposals import Proposals
from .status import Status, Watch
from .store import Store
from .study import Study
from .trial import BASELINE, Record, costs_of, figure_of, outcome_costs, trial_record
from .validation import validate
from .work import Crash, Outcome, Work, decode

if TYPE_CHECKING:
    from ..search.protocols import Standing
    from ..space.hardware import Hardware


def run_study(study: Study, store: Store, executor: Executor, watch: Watch) -> list[Record]:
    """Run the study to its end, from wherever its store says that it is; return the trials."""
    return _Loop(study, store, executor, watch).run()


class _Loop:
    def __init__(self, study: Study, store: Store, executor: Executor, watch: Watch) -> None:
        self._study = study
        self._store = store
        self._executor = executor
        self._watch = watch
        self._history = History(store)
        self._records: list[Record] = []
        self._front: list[Record] = []

    def run(self) -> list[Record]:
        config = self._study.config
        self._history.opened(config.executor.name)
        proposals = self._study.proposals()
        batch = 0
        while len(self._records) < config.trials:
            points = self._points(batch, proposals)
            if not points:
                break  # the space has no more feasible designs, or none that can add to the front
            records = self._batch(batch, points)
            self._store.publish(records)
            proposals.tell(records)
            self._store.publish_certificate(proposals.certificate())
            self._records += records
            self._front = front_of([*self._front, *records], self._study.problem.goals)
            batch += 1
        self._baseline()
        self._validate()
        return self._records

    def _points(self, batch: int, proposals: Proposals) -> list[Point]:
        """Return the batch's points: from the journal, else from the optimizer.

        Those that the study begins with come first.
        """
        noted = self._history.points(batch)
        if noted is not None:
            points, refused = noted
            proposals.refuse(refused)
            return points
        config, begun, start = self._study.config, len(self._records), self._study.start
        n = min(config.batch_size, config.trials - begun)
        began, cpu_began = perf_counter(), process_time()
        points, refused = proposals.next(n, start.first[begun : begun + n] if start else ())
        taken = (perf_counter() - began, process_time() - cpu_began)
        self._history.asked(batch, points, refused, *taken)
        return points

    def _batch(self, batch: int, points: Sequence[Point]) -> list[Record]:
        first = len(self._records)
        designs = {first + i: self._study.hardware(point) for i, point in enumerate(points)}
        problem, allocator = self._study.problem, self._study.allocator
        trails = self._rounds(designs, dict(zip(designs, points, strict=True)))
        return [
            trial_record(
                problem, trial, batch, point, designs[trial], trails[trial], allocator.rounds
            )
            for trial, point in zip(designs, points, strict=True)
        ]

    def _baseline(self) -> None:
        """Evaluate the preset as a trial that no round stops."""
        hardware = self._study.baseline
        if hardware is None:
            return
        trails = self._rounds({BASELINE: hardware}, {})
        problem, rounds = self._study.problem, self._study.allocator.rounds
        trail = trails[BASELINE]
        record = trial_record(problem, BASELINE, BASELINE, None, hardware, trail, rounds)
        self._store.publish_baseline(record)

    def _validate(self) -> None:
        """Search software for held-out networks, on the designs of the front."""
        if self._study.context.held_out:
            watch = self._tell_validation
            parts = (self._history, self._executor, watch)
            self._store.publish_validation(validate(self._study, self._front, *parts))

    def _rounds(
        self, designs: "Mapping[int, Hardware]", points: Mapping[int, Point]
    ) -> dict[int, list[Outcome | Crash]]:
        """Search the software of the designs, round by round; return what came of each.

        Args:
            designs: by trial.
            points: of them, by trial; a trial without one is never stopped.
        """
        trails: dict[int, list[Outcome | Crash]] = {trial: [] for trial in designs}
        allocator = self._study.allocator
        standings: dict[int, Standing] = {}
        alive = sorted(designs)
        for round_index in range(allocator.rounds):
            self._round(designs, alive, round_index)
            going: dict[int, Standing] = {}
            for trial in alive:
                result = self._result(trial, round_index)
                trails[trial].append(result)
                # what no plan can run on will not run with more search
                if isinstance(result, Outcome) and result.infeasible is None:
                    going[trial] = self._standing(result, designs[trial], points.get(trial))
            standings |= going
            if not going or round_index == allocator.rounds - 1:
                break
            rivals = self._rivals(standings, going)
            alive = allocator.survivors(going, round_index, rivals) if points else alive
        for trial in designs:
            self._history.forget(trial)
        return trails

    def _standing(self, outcome: Outcome, hardware: "Hardware", point: Point | None) -> "Standing":
        from ..search.candidates import Candidate
        from ..search.protocols import Standing

        facts = None if point is None else self._study.problem.assess(point)
        costs = outcome_costs(self._study.problem, hardware, outcome)
        if costs is None or not isinstance(facts, Candidate):
            return Standing(outcome.curve)
        return Standing(outcome.curve, costs, facts.values)

    def _rivals(
        self, standings: "Mapping[int, Standing]", going: "Mapping[int, Standing]"
    ) -> list[tuple[float, ...]]:
        """Return the costs of what is measured: in earlier batches, and in this one and stopped."""
        goals = self._study.problem.goals
        earlier = [costs_of(r, goals) for r in self._records if r["edp_js"] is not None]
        stopped = (one.costs for trial, one in standings.items() if trial not in going)
        return [*earlier, *(costs for costs in stopped if costs is not None)]

    def _round(
        self, designs: "Mapping[int, Hardware]", alive: Sequence[int], round_index: int
    ) -> None:
        """Do what the journal does not have of a round, and journal each piece as it ends."""
        missing = [t for t in alive if self._history.outcome(t, round_index) is None]
        if not missing:
            return
        work = [self._work(trial, designs[trial], round_index) for trial in missing]
        done = len(alive) - len(missing)
        self._tell_watcher(len(designs), round_index, done / len(alive), BASELINE in designs)
        for index, result in self._executor.run(work):
            self._history.done(missing[index], round_index, result)
            done += 1
            self._tell_watcher(len(designs), round_index, done / len(alive), BASELINE in designs)

    def _work(self, trial: int, hardware: "Hardware", round_index: int) -> Work:
        previous = self._history.outcome(trial, round_index - 1) if round_index else None
        if isinstance(previous, Crash):
            raise RuntimeError(f"trial {trial} crashed in round {round_index - 1}, cannot go on")
        seed = derived_seed(self._study.config.seed, trial, "software")
        return Work(hardware, seed, previous, self._study.allocator.budget(round_index))

    def _result(self, trial: int, round_index: int) -> Outcome | Crash:
        result = self._history.outcome(trial, round_index)
        if result is None:
            raise RuntimeError(f"the executor lost trial {trial} in round {round_index}")
        return result if isinstance(result, Crash) else decode(result)

    def _tell_validation(self, done: int, total: int) -> None:
        rounds = self._study.allocator.rounds
        self._watch(
            Status(
                trials_done=len(self._records),
                trials=self._study.config.trials,
                round=rounds,
                rounds=rounds,
                fraction=1.0,
                best=self._best(),
                front=len(self._front),
                failed=sum(r["state"] == "failed" for r in self._records),
                validation=(done, total),
            )
        )

    def _best(self) -> str | None:
        if not self._front:
            return None
        goal = self._study.problem.goals.objectives[0]
        return goal.text(figure_of(self._front[0], goal))

    def _tell_watcher(self, size: int, round_index: int, share: float, baseline: bool) -> None:
        total, done = self._study.config.trials, len(self._records)
        rounds = self._study.allocator.rounds
        inside = 0 if baseline else size * (round_index + share) / rounds
        self._watch(
            Status(
                trials_done=done,
                trials=total,
                round=round_index + 1,
                rounds=rounds,
                fraction=min((done + inside) / total, 1.0),
                best=self._best(),
                front=len(self._front),
                failed=sum(r["state"] == "failed" for r in self._records),
                baseline=baseline,
            )
        )
