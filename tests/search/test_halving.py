from math import inf, log

import pytest

from archloom.search.brackets import Brackets
from archloom.search.halving import (
    NoHalving,
    SuccessiveHalving,
    improvement_area,
    terminal_edp,
)
from archloom.search.protocols import BudgetAllocator, Curve

from ..contracts.budget_allocator import BudgetAllocatorContract


class TestModifiedSuccessiveHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return SuccessiveHalving(rounds=3, first_budget=16)


class TestPlainSuccessiveHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return SuccessiveHalving(rounds=4, first_budget=5, auc_share=0.0)


class TestBrackets(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return Brackets(rounds=3, first_budget=16)


class TestNoHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return NoHalving(evaluations=64)


def flat(edp: float) -> Curve:
    return Curve((16,), (edp,))


def steep(edp: float) -> Curve:
    return Curve((1, 8, 16), (edp * 1000, edp * 10, edp))


def test_the_budget_doubles() -> None:
    allocator = SuccessiveHalving(rounds=4, first_budget=10)
    assert [allocator.budget(i) for i in range(4)] == [10, 20, 40, 80]


@pytest.mark.parametrize(("trials", "kept"), [(1, 1), (2, 1), (3, 2), (7, 4), (8, 4)])
def test_half_go_on_rounded_up(trials: int, kept: int) -> None:
    curves = {i: flat(float(i + 1)) for i in range(trials)}
    assert SuccessiveHalving(auc_share=0.0).survivors(curves, 0) == list(range(kept))
    assert len(SuccessiveHalving().survivors(curves, 0)) == kept


def test_a_steep_trial_takes_the_place_that_its_area_wins() -> None:
    curves = {i: flat(float(i + 1)) for i in range(7)} | {7: steep(9.0)}
    # 8 trials, share 0.15: 1.2 places, so one of the four goes by area.
    assert SuccessiveHalving(auc_share=0.15).survivors(curves, 0) == [0, 1, 2, 7]
    assert SuccessiveHalving(auc_share=0.0).survivors(curves, 0) == [0, 1, 2, 3]
    assert SuccessiveHalving(auc_share=0.2).survivors(curves, 0) == [0, 1, 2, 7]


def test_an_infeasible_trial_never_wins_by_area() -> None:
    curves = {0: flat(1.0), 1: flat(2.0), 2: Curve((1, 16), (inf, inf)), 3: flat(inf)}
    assert SuccessiveHalving(auc_share=0.3).survivors(curves, 0) == [0, 1]


def test_the_best_terminal_value_keeps_a_place_at_any_share() -> None:
    curves = {0: steep(5.0), 1: flat(1.0)}
    assert SuccessiveHalving(auc_share=0.49).survivors(curves, 0) == [1]


def test_equal_trials_rank_by_id() -> None:
    curves = {i: flat(1.0) for i in (9, 4, 2, 7)}
    assert SuccessiveHalving(auc_share=0.3).survivors(curves, 0) == [2, 4]


def test_area_is_the_mean_drop_over_the_round() -> None:
    curve = Curve((2, 4, 6, 8), (80.0, 40.0, 20.0, 10.0))
    # From 4 on: 40 holds for 2 evaluations, 20 for 2, then 10 is met at the end.
    assert improvement_area(curve, 4) == pytest.approx((2 * log(1) + 2 * log(2)) / 4)
    # From 0 on, against the first value known.
    expected = (2 * log(1) + 2 * log(2) + 2 * log(4)) / 8
    assert improvement_area(curve, 0) == pytest.approx(expected)


def test_area_of_a_round_forgets_earlier_rounds() -> None:
    early = Curve((1, 2, 16, 48), (1000.0, 1.0, 1.0, 1.0))
    late = Curve((1, 16, 20, 48), (8.0, 8.0, 2.0, 2.0))
    assert improvement_area(early, 16) == 0.0
    assert improvement_area(late, 16) == pytest.approx(log(4) * 28 / 32)


def test_a_first_find_is_no_slope() -> None:
    assert improvement_area(Curve((1, 4, 16), (inf, 5.0, 5.0)), 0) == 0.0
    assert improvement_area(Curve((16,), (inf,)), 0) == -inf
    assert improvement_area(Curve((), ()), 0) == -inf
    assert terminal_edp(Curve((), ())) == inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds"),
        ({"first_budget": 0}, "budget"),
        ({"auc_share": 0.5}, "auc_share is 0.5"),
        ({"auc_share": -0.1}, "auc_share is -0.1"),
    ],
)
def test_bad_numbers_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SuccessiveHalving(**options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="budget"):
        NoHalving(evaluations=0)


def test_hyperbands_brackets_have_their_shares_of_the_trials_and_cost_about_the_same() -> None:
    """With three rounds algorithm 1 of Li et al. has brackets of 4, 3 and 3 trials."""
    allocator = Brackets(rounds=3, first_budget=16)
    dealt = [allocator.bracket(trial) for trial in range(20)]
    assert [dealt[:10].count(k) for k in range(3)] == [4, 3, 3]
    assert dealt[10:] == dealt[:10]
    # halved twice: 4, 2 and 1 trials; once: 3, 3 and 2; never: 3, 3 and 3
    costs = [sum(n * 16 << i for i, n in enumerate(c)) for c in ((4, 2, 1), (3, 3, 2), (3, 3, 3))]
    assert max(costs) < 2 * min(costs)


def test_a_late_bracket_is_not_halved_early() -> None:
    allocator = Brackets(rounds=3, first_budget=16)
    curves = {trial: flat(float(trial + 1)) for trial in range(10)}
    first = allocator.survivors(curves, 0)
    by_bracket = [[t for t in first if allocator.bracket(t) == k] for k in range(3)]
    assert [len(group) for group in by_bracket] == [2, 3, 3]
    second = allocator.survivors({trial: curves[trial] for trial in first}, 1)
    assert [sum(allocator.bracket(t) == k for t in second) for k in range(3)] == [1, 2, 3]
