"""How a search went: the best figure after each trial, and the designs of its front."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from archloom.search import Objective
    from archloom.studies.analysis import Front
    from archloom.studies.storage import Trial

#: of the best, what counts as found
_SHARE: Final = 0.95

#: objectives that a picture of a front has axes for
_AXES: Final = 2


@dataclass(frozen=True)
class Progress:
    """How a search went.

    Attributes:
        objectives: titles of its first objectives, at most two, with units.
        rising: whether more of the first is better.
        best: the best figure of the first objective after each trial; None before the first
            design that keeps all limits.
        front: figures of these objectives of each design of the front.
        baseline: those of the baseline; empty if there is none.
    """

    objectives: tuple[str, ...]
    rising: bool
    best: tuple[float | None, ...]
    front: tuple[tuple[float, ...], ...]
    baseline: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Progress":
        """Return the progress of plain values."""
        return cls(
            tuple(data["objectives"]),
            data["rising"],
            tuple(data["best"]),
            tuple(map(tuple, data["front"])),
            tuple(data["baseline"]),
        )

    @property
    def values(self) -> dict[str, float]:
        """Figures by metric; none of a search that found nothing in its first half."""
        half = self.best[ceil(len(self.best) / 2) - 1] if self.best else None
        last = self.best[-1] if self.best else None
        if half is None or last is None:
            return {}
        return {"best_at_half_percent": 100 * (half / last if self.rising else last / half)}

    def trials_to(self, aim: float) -> float:
        """Return how many trials it took to come within 5% of a figure; infinite if it never
        did."""
        for count, figure in enumerate(self.best, 1):
            if figure is None:
                continue
            if (figure / aim if self.rising else aim / figure) >= _SHARE:
                return count
        return inf


def aim_of(searches: Sequence[Progress]) -> float:
    """Return the median of what searches that found a design ended with."""
    return median([best for one in searches if (best := one.best[-1]) is not None])


def progress_of(front: "Front", trials: "Sequence[Trial]", baseline: "Trial | None") -> Progress:
    """Return how a search went whose front has a design.

    Args:
        front: of the study.
        trials: of the study, in any order.
        baseline: None if there is none.
    """
    axes = front.objective_set.objectives[:_AXES]
    return Progress(
        tuple(f"{one.title} ({one.facts.unit})" if one.facts.unit else one.title for one in axes),
        axes[0].facts.rising,
        _best(front, sorted(trials, key=lambda trial: trial.number), axes[0]),
        tuple(tuple(trial.figure(one) for one in axes) for trial in front.members),
        tuple(baseline.figure(one) for one in axes)
        if baseline is not None and baseline.edp_js is not None
        else (),
    )


def _best(
    front: "Front", trials: "Sequence[Trial]", objective: "Objective"
) -> tuple[float | None, ...]:
    """Return the best figure after each trial; a trial that halving stopped counts too."""
    better = max if objective.facts.rising else min
    found: list[float | None] = []
    best = None
    for trial in trials:
        if trial.keeps_limits(front.objective_set):
            figure = trial.figure(objective)
            best = figure if best is None else better(best, figure)
        found.append(best)
    return tuple(found)
