from math import inf, log

import pytest

from archloom.search.budget.hyperband import HyperbandBrackets
from archloom.search.budget.protocol import BudgetAllocator, Curve, Standing
from archloom.search.budget.successive_halving import (
    NoHalving,
    SuccessiveHalving,
    front_gains,
    improvement_area,
    terminal_edp,
)
from archloom.search.pareto import hypervolume

from ...contracts.budget_allocator import BudgetAllocatorContract


class TestModifiedSuccessiveHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return SuccessiveHalving(rounds=3, first_budget=16)


class TestPlainSuccessiveHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return SuccessiveHalving(rounds=4, first_budget=5, auc_share=0.0)


class TestBrackets(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return HyperbandBrackets(rounds=3, first_budget=16)


class TestNoHalving(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return NoHalving(evaluations=64)


class TestRankingByEdp(BudgetAllocatorContract):
    def make(self) -> BudgetAllocator:
        return SuccessiveHalving(rounds=3, first_budget=16, rank="edp")


def alive(allocator: BudgetAllocator, curves: dict[int, Curve], index: int = 0) -> list[int]:
    """Return who goes on, of trials of which nothing but the curve is known."""
    return allocator.survivors({t: Standing(curve) for t, curve in curves.items()}, index, [])


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
    assert alive(SuccessiveHalving(auc_share=0.0), curves) == list(range(kept))
    assert len(alive(SuccessiveHalving(), curves)) == kept


def test_a_steep_trial_takes_the_place_that_its_area_wins() -> None:
    curves = {i: flat(float(i + 1)) for i in range(7)} | {7: steep(9.0)}
    # 8 trials, share 0.15: 1.2 places, so one of the four goes by area.
    assert alive(SuccessiveHalving(auc_share=0.15), curves) == [0, 1, 2, 7]
    assert alive(SuccessiveHalving(auc_share=0.0), curves) == [0, 1, 2, 3]
    assert alive(SuccessiveHalving(auc_share=0.2), curves) == [0, 1, 2, 7]


def test_an_infeasible_trial_never_wins_by_area() -> None:
    curves = {0: flat(1.0), 1: flat(2.0), 2: Curve((1, 16), (inf, inf)), 3: flat(inf)}
    assert alive(SuccessiveHalving(auc_share=0.3), curves) == [0, 1]


def test_the_best_terminal_value_keeps_a_place_at_any_share() -> None:
    curves = {0: steep(5.0), 1: flat(1.0)}
    assert alive(SuccessiveHalving(auc_share=0.49), curves) == [1]


def test_equal_trials_rank_by_id() -> None:
    curves = {i: flat(1.0) for i in (9, 4, 2, 7)}
    assert alive(SuccessiveHalving(auc_share=0.3), curves) == [2, 4]


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
    allocator = HyperbandBrackets(rounds=3, first_budget=16)
    dealt = [allocator.bracket(trial) for trial in range(20)]
    assert [dealt[:10].count(k) for k in range(3)] == [4, 3, 3]
    assert dealt[10:] == dealt[:10]
    # halved twice: 4, 2 and 1 trials; once: 3, 3 and 2; never: 3, 3 and 3
    costs = [sum(n * 16 << i for i, n in enumerate(c)) for c in ((4, 2, 1), (3, 3, 2), (3, 3, 3))]
    assert max(costs) < 2 * min(costs)


def test_a_late_bracket_is_not_halved_early() -> None:
    allocator = HyperbandBrackets(rounds=3, first_budget=16)
    curves = {trial: flat(float(trial + 1)) for trial in range(10)}
    first = alive(allocator, curves)
    by_bracket = [[t for t in first if allocator.bracket(t) == k] for k in range(3)]
    assert [len(group) for group in by_bracket] == [2, 3, 3]
    second = alive(allocator, {trial: curves[trial] for trial in first}, 1)
    assert [sum(allocator.bracket(t) == k for t in second) for k in range(3)] == [1, 2, 3]


def standing(edp: float, area: float, bound: float = 0.0) -> Standing:
    return Standing(flat(edp), (edp, area), (bound, area))


def test_a_small_design_on_the_front_goes_on_where_a_dominated_one_has_the_lower_edp() -> None:
    standings = {0: standing(1.0, 9.0), 1: standing(2.0, 9.0), 2: standing(3.0, 9.5)}
    standings[3] = standing(50.0, 1.0)
    by_front = SuccessiveHalving(auc_share=0.0)
    assert by_front.survivors(standings, 0, []) == [0, 3]
    assert SuccessiveHalving(auc_share=0.0, rank="edp").survivors(standings, 0, []) == [0, 1]
    # a rival that nothing can bring it below takes its place on the front away
    assert by_front.survivors(standings, 0, [(1.5, 0.5)]) == [0, 1]


def test_what_is_at_its_bound_promises_nothing() -> None:
    standings = {0: standing(1.0, 9.0), 1: standing(20.0, 2.0, bound=20.0)}
    standings |= {2: standing(30.0, 1.5), 3: standing(40.0, 9.5)}
    assert SuccessiveHalving(auc_share=0.0).survivors(standings, 0, []) == [0, 2]


def test_gains_are_volumes_of_the_hoped_for_front() -> None:
    standings = {0: standing(10.0, 1.0), 1: standing(1.0, 10.0, bound=0.95), 2: Standing(flat(inf))}
    gains = front_gains(standings, [(100.0, 100.0)])
    corner = (110.0, 110.0)
    before = hypervolume([(10.0, 1.0), (1.0, 10.0)], corner)
    assert gains[0] == pytest.approx(hypervolume([(9.0, 1.0), (1.0, 10.0)], corner) - before)
    assert gains[1] == pytest.approx(hypervolume([(10.0, 1.0), (0.95, 10.0)], corner) - before)
    assert gains[2] == -1.0
