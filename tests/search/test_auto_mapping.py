"""The default search: proven where the budget buys it, the better of two searches where not."""

from math import exp, inf

import pytest

from archloom.evaluators.problem import MappingProblem
from archloom.search.auto_mapping import OTHERS, AutoMapping
from archloom.search.exact_mapping import ExactMapping
from archloom.search.mapping_search import LocalMapping
from archloom.search.protocols import MappedLayer
from archloom.space.presets import preset

from ..contracts.mapping_search import PROBLEMS, objective
from .small_cases import casco_edge, resnet_conv

BUDGETS = (1, 3, 4, 50, 400, 3000, 20_000)
HARD = MappingProblem.of_layer(resnet_conv(), casco_edge())


def after(problem: MappingProblem, budget: int) -> MappedLayer:
    search = AutoMapping(LocalMapping())
    return search.best(problem, search.advance(problem, search.start(problem, 3), budget))


def parts(problem: MappingProblem, budget: int) -> tuple[MappedLayer, MappedLayer]:
    """What both searches find by themselves with their parts of a budget."""
    other = budget // OTHERS
    exact, local = ExactMapping(), LocalMapping()
    one = exact.advance(problem, exact.start(problem, 3), budget - other)
    two = local.advance(problem, local.start(problem, 3), max(1, other))
    return exact.best(problem, one), local.best(problem, two)


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_the_better_of_both(name: str) -> None:
    problem = PROBLEMS[name]
    for budget in BUDGETS:
        found, (one, two) = after(problem, budget), parts(problem, budget)
        assert found.evaluations == budget
        if one.gap_percent == 0 or budget < OTHERS:
            assert found.mapping == one.mapping
            assert found.gap_percent == one.gap_percent
        else:
            least = min(objective(problem, one), objective(problem, two))
            assert objective(problem, found) == least


def test_what_the_other_finds_is_compared_with_the_bound_of_the_exact_search() -> None:
    problem = PROBLEMS["resnet on eyeriss"]
    found, (exact, local) = after(problem, 8000), parts(problem, 8000)
    assert 0 < exact.gap_percent < inf
    assert found.mapping == local.mapping != exact.mapping
    assert 0 < found.gap_percent < exact.gap_percent
    bound = exp(objective(problem, exact)) / (1 + exact.gap_percent / 100)
    assert exp(objective(problem, found)) / (1 + found.gap_percent / 100) == pytest.approx(bound)
    assert bound <= exp(objective(problem, after(problem, 10**7)))


def test_without_a_bound_nothing_is_known() -> None:
    assert after(HARD, 1000).gap_percent == inf


def test_enough_of_a_budget_is_a_proof() -> None:
    for problem in (HARD, MappingProblem.of_layer(resnet_conv(), preset("eyeriss"))):
        found = after(problem, 10**7)
        assert found.gap_percent == 0
        assert found.evaluations == 10**7
