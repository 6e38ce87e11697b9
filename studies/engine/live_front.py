"""Front of a study as it grows, trials under way with what they have so far; for people alone."""

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from archloom.studies.analysis import each_once, front_of
from archloom.studies.storage import NOTHING_FOUND, Crash, Trial

if TYPE_CHECKING:
    from archloom.evaluators import Floats
    from archloom.search import ObjectiveSet
    from archloom.search.software import SoftwareResult
    from archloom.space.design_space import Point
    from archloom.space.hardware import Hardware

    from .study import Study

#: The corner of the hypervolume is this far beyond the worst costs of the first batch.
_BEYOND = 1.1


class GrowingFront:
    """Trials that no other one dominates, one trial added at a time: as :func:`front_of` has them.

    Args:
        objective_set: objectives and limits.
    """

    def __init__(self, objective_set: "ObjectiveSet") -> None:
        from archloom.search import Undominated

        self._objective_set = objective_set
        #: first cost, number, outcome, trial
        self._rows: list[tuple[float, int, int, Trial]] = []
        #: numbers and outcomes, in the order in which they were added
        self._names = np.empty((0, 2), np.int64)
        self._costs = Undominated(len(objective_set.objectives))

    @property
    def trials(self) -> list[Trial]:
        """The trials, by the first objective."""
        return each_once([trial for *_, trial in self._rows])

    @property
    def costs(self) -> "Floats":
        """[n, m], in the order in which they were added."""
        return self._costs.rows

    def dominates(self, costs: Sequence[float]) -> bool:
        """Whether a trial of the front is better than such costs: equal ones are not."""
        return self._costs.dominates(costs)

    def add(self, trial: Trial) -> bool:
        """Add a trial; return whether it is on the front."""
        if not trial.keeps_limits(self._objective_set):
            return False
        costs = trial.costs(self._objective_set)
        stays = self._costs.add(costs)
        if stays is None:
            return False
        if not stays.all():
            gone = set(map(tuple, self._names[~stays].tolist()))
            self._rows = [row for row in self._rows if row[1:3] not in gone]
        name = trial.number, trial.outcome
        insort(self._rows, (costs[0], *name, trial), key=itemgetter(0, 1, 2))
        self._names = np.vstack([self._names[stays], name])
        return True


class LiveFront:
    """Follows a front, and tells of each design when it first is on it.

    Args:
        study: whose trials they are.
        tell: hears of the designs.

    Attributes:
        certified: share of the greatest possible hypervolume at the study's budget; None while
            nothing is proven.
    """

    def __init__(self, study: "Study", tell: Callable[[str], None]) -> None:
        self._study = study
        self._tell = tell
        self._objective_set = study.problem.objective_set
        self._front = GrowingFront(self._objective_set)
        self._under_way: dict[int, Trial] = {}
        #: trials under way of which the journal tells, before anybody looks at them
        self._unseen: dict[int, Callable[[], Trial]] = {}
        self._told: set[int] = set()
        self._corner: tuple[float, ...] = ()
        self._first_volume: float | None = None
        self.certified: float | None = None

    @property
    def front(self) -> list[Trial]:
        """The front of the trials that ended."""
        return self._front.trials

    @cached_property
    def shown(self) -> list[Trial]:
        """The front of these and of trials under way, with what they have so far."""
        under_way = self._undominated()
        if not under_way:
            return self._front.trials
        return front_of([*self._front.trials, *under_way], self._objective_set)

    @property
    def volume_gain(self) -> float | None:
        """``volume`` over that of the first batch: it never falls, as percent of a box might whose
        ideal point moves."""
        return self.volume / self._first_volume if self.volume and self._first_volume else None

    @cached_property
    def volume(self) -> float | None:
        """Hypervolume of ``front``; None before the first batch has ended with a front."""
        from archloom.search import hypervolume

        costs = self._front.costs
        return hypervolume(costs, self._corner) if len(costs) and self._corner else None

    def note(
        self,
        trial: int,
        point: "Point | None",
        hardware: "Hardware",
        results: "Sequence[SoftwareResult | Crash]",
        told: bool = False,
        effort: int = 1,
    ) -> None:
        """Take the results so far of a trial that is under way; the baseline does not count.

        ``told``: they are of before, where a study goes on, so nobody has to hear of them.
        """
        if point is None or isinstance(results[-1], Crash):
            return
        known = self._under_way.get(trial)
        if known is not None and known.rounds == len(results):
            return
        make = partial(self._study.trial, trial, 0, point, hardware, tuple(results), effort)
        if told:
            self._told.add(trial)
            self._unseen[trial] = make
        else:
            self._unseen.pop(trial, None)
            self._under_way[trial] = make()
        self._update()

    def ended(self, trials: Sequence[Trial]) -> None:
        """Take trials that ended in place of what they had on the way."""
        outcomes = [one for trial in trials for one in trial.outcomes]
        priced = [t.costs(self._objective_set) for t in outcomes if t.edp_js is not None]
        for trial in trials:
            self._under_way.pop(trial.number, None)
            self._unseen.pop(trial.number, None)
        for one in outcomes:
            # plans and mappings are in the store, and a front may be of thousands of designs
            self._front.add(replace(one, networks={}, curve=NOTHING_FOUND))
        self.__dict__.pop("volume", None)
        if not self._corner and priced:
            self._corner = tuple(_BEYOND * max(column) for column in zip(*priced, strict=True))
            self._first_volume = self.volume
            self._tell(
                f"hypervolume: reference point {self._corner_text()} ({_BEYOND:g} x the worst of "
                "the first batch), in logarithms; given relative to that of the first batch"
            )
        self._update()

    def _corner_text(self) -> str:
        objectives = self._objective_set.objectives
        pairs = zip(objectives, self._corner, strict=True)
        return ", ".join(objective.text(objective.figure(cost)) for objective, cost in pairs)

    def _undominated(self) -> list[Trial]:
        """Return the trials under way that none that ended and none beside them dominates."""
        self._under_way |= {trial: make() for trial, make in self._unseen.items()}
        self._unseen.clear()
        near = front_of(list(self._under_way.values()), self._objective_set)
        return [t for t in near if not self._front.dominates(t.costs(self._objective_set))]

    def _update(self) -> None:
        self.__dict__.pop("shown", None)
        if self._under_way.keys() <= self._told:
            return
        for trial in self._undominated():
            if trial.number not in self._told:
                self._told.add(trial.number)
                objectives = self._objective_set.objectives
                texts = (o.text(trial.figure(o)) for o in objectives)
                rounds = f"{trial.rounds}/{self._study.allocator.rounds}"
                self._tell(
                    f"new on the Pareto front: trial {trial.label} (round {rounds}): "
                    f"{', '.join(texts)}"
                )
