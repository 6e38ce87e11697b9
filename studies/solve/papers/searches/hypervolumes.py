"""How much of what is known of a case each of its searches found, and how soon.

All searches of a case, of all methods and seeds, are measured below one corner: it lies a tenth
beyond the worst values of the front of all their designs together. So the figures of a case change
when a method or a seed joins it, and nothing else decides them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from archloom.search import ObjectiveSet, hypervolume, non_dominated
from archloom.studies.storage import Trial

#: the corner over the worst values
CORNER: Final = 1.1

#: of the hypervolume of all searches of a case
SHARE: Final = 0.9


@dataclass(frozen=True)
class Step:
    """A batch of a search.

    Attributes:
        plans: evaluated for each network by then, in all.
        costs: of its designs that no design before them, and none of its own, dominates; smaller is
            better in each objective.
    """

    plans: int
    costs: tuple[tuple[float, ...], ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Step":
        """Return the step of plain values."""
        return cls(data["plans"], tuple(map(tuple, data["costs"])))


def steps_of(trials: Sequence[Trial], objective_set: ObjectiveSet) -> tuple[Step, ...]:
    """Return the batches of a study in their order; designs beyond its limits count for nothing."""
    steps, plans = list[Step](), 0
    front: list[tuple[float, ...]] = []
    for number in sorted({trial.batch for trial in trials}):
        batch = [trial for trial in trials if trial.batch == number]
        plans += sum(trial.evaluations for trial in batch)
        every = [one for trial in batch for one in trial.outcomes]
        found = [one.costs(objective_set) for one in every if one.keeps_limits(objective_set)]
        known = list(dict.fromkeys([*front, *found]))
        left = [row for row, stays in zip(known, non_dominated(known), strict=True) if stays]
        steps.append(Step(plans, tuple(row for row in left if row not in front)))
        front = left
    return tuple(steps)


@dataclass(frozen=True)
class Found:
    """What a search found of all that is known of its case.

    Attributes:
        share: its hypervolume over that of all searches together, from 0 to 1.
        plans: that it had evaluated when the share was :data:`SHARE`; infinite if it never was.
    """

    share: float
    plans: float


def compared(searches: Sequence[Sequence[Step]]) -> list[Found]:
    """Return what each search of a case found.

    Raises:
        ValueError: the searches have other objectives.
    """
    every = [row for steps in searches for step in steps for row in step.costs]
    if not every:
        return [Found(0.0, inf) for _ in searches]
    if len({len(row) for row in every}) > 1:
        raise ValueError("searches with other objectives have no hypervolume in common")
    front = [row for row, stays in zip(every, non_dominated(every), strict=True) if stays]
    corner = [CORNER * max(column) for column in zip(*front, strict=True)]
    whole = hypervolume(front, corner)
    return [_found(steps, corner, whole) for steps in searches]


def _found(steps: Sequence[Step], corner: Sequence[float], whole: float) -> Found:
    rows, share, plans = list[tuple[float, ...]](), 0.0, inf
    for step in steps:
        rows += step.costs
        share = hypervolume(rows, corner) / whole
        if share >= SHARE:
            plans = min(plans, step.plans)
    return Found(share, plans)
