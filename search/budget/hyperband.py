"""Hyperband: brackets of successive halving that begin early for some trials and late for
others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from .protocol import Standing
from .successive_halving import Rank, SuccessiveHalving


@dataclass(frozen=True)
class HyperbandBrackets:
    """Brackets of successive halving (Li et al., "Hyperband", JMLR 2018), side by side.

    A trial that is slow to fall loses where halving begins in the first round. So trials are
    dealt out to brackets: those of bracket k are not halved before round k, and from then on
    among themselves. Of ``rounds`` R brackets, bracket k gets ceil(R / (s + 1) * 2 ** s) of
    every so many trials, where s = R - 1 - k halvings are left to it (algorithm 1 with eta = 2);
    there they cost about the same. Which bracket a trial belongs to follows from its number.

    Attributes:
        rounds, first_budget, auc_share, rank: as of :class:`SuccessiveHalving`.

    Raises:
        ValueError: a number outside its range.
    """

    rounds: int = 3
    first_budget: int = 64
    auc_share: float = 0.0
    rank: Rank = "front"

    def __post_init__(self) -> None:
        self._halving  # noqa: B018  (it checks all numbers)

    @cached_property
    def _halving(self) -> SuccessiveHalving:
        return SuccessiveHalving(self.rounds, self.first_budget, self.auc_share, self.rank)

    @cached_property
    def _pattern(self) -> tuple[int, ...]:
        """Brackets of the first trials, spread evenly; later trials repeat the pattern."""
        halvings_left = range(self.rounds - 1, -1, -1)
        counts = [ceil(self.rounds * 2**left / (left + 1)) for left in halvings_left]
        places = [((i + 0.5) / n, k) for k, n in enumerate(counts) for i in range(n)]
        return tuple(k for _, k in sorted(places))

    def bracket(self, trial: int) -> int:
        """Return the first round after which the trial may be stopped."""
        return self._pattern[trial % len(self._pattern)]

    def budget(self, round_index: int) -> int:
        """Evaluations that each surviving trial gets in the round; doubles each round."""
        return self._halving.budget(round_index)

    def survivors(
        self,
        standings: Mapping[int, Standing],
        round_index: int,
        rivals: Sequence[tuple[float, ...]],
    ) -> list[int]:
        """Return the trials that go on after the round, ascending; none after the last round."""
        if not self._halving.survivors(standings, round_index, rivals):
            return []
        alive: list[int] = []
        for bracket in set(map(self.bracket, standings)):
            mine = {t: one for t, one in standings.items() if self.bracket(t) == bracket}
            others = [one.costs for t, one in standings.items() if t not in mine and one.costs]
            alive += (
                mine
                if bracket > round_index
                else self._halving.survivors(mine, round_index, [*rivals, *others])
            )
        return sorted(alive)
