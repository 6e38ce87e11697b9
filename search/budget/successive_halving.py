"""Successive halving of the software search of a batch of trials: CASCO's and plain.

Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization"
(2016); CASCO's modification also keeps trials that still improve fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log
from typing import Final, Literal, get_args

from .protocol import Curve, Standing

Rank = Literal["front", "edp"]

#: optimistic share of its cost that a trial reaches with more search, unless its bound is higher
_OPTIMISTIC_SHARE: Final = 0.9

#: the corner of hypervolumes lies this far beyond the worst cost
_CORNER: Final = 1.1


#: rounds of a batch; the largest batch is halved down to one trial in fewer
_MOST_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class SuccessiveHalving:
    """CASCO's modified successive halving (MSH, section III-A); plain halving if the share is 0.

    After each round ceil(P / 2) of P trials go on: first the best ones, then ``auc_share`` of P by
    area under the curve, for a trial that still falls steeply may overtake the others. The paper
    ranks by the terminal value of one objective, here EDP (``rank`` is ``edp``). That stops small
    designs, whose EDP is never the least, however good they are for their area. So by default
    the best are, after the one with the least EDP, those that may improve the front most: the
    hypervolume that it gains, over everything that is measured, if more search brings a trial's
    costs down by a tenth, or to their bounds where these are nearer. The paper leaves rounds,
    budgets, share and the area's definition open; ours:

    - the budget doubles from round to round, as in Jamieson and Talwalkar, "Non-stochastic Best
      Arm Identification and Hyperparameter Optimization" (2016);
    - the area is the mean over the round of log EDP at its start - log EDP, since an area under
      the raw curve ranks nearly as the terminal value does;
    - ``auc_share`` x P is rounded to the nearest count, and one place at least is the best
      terminal value's.

    A trial without a feasible plan ranks behind all others and never wins by area. Equal trials
    rank by EDP, then by trial id.

    Attributes:
        rounds: rounds of a batch.
        first_budget: evaluations of each trial in the first round.
        auc_share: share of the trials of a round that goes on by area, in [0, 0.5).
        rank: what the best trials are.

    Raises:
        ValueError: a number outside its range, or an unknown rank.
    """

    rounds: int = 3
    first_budget: int = 64
    auc_share: float = 0.15
    rank: Rank = "front"

    def __post_init__(self) -> None:
        _check_counts(self.rounds, self.first_budget)
        if self.rank not in get_args(Rank):
            raise ValueError(f"rank is {self.rank!r}, must be one of {', '.join(get_args(Rank))}")
        if not 0 <= self.auc_share < 0.5:
            raise ValueError(f"auc_share is {self.auc_share}, must be at least 0 and below 0.5")

    def budget(self, round_index: int) -> int:
        """Evaluations that each surviving trial gets in the round; doubles each round."""
        _check_round(round_index, self.rounds)
        return self.first_budget << round_index

    def survivors(
        self,
        standings: Mapping[int, Standing],
        round_index: int,
        rivals: Sequence[tuple[float, ...]],
    ) -> list[int]:
        """Return the trials that go on after the round, ascending; none after the last round."""
        _check_round(round_index, self.rounds)
        if round_index == self.rounds - 1 or not standings:
            return []
        places = ceil(len(standings) / 2)
        by_area = min(floor(self.auc_share * len(standings) + 0.5), places - 1)
        ranked = sorted(standings, key=lambda trial: (terminal_edp(standings[trial].curve), trial))
        if self.rank == "front":
            gains = front_gains(standings, rivals)
            # sorted is stable: trials that gain nothing stay in the order of their EDP
            ranked[1:] = sorted(ranked[1:], key=lambda trial: -gains[trial])
        kept, rest = ranked[: places - by_area], ranked[places - by_area :]
        start = sum(self.budget(i) for i in range(round_index))
        rest.sort(key=lambda trial: -improvement_area(standings[trial].curve, start))
        return sorted(kept + rest[:by_area])


def plain_halving(
    rounds: int = 3, first_budget: int = 64, rank: Rank = "front"
) -> SuccessiveHalving:
    """Return successive halving without places for the area under the curve."""
    return SuccessiveHalving(rounds, first_budget, 0.0, rank)


@dataclass(frozen=True, slots=True)
class NoHalving:
    """One round: every trial gets the same budget.

    Attributes:
        evaluations: evaluations of each trial; by default what a trial gets that wins all three
            rounds of :class:`SuccessiveHalving`.

    Raises:
        ValueError: a budget below 1.
    """

    evaluations: int = 448

    def __post_init__(self) -> None:
        _check_counts(1, self.evaluations)

    @property
    def rounds(self) -> int:
        """Always 1."""
        return 1

    def budget(self, round_index: int) -> int:
        """Evaluations of each trial."""
        _check_round(round_index, self.rounds)
        return self.evaluations

    def survivors(
        self,
        standings: Mapping[int, Standing],  # noqa: ARG002
        round_index: int,
        rivals: Sequence[tuple[float, ...]],  # noqa: ARG002
    ) -> list[int]:
        """Return no trial: the only round is the last."""
        _check_round(round_index, self.rounds)
        return []


def front_gains(
    standings: Mapping[int, Standing], rivals: Sequence[tuple[float, ...]]
) -> dict[int, float]:
    """Return the hypervolume that the front gains if a trial alone is searched on and reaches its
    optimistic costs.

    In decades to the number of objectives, over all rivals and all trials as they stand; -1 for a
    trial without costs.
    """
    from ..pareto import hypervolume  # numpy, which study files are read without

    optimistic = {
        trial: tuple(
            max(_OPTIMISTIC_SHARE * c, b) for c, b in zip(one.costs, one.bounds, strict=True)
        )
        for trial, one in standings.items()
        if one.costs is not None and one.bounds is not None
    }
    measured = [*rivals, *(one.costs for one in standings.values() if one.costs is not None)]
    if not optimistic:
        return dict.fromkeys(standings, -1.0)
    corner = [_CORNER * max(column) for column in zip(*measured, strict=True)]
    before = hypervolume(measured, corner)
    return {
        trial: hypervolume([*measured, optimistic[trial]], corner) - before
        if trial in optimistic
        else -1.0
        for trial in standings
    }


def terminal_edp(curve: Curve) -> float:
    """Return the last EDP of the curve; inf if the curve is empty."""
    return curve.edp[-1] if curve.edp else inf


def improvement_area(curve: Curve, start: int) -> float:
    """Return the mean of log EDP at the round's start - log EDP over the round's evaluations.

    The curve is a step function: an EDP holds until the next entry. If nothing feasible was
    known at the start, the first finite EDP stands in for it, since a first find is no slope.

    Args:
        curve: the trial's whole curve.
        start: evaluations that the trial had spent when the round began.

    Returns:
        At least 0; -inf if the trial has no feasible plan; 0 if it spent nothing in the round.
    """
    if not isfinite(terminal_edp(curve)):
        return -inf
    steps = list(zip(curve.evaluations, curve.edp, strict=True))
    before = [edp for evaluations, edp in steps if evaluations <= start and isfinite(edp)]
    base = before[-1] if before else next(edp for _, edp in steps if isfinite(edp))
    ends = [*curve.evaluations[1:], curve.evaluations[-1]]
    area = sum(
        (end - max(begin, start)) * (log(base) - log(edp))
        for (begin, edp), end in zip(steps, ends, strict=True)
        if end > start and isfinite(edp)
    )
    return area / max(curve.evaluations[-1] - start, 1)


def _check_counts(rounds: int, budget: int) -> None:
    if rounds < 1 or budget < 1:
        raise ValueError(f"rounds ({rounds}) and budget ({budget}) must be at least 1")
    if rounds > _MOST_ROUNDS:
        raise ValueError(f"rounds ({rounds}) must be at most {_MOST_ROUNDS}; each doubles budgets")


def _check_round(round_index: int, rounds: int) -> None:
    if not 0 <= round_index < rounds:
        raise ValueError(f"round {round_index} is outside 0..{rounds - 1}")
