"""Pareto front of a study's trials in its objectives."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING, Final

from archloom.search import Objective, ObjectiveSet
from archloom.search.hardware.certify import Certificate
from archloom.studies.config import Location, held_out_objectives, stored_objective_set, stored_pick
from archloom.studies.storage import (
    HeldOutTrial,
    Trial,
    read_certificate,
    read_header,
    read_trials,
    read_validation,
)

if TYPE_CHECKING:
    from archloom.search import PickRule

#: a cost for each objective
Costs = tuple[float, ...]

#: figures that the rows of a front have had from the start
FIELD_NAMES = ("edp_js", "area_mm2", "tdp_w")


@dataclass(frozen=True, slots=True)
class Front:
    """The designs of a study that nothing dominates.

    Attributes:
        objective_set: objectives and limits.
        members: by the first objective, the best one first.
        rule: which of them is picked.
        held_out: how designs do on held-out networks, if there are any.
        proof: what lower bounds prove of it; None if the space is not followed.
        searched: objectives and limits of the study, where the front is in other ones.
    """

    objective_set: ObjectiveSet
    members: tuple[Trial, ...]
    rule: "PickRule"
    held_out: tuple[HeldOutTrial, ...] = ()
    proof: Certificate | None = None
    searched: ObjectiveSet | None = None

    @property
    def held_out_columns(self) -> list[Objective]:
        """Columns of tables for the held-out networks together."""
        known = {name for trial in self.held_out for name in trial.values}
        return [
            g for g in held_out_objectives(self.objective_set.objectives, ()) if g.name in known
        ]

    def on_held_out(self, trial: Trial) -> HeldOutTrial | None:
        """Return how the design of a trial does on the held-out networks; None if unknown."""
        return next((one for one in self.held_out if one.number == trial.number), None)

    @property
    def picked(self) -> Trial | None:
        """The design that the rule picks; None if there is none."""
        if not self.members:
            return None
        return self.members[
            self.rule.choose([trial.costs(self.objective_set) for trial in self.members])
        ]


def front_of(trials: Sequence[Trial], objective_set: ObjectiveSet) -> list[Trial]:
    """Return the non-dominated trials that keep the limits, by the first objective.

    Each outcome of a trial is one (:attr:`archloom.studies.storage.trial.Trial.outcomes`).
    A trial that halving stopped counts too: its figures were found, more search would only have
    improved them. A design that was searched again and found no better is there once, as the trial
    that knows more of it.
    """
    every = (one for trial in trials for one in trial.outcomes)
    kept = [trial for trial in every if trial.keeps_limits(objective_set)]
    if not kept:
        return []
    costs = [trial.costs(objective_set) for trial in kept]
    best = zip(kept, costs, _non_dominated(costs), strict=True)
    front = [(cost[0], trial.number, trial.outcome, trial) for trial, cost, keep in best if keep]
    return each_once([trial for *_, trial in sorted(front, key=lambda row: row[:3])])


def each_once(trials: Sequence[Trial]) -> list[Trial]:
    """Return trials without those whose designs other ones of them searched with more effort, and
    found no better."""
    deeper = [trial for trial in trials if trial.effort > 1]
    return [
        trial
        for trial in trials
        if not any(
            again.effort > trial.effort
            and again.point == trial.point
            and again.values == trial.values
            for again in deeper
        )
    ]


#: designs of a front that each design is compared with one by one
FEW: Final = 100


def _non_dominated(costs: Sequence[Costs]) -> Sequence[bool]:
    """Return for each design whether no other one dominates it; equal ones stay."""
    front: list[Costs] = []
    # what dominates a design comes before it
    for mine in sorted(set(costs)):
        if not any(all(map(le, other, mine)) for other in front):
            front.append(mine)
        if len(front) > FEW:
            # its import takes longer than to compare a few
            from archloom.search import non_dominated

            return [bool(keep) for keep in non_dominated(costs)]
    stay = set(front)
    return [mine in stay for mine in costs]


def read_front(location: Location, pick: str | None = None) -> Front:
    """Return the front of a study, which may be running.

    Args:
        location: of the study.
        pick: name of a pick rule; None for the study's own.

    Raises:
        UserError: there is no study, or there is no such rule.
    """
    config = read_header(location).config
    objective_set = stored_objective_set(config)
    members = tuple(front_of(read_trials(location), objective_set))
    held_out, proof = tuple(read_validation(location)), read_certificate(location)
    return Front(objective_set, members, stored_pick(config, pick), held_out, proof)
