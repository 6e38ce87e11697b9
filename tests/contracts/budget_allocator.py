"""What every budget allocator promises; a test class inherits this and says how to make one."""

from abc import ABC, abstractmethod
from math import inf

import numpy as np
import pytest

from archloom.search.budget.protocol import BudgetAllocator, Curve, Standing


def random_standings(seed: int, trials: int, spent: int) -> dict[int, Standing]:
    """Return trials with curves that end at ``spent``; some have found nothing feasible."""
    rng = np.random.default_rng(seed)
    standings = {}
    for trial in rng.permutation(100)[:trials]:
        at = np.unique([*rng.integers(1, spent + 1, 5), spent])
        edp = np.sort(rng.integers(1, 9, len(at)))[::-1].astype(float)
        edp[: rng.integers(len(at) + 1)] = inf
        curve, area = Curve(tuple(at.tolist()), tuple(edp.tolist())), float(rng.integers(1, 9))
        least = float(edp[-1])
        priced = np.isfinite(least)
        standings[int(trial)] = Standing(
            curve, (least, area) if priced else None, (0.8 * least, area) if priced else None
        )
    return standings


#: designs that were measured before
RIVALS = [(3.0, 5.0), (7.0, 2.0)]


class BudgetAllocatorContract(ABC):
    """Inherit, implement :meth:`make`, and the tests run."""

    @abstractmethod
    def make(self) -> BudgetAllocator:
        """Return the allocator under test."""

    def spent(self, allocator: BudgetAllocator, round_index: int) -> int:
        return sum(allocator.budget(i) for i in range(round_index + 1))

    def test_every_round_has_a_budget_and_no_other(self) -> None:
        allocator = self.make()
        assert allocator.rounds >= 1
        assert all(allocator.budget(i) >= 1 for i in range(allocator.rounds))
        for outside in (-1, allocator.rounds):
            with pytest.raises(ValueError, match=f"round {outside} is outside"):
                allocator.budget(outside)
            with pytest.raises(ValueError, match=f"round {outside} is outside"):
                allocator.survivors({}, outside, [])

    @pytest.mark.parametrize("trials", [0, 1, 2, 3, 8, 17])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_survivors_are_some_of_the_trials_ascending(self, trials: int, seed: int) -> None:
        allocator = self.make()
        for index in range(allocator.rounds):
            standings = random_standings(seed, trials, self.spent(allocator, index))
            alive = allocator.survivors(standings, index, RIVALS)
            assert alive == sorted(set(alive) & set(standings))
            last = index == allocator.rounds - 1
            assert (alive == []) if last else (bool(alive) == bool(standings))

    @pytest.mark.parametrize("seed", range(5))
    def test_the_best_trial_survives_and_the_order_of_the_curves_is_no_matter(
        self, seed: int
    ) -> None:
        allocator = self.make()
        for index in range(allocator.rounds - 1):
            standings = random_standings(seed, 9, self.spent(allocator, index))
            alive = allocator.survivors(standings, index, RIVALS)
            assert min(standings, key=lambda t: (standings[t].curve.edp[-1], t)) in alive
            assert allocator.survivors(dict(reversed(standings.items())), index, RIVALS) == alive
