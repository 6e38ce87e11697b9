"""How a batch of trials shares out software search: successive halving, CASCO's and plain."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log

from .protocols import Curve


@dataclass(frozen=True, slots=True)
class SuccessiveHalving:
    """CASCO's modified successive halving (MSH, section III-A); plain halving if the share is 0.

    After each round ceil(P / 2) of P trials go on: first those with the best terminal EDP, then
    ``auc_share`` of P by area under the curve, for a trial that still falls steeply may overtake
    the others. The paper leaves rounds, budgets, share and the area's definition open; ours:

    - the budget doubles from round to round, as in Jamieson and Talwalkar, "Non-stochastic Best
      Arm Identification and Hyperparameter Optimization" (2016);
    - the area is the mean over the round of log EDP at its start - log EDP, since an area under
      the raw curve ranks nearly as the terminal value does;
    - ``auc_share`` x P is rounded to the nearest count, and one place at least is the best
      terminal value's.

    A trial without a feasible plan ranks behind all others and never wins by area. Equal trials
    rank by trial id.

    Attributes:
        rounds: rounds of a batch.
        first_budget: evaluations of each trial in the first round.
        auc_share: share of the trials of a round that goes on by area, in [0, 0.5).

    Raises:
        ValueError: a number outside its range.
    """

    rounds: int = 3
    first_budget: int = 64
    auc_share: float = 0.15

    def __post_init__(self) -> None:
        _check_counts(self.rounds, self.first_budget)
        if not 0 <= self.auc_share < 0.5:
            raise ValueError(f"auc_share is {self.auc_share}, must be at least 0 and below 0.5")

    def budget(self, round_index: int) -> int:
        """Evaluations that each surviving trial gets in the round; doubles each round."""
        _check_round(round_index, self.rounds)
        return self.first_budget << round_index

    def survivors(self, curves: Mapping[int, Curve], round_index: int) -> list[int]:
        """Return the trials that go on after the round, ascending; none after the last round."""
        _check_round(round_index, self.rounds)
        if round_index == self.rounds - 1 or not curves:
            return []
        places = ceil(len(curves) / 2)
        by_area = min(floor(self.auc_share * len(curves) + 0.5), places - 1)
        ranked = sorted(curves, key=lambda trial: (terminal_edp(curves[trial]), trial))
        kept, rest = ranked[: places - by_area], ranked[places - by_area :]
        start = sum(self.budget(i) for i in range(round_index))
        # sorted is stable: equal areas stay in the order of terminal values.
        rest.sort(key=lambda trial: -improvement_area(curves[trial], start))
        return sorted(kept + rest[:by_area])


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

    def survivors(self, curves: Mapping[int, Curve], round_index: int) -> list[int]:  # noqa: ARG002
        """Return no trial: the only round is the last."""
        _check_round(round_index, self.rounds)
        return []


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


def _check_round(round_index: int, rounds: int) -> None:
    if not 0 <= round_index < rounds:
        raise ValueError(f"round {round_index} is outside 0..{rounds - 1}")
