"""A population in lanes: what operators leave behind, and that pricing in lanes changes nothing."""

import numpy as np
import pytest

from archloom.evaluators.loopnest.simd.records import LANES
from archloom.search.mapping.simd.candidates import mapping_of, new_block
from archloom.search.mapping.simd.gamma import bred

from ....cases.constrained_problems import constrained_problem, satisfied
from ..exact.test_annealing import PROBLEMS, score, well_formed
from .test_annealing import BUDGETS, kernel_finds_as_much, lane, stand


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_population_stays_well_formed_and_knows_its_scores(name: str) -> None:
    setup = PROBLEMS[name].setup
    people, done = new_block(setup), 0
    for budget in BUDGETS:
        people, done = bred(setup, people, 5, done, budget), done + budget
        scores = people.lanes[0]["scores"]
        for i in range(0, LANES, 3):
            loops, keep = lane(people, i)
            assert well_formed(setup, loops, keep)
            again = mapping_of(setup, stand(people, i))
            assert np.array_equal(loops, again[0])
            if np.isfinite(scores[i]):
                assert scores[i] == pytest.approx(score(setup, loops, keep), rel=1e-12)
        best = mapping_of(setup, people.best)
        assert people.least[0] == pytest.approx(score(setup, *best), rel=1e-12)
        assert people.least[0] <= scores.min()
    assert people.least[0] == scores.min()
    # one lives of several with the same score
    assert len(np.unique(scores)) == LANES


def test_operators_change_every_kind_of_choice() -> None:
    setup = PROBLEMS["bypass"].setup
    people = bred(setup, new_block(setup), 2, 0, 60 * LANES)
    seen: list[set[bytes]] = [set() for _ in range(5)]
    for i in range(LANES):
        loops, keep = lane(people, i)
        for kind in range(4):
            seen[kind].add(loops[:, kind].tobytes())
        seen[4].add(keep.tobytes())
    assert all(len(s) > 2 for s in seen)


def test_children_obey_constraints() -> None:
    finite = 0
    for number in range(0, 120, 3):
        problem = constrained_problem(number)
        if problem.impossible() is not None:
            continue
        people = bred(problem.setup, new_block(problem.setup), number, 0, 20 * LANES)
        for i in np.flatnonzero(np.isfinite(people.lanes[0]["scores"])):
            loops, keep = lane(people, i)
            assert satisfied(problem, loops[None], keep).all(), number
            finite += 1
    assert finite > 300


@pytest.mark.parametrize("number", range(10))
def test_the_kernel_breeds_what_lanes_breed(number: int) -> None:
    assert kernel_finds_as_much(number, bred)
