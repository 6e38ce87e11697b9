"""The default search: proven where the budget buys it, the better of two searches where not."""

from dataclasses import replace
from itertools import pairwise
from math import exp, inf

import numpy as np
import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping import auto as auto_mapping
from archloom.search.mapping.auto import OTHERS, AutoMapping
from archloom.search.mapping.exact.search import ExactMapping
from archloom.search.mapping.protocol import MappedLayer, Progress
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import Effects

from ...cases.small_designs import casco_edge, resnet_conv
from ...contracts.mapping_search import PROBLEMS, objective

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
    found, (exact, local) = after(problem, 7000), parts(problem, 7000)
    assert 0 < exact.gap_percent < inf
    assert found.mapping == local.mapping != exact.mapping
    assert 0 < found.gap_percent < exact.gap_percent
    bound = exp(objective(problem, exact)) / (1 + exact.gap_percent / 100)
    assert exp(objective(problem, found)) / (1 + found.gap_percent / 100) == pytest.approx(bound)
    assert bound <= exp(objective(problem, after(problem, 10**7)))


def test_a_budget_that_proves_nothing_leaves_a_gap_that_is_finite() -> None:
    assert 0 < after(HARD, 1000).gap_percent < inf


def test_enough_of_a_budget_is_a_proof() -> None:
    for problem in (HARD, MappingProblem.of_layer(resnet_conv(), preset("eyeriss"))):
        found = after(problem, 10**7)
        assert found.gap_percent == 0
        assert found.evaluations == 10**7


def held(problem: MappingProblem, budget: int, stop_at: int | None = None) -> MappedLayer:
    """Search until the budget is spent, or so many reports were told; check what is told."""
    search, stop, reports = AutoMapping(LocalMapping()), np.zeros(1, np.uint8), []

    def watch(progress: Progress) -> None:
        reports.append(progress)
        stop[0] = len(reports) == stop_at

    found = search.best(problem, search.until(problem, 3, budget, stop, watch))
    for one, two in pairwise(reports):
        assert two.score <= one.score
        assert two.bound >= one.bound
        assert two.evaluations >= one.evaluations
    assert all(p.bound <= p.score for p in reports)
    if reports:
        assert exp(reports[-1].score) == pytest.approx(exp(objective(problem, found)))
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_search_that_nobody_stops_proves(name: str) -> None:
    problem = PROBLEMS[name]
    found = held(problem, 10**9)
    assert found.gap_percent == 0
    assert found.evaluations < 10**9
    assert objective(problem, found) == objective(problem, after(problem, 10**8))


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a problem that is proven soon take several rounds."""
    monkeypatch.setattr(auto_mapping, "FIRST_ROUND", 500)
    monkeypatch.setattr(auto_mapping, "SLICE", 90)


@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize("problem", [HARD, PROBLEMS["resnet on eyeriss"]])
def test_more_budget_is_never_worse_and_none_is_spent_twice(problem: MappingProblem) -> None:
    budgets = (1, 3, 4, 50, 450, 700, 5000, 9000, 20_000, 40_000, 10**6)
    bests = [held(problem, budget) for budget in budgets]
    scores = [objective(problem, found) for found in bests]
    assert scores == sorted(scores, reverse=True)
    gaps = [found.gap_percent for found in bests]
    assert gaps == sorted(gaps, reverse=True)
    for found, budget in zip(bests, budgets, strict=True):
        assert 0 < found.evaluations <= budget
    spent = [found.evaluations for found in bests]
    assert spent == sorted(spent)
    assert bests[-1].gap_percent == 0


@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize("report", [1, 2, 5, 9, 20, 40, 80])
def test_stopped_at_any_report_it_has_a_mapping_and_a_bound_that_holds(report: int) -> None:
    best = held(HARD, 10**9)
    found = held(HARD, 10**9, report)
    assert found.mapping is not None
    assert objective(HARD, found) >= objective(HARD, best)
    if found.gap_percent < inf:
        bound = exp(objective(HARD, found)) / (1 + found.gap_percent / 100)
        assert bound <= exp(objective(HARD, best)) * (1 + 1e-12)


def test_stopped_before_it_began_it_has_a_mapping() -> None:
    search = AutoMapping(LocalMapping())
    state = search.until(HARD, 0, 10**9, np.ones(1, np.uint8), lambda _: None)
    assert search.best(HARD, state).mapping is not None
    assert search.best(HARD, state).evaluations == OTHERS


def test_where_nothing_can_be_proven_it_ends_with_the_budget() -> None:
    meshed = replace(preset("eyeriss"), effects=Effects(network="mesh", fill_drain="exposed"))
    problem = MappingProblem.of_layer(resnet_conv(), meshed)
    assert held(problem, 100_000).evaluations <= 100_000
