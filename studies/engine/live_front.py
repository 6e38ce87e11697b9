"""Front of a study as it grows, trials under way with what they have so far; for people alone."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from archloom.studies.analysis import front_of
from archloom.studies.storage import Crash, Trial

if TYPE_CHECKING:
    from archloom.search.software import SoftwareResult
    from archloom.space.design_space import Point
    from archloom.space.hardware import Hardware

    from .study import Study

#: The corner of the hypervolume is this far beyond the worst costs of the first batch.
_BEYOND = 1.1


class LiveFront:
    """Follows a front, and tells of each design when it first is on it.

    Args:
        study: whose trials they are.
        tell: hears of the designs.

    Attributes:
        front: of the trials that ended.
        certified: share of the greatest possible hypervolume; None while nothing is proven.
        volume: hypervolume of ``front``; None before the first batch has ended with a front.
    """

    def __init__(self, study: "Study", tell: Callable[[str], None]) -> None:
        self._study = study
        self._tell = tell
        self._under_way: dict[int, Trial] = {}
        self._told: set[int] = set()
        self._corner: tuple[float, ...] = ()
        self.front: list[Trial] = []
        self.shown: list[Trial] = []
        self.certified: float | None = None
        self.volume: float | None = None

    def note(
        self,
        trial: int,
        point: "Point | None",
        hardware: "Hardware",
        results: "Sequence[SoftwareResult | Crash]",
    ) -> None:
        """Take the results so far of a trial that is under way; the baseline does not count."""
        if point is None or isinstance(results[-1], Crash):
            return
        known = self._under_way.get(trial)
        if known is not None and known.rounds == len(results):
            return
        self._under_way[trial] = self._study.trial(trial, 0, point, hardware, results)
        self._update()

    def ended(self, trials: Sequence[Trial]) -> None:
        """Take trials that ended in place of what they had on the way."""
        from archloom.search import hypervolume

        objective_set = self._study.problem.objective_set
        for trial in trials:
            self._under_way.pop(trial.number, None)
        self.front = front_of([*self.front, *trials], objective_set)
        self._update()
        costs = [trial.costs(objective_set) for trial in self.front]
        priced = [trial.costs(objective_set) for trial in trials if trial.edp_js is not None]
        if not self._corner and priced:
            self._corner = tuple(_BEYOND * max(column) for column in zip(*priced, strict=True))
        self.volume = hypervolume(costs, self._corner) if costs and self._corner else None

    def _update(self) -> None:
        objectives = self._study.problem.objective_set
        self.shown = front_of([*self.front, *self._under_way.values()], objectives)
        for trial in self.shown:
            if trial.number in self._under_way and trial.number not in self._told:
                self._told.add(trial.number)
                texts = (o.text(trial.figure(o)) for o in objectives.objectives)
                rounds = f"{trial.rounds}/{self._study.allocator.rounds}"
                self._tell(
                    f"not dominated: trial {trial.number} (round {rounds}): {', '.join(texts)}"
                )
