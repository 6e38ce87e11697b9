"""A batch of trials on its way through the rounds: what is known of it, and who goes on."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from archloom.space.design_space import Point
from archloom.studies.storage import BASELINE, Crash, Trial

from .logical_order import Job
from .study import Study

if TYPE_CHECKING:
    from archloom.search.budget import Standing
    from archloom.search.software import SoftwareResult
    from archloom.space.hardware import Hardware


class Batch:
    """Trials that are halved together.

    Args:
        study: that they belong to.
        number: of the batch.
        points: designs by trial.
        beside: designs of trials that no round stops, by trial.
        effort: times the software search of other batches that its designs get.

    Attributes:
        number: of the batch.
        effort: times the software search of other batches.
        points: of its designs, by trial, without those beside.
        designs: of all trials.
        results: of each trial, the rounds that are closed.
        round: that is under way.
        over: whether all its trials have ended.
    """

    def __init__(
        self,
        study: Study,
        number: int,
        points: Mapping[int, Point],
        beside: "Mapping[int, Hardware]",
        effort: int = 1,
    ) -> None:
        self._study = study
        self.number = number
        self.effort = effort
        self.points = dict(points)
        self.designs = {trial: study.hardware(point) for trial, point in points.items()}
        self.designs.update(beside)
        self.results: dict[int, list[SoftwareResult | Crash]] = {t: [] for t in self.designs}
        self.round = 0
        self.over = not self.designs
        self._alive = list(self.designs)
        self._open = set(self._alive)
        self._standings: dict[int, Standing] = {}

    def jobs(self) -> list[Job]:
        """Return the jobs of the round under way."""
        return [Job(trial, self.round) for trial in self._alive]

    def close(self, trial: int, result: "SoftwareResult | Crash") -> bool:
        """Take the result of a trial's round; return whether the whole round is closed."""
        self.results[trial].append(result)
        self._open.discard(trial)
        return not self._open

    def next_round(self, others: Sequence[tuple[float, ...]]) -> list[int]:
        """Decide who goes on after a round that is closed; return the trials that end with it.

        Args:
            others: costs of designs of other batches.
        """
        going: dict[int, Standing] = {}
        beside: list[int] = []
        for trial in self._alive:
            result = self.results[trial][-1]
            # what no plan can run on will not run with more search
            if isinstance(result, Crash) or result.infeasible is not None:
                continue
            if trial in self.points:
                going[trial] = self._standing(trial, result)
            else:
                beside.append(trial)
        self._standings |= going
        stopped = (one.costs for trial, one in self._standings.items() if trial not in going)
        rivals = [*others, *(costs for costs in stopped if costs is not None)]
        allocator = self._study.allocator
        after: list[int] = []
        if self.round < allocator.rounds - 1:
            after = [*(allocator.survivors(going, self.round, rivals) if going else []), *beside]
        ended = [trial for trial in self._alive if trial not in after]
        self._alive, self._open = after, set(after)
        self.over = not after
        self.round += not self.over
        return ended

    def costs(self) -> list[tuple[float, ...]]:
        """Return the costs of designs that are measured so far."""
        return [one.costs for one in self._standings.values() if one.costs is not None]

    def pending(self) -> list[Point]:
        """Return the designs of trials that have not ended."""
        return [self.points[trial] for trial in self._alive if trial in self.points]

    def trial(self, number: int) -> Trial:
        """Return a trial that has ended."""
        batch = BASELINE if number == BASELINE else self.number
        design, rounds = self.designs[number], self.results[number]
        point = self.points.get(number)
        return self._study.trial(number, batch, point, design, rounds, self.effort)

    def _standing(self, trial: int, result: "SoftwareResult") -> "Standing":
        from archloom.search.budget import Standing
        from archloom.search.hardware import Candidate

        facts = self._study.problem.assess(self.points[trial])
        costs = self._study.costs(self.points[trial], self.designs[trial], result)
        if costs is None or not isinstance(facts, Candidate):
            return Standing(result.curve)
        return Standing(result.curve, costs, facts.values)
