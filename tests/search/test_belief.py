from dataclasses import replace

import numpy as np
import pytest

from archloom.search.belief import Belief, Designs
from archloom.search.pareto import hypervolume
from archloom.surrogates.gp import GaussianProcess, Prior

REFERENCE = np.ones(3)


def designs(n: int, seed: int) -> Designs:
    rng = np.random.default_rng(seed)
    return Designs(rng.random((n, 2)), rng.random((n, 3)), np.empty((n, 0)))


def fitted(front: int = 3) -> Belief:
    rng = np.random.default_rng(9)
    x = rng.random((12, 2))
    process = GaussianProcess.fit(x, x[:, 0] * 0.3)
    return Belief((process, None, None), 0.3 + rng.random((front, 3)), REFERENCE)


def test_the_first_of_a_batch_has_the_highest_score() -> None:
    belief, some = fitted(), designs(50, 0)
    assert belief.best(some, 4)[0] == int(np.argmax(belief.score(some)))


def test_a_batch_does_not_bet_on_one_design_twice() -> None:
    """A copy of the best design has the second score, and is worth next to nothing after it."""
    some = designs(50, 0)
    best = fitted().best(some, 1)[0]
    rows = np.array([*range(50), best])
    scores = fitted().score(some[rows])
    assert np.argsort(-scores)[1] in (best, 50)
    chosen = fitted().best(some[rows], 3)
    assert len({best, 50} & set(chosen)) == 1


def test_believing_adds_the_mean_to_the_front() -> None:
    belief, some = fitted(), designs(2, 1)
    after = belief.believing(some)
    process = belief.processes[0]
    assert process is not None
    mean, _ = process.predict(some.inputs)
    expected = some.ln_least + np.column_stack([mean, np.zeros((2, 2))])
    np.testing.assert_array_equal(after.front[-2:], expected)
    assert (after.score(some) < belief.score(some)).all()


def test_doubts_double_until_designs_can_be_told_apart() -> None:
    """All are some 40 deviations above the only result, and would promise exactly nothing."""
    front = np.full((1, 1), -1.0)
    belief = Belief((Prior(0.025),), front, np.ones(1), doubt=0.5)
    some = Designs(np.zeros((3, 2)), np.array([[-0.5], [-0.6], [-0.4]]), np.empty((3, 0)))
    assert (belief.score(some) == 0).all()
    roused = belief.roused(some)
    assert roused.doubt > 1
    assert np.log2(roused.doubt / belief.doubt) == int(np.log2(roused.doubt / belief.doubt))
    assert roused.best(some, 1) == [1]


def test_doubts_stay_where_something_is_promised_or_nothing_is_known() -> None:
    belief, some = fitted(), designs(50, 0)
    assert belief.roused(some) is belief
    empty = replace(belief, front=np.empty((0, 3)))
    assert empty.roused(some) is empty
    assert belief.roused(designs(0, 0)) is belief


def test_no_more_are_chosen_than_there_are() -> None:
    assert sorted(fitted().best(designs(3, 0), 8)) == [0, 1, 2]
    assert fitted().best(designs(3, 0), 0) == []


def test_the_prior_says_the_same_everywhere() -> None:
    mean, std = Prior(0.25).believing(np.ones((1, 2))).predict(designs(4, 0).inputs)
    assert mean == pytest.approx(np.zeros(4))
    assert std == pytest.approx(np.full(4, 0.25))


def test_every_unknown_objective_has_its_own_process() -> None:
    some = designs(30, 3)
    belief = Belief((Prior(0.3), None, Prior(0.1)), np.empty((0, 3)), REFERENCE)
    mean, std = belief.objectives(some)
    np.testing.assert_array_equal(mean, some.ln_least)
    np.testing.assert_array_equal(std, np.broadcast_to([0.3, 0.0, 0.1], (30, 3)))


def test_nothing_is_chosen_that_promises_no_more_than_the_least() -> None:
    """Without doubt a design that the front dominates is worth nothing."""
    some = designs(40, 4)
    belief = Belief((None, None, None), np.array([[0.3, 0.3, 0.3]]), REFERENCE)
    chosen = belief.best(some, 40, least=0.0)
    assert 0 < len(chosen) < 40
    assert (some.ln_least[chosen] < 0.3).any(axis=1).all()


def test_without_doubt_an_improvement_is_that_of_the_means() -> None:
    belief, some = fitted(), designs(30, 0)
    mean, _ = belief.objectives(some)
    sure = replace(belief, doubt=0.0).score(some)
    corner = np.exp(belief.reference).tolist()
    before = hypervolume(np.exp(belief.front), corner)
    gains = [hypervolume(np.exp(np.vstack([belief.front, row])), corner) - before for row in mean]
    assert sure == pytest.approx(np.array(gains) * np.log(10) ** mean.shape[1], abs=1e-9)
    assert (belief.score(some) > sure - 1e-9).all()
