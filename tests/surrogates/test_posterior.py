from dataclasses import replace

import numpy as np
import pytest

from archloom.search.pareto import hypervolume
from archloom.surrogates.gp import GaussianProcess, Prior
from archloom.surrogates.posterior import EncodedDesigns, Posterior

REFERENCE = np.ones(3)


def designs(n: int, seed: int) -> EncodedDesigns:
    rng = np.random.default_rng(seed)
    return EncodedDesigns(rng.random((n, 2)), rng.random((n, 3)), np.empty((n, 0)))


def fitted(front: int = 3) -> Posterior:
    rng = np.random.default_rng(9)
    x = rng.random((12, 2))
    process = GaussianProcess.fit(x, x[:, 0] * 0.3)
    return Posterior((process, None, None), 0.3 + rng.random((front, 3)), REFERENCE)


def test_the_first_of_a_batch_has_the_highest_score() -> None:
    posterior, some = fitted(), designs(50, 0)
    assert posterior.best(some, 4)[0] == int(np.argmax(posterior.score(some)))


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
    posterior, some = fitted(), designs(2, 1)
    after = posterior.condition_on_mean(some)
    process = posterior.processes[0]
    assert process is not None
    mean, _ = process.predict(some.inputs)
    expected = some.ln_least + np.column_stack([mean, np.zeros((2, 2))])
    np.testing.assert_array_equal(after.front[-2:], expected)
    assert (after.score(some) < posterior.score(some)).all()


def test_deviations_double_until_designs_can_be_told_apart() -> None:
    """All are some 40 deviations above the only result, and would promise exactly nothing."""
    front = np.full((1, 1), -1.0)
    posterior = Posterior((Prior(0.025),), front, np.ones(1), std_scale=0.5)
    some = EncodedDesigns(np.zeros((3, 2)), np.array([[-0.5], [-0.6], [-0.4]]), np.empty((3, 0)))
    assert (posterior.score(some) == 0).all()
    widened = posterior.with_widened_std(some)
    assert widened.std_scale > 1
    doublings = np.log2(widened.std_scale / posterior.std_scale)
    assert doublings == int(doublings)
    assert widened.best(some, 1) == [1]


def test_deviations_stay_where_something_is_promised_or_nothing_is_known() -> None:
    posterior, some = fitted(), designs(50, 0)
    assert posterior.with_widened_std(some) is posterior
    empty = replace(posterior, front=np.empty((0, 3)))
    assert empty.with_widened_std(some) is empty
    assert posterior.with_widened_std(designs(0, 0)) is posterior


def test_no_more_are_chosen_than_there_are() -> None:
    assert sorted(fitted().best(designs(3, 0), 8)) == [0, 1, 2]
    assert fitted().best(designs(3, 0), 0) == []


def test_the_prior_says_the_same_everywhere() -> None:
    mean, std = Prior(0.25).condition_on_mean(np.ones((1, 2))).predict(designs(4, 0).inputs)
    assert mean == pytest.approx(np.zeros(4))
    assert std == pytest.approx(np.full(4, 0.25))


def test_every_unknown_objective_has_its_own_process() -> None:
    some = designs(30, 3)
    posterior = Posterior((Prior(0.3), None, Prior(0.1)), np.empty((0, 3)), REFERENCE)
    mean, std = posterior.objectives(some)
    np.testing.assert_array_equal(mean, some.ln_least)
    np.testing.assert_array_equal(std, np.broadcast_to([0.3, 0.0, 0.1], (30, 3)))


def test_nothing_is_chosen_that_promises_no_more_than_the_least() -> None:
    """Without deviation a design that the front dominates is worth nothing."""
    some = designs(40, 4)
    posterior = Posterior((None, None, None), np.array([[0.3, 0.3, 0.3]]), REFERENCE)
    chosen = posterior.best(some, 40, least=0.0)
    assert 0 < len(chosen) < 40
    assert (some.ln_least[chosen] < 0.3).any(axis=1).all()


def test_without_deviation_an_improvement_is_that_of_the_means() -> None:
    posterior, some = fitted(), designs(30, 0)
    mean, _ = posterior.objectives(some)
    sure = replace(posterior, std_scale=0.0).score(some)
    corner = np.exp(posterior.reference).tolist()
    before = hypervolume(np.exp(posterior.front), corner)
    gains = [
        hypervolume(np.exp(np.vstack([posterior.front, row])), corner) - before for row in mean
    ]
    assert sure == pytest.approx(np.array(gains) * np.log(10) ** mean.shape[1], abs=1e-9)
    assert (posterior.score(some) > sure - 1e-9).all()


def with_two_outcomes() -> Posterior:
    """Designs whose second outcome has more of the first cost, and often less of the second."""
    rng = np.random.default_rng(8)
    x = rng.random((12, 2))
    more = GaussianProcess.fit(x, 0.1 + x[:, 0] * 0.3)
    less = GaussianProcess.fit(x, 0.1 - x[:, 1] * 0.4)
    return replace(fitted(), second=(more, less, None))


def test_two_outcomes_are_worth_what_they_add_together() -> None:
    posterior, some = replace(with_two_outcomes(), std_scale=0.0), designs(40, 0)
    one = replace(posterior, second=None)
    assert posterior.second is not None
    other = replace(posterior, processes=posterior.second, second=None)
    corner = np.exp(posterior.reference).tolist()
    before = hypervolume(np.exp(posterior.front), corner)
    gains = [
        hypervolume(np.exp(np.vstack([posterior.front, *rows])), corner) - before
        for rows in zip(one.objectives(some)[0], other.objectives(some)[0], strict=True)
    ]
    found = posterior.score(some)
    assert found == pytest.approx(np.array(gains) * np.log(10) ** 3, abs=1e-9)
    single = np.maximum(one.score(some), other.score(some))
    assert (found > single - 1e-9).all()
    assert (found > single + 1e-3).any()
    assert (found < one.score(some) + other.score(some) - 1e-3).any()


def test_a_batch_believes_in_both_outcomes() -> None:
    """A batch at fixed designs is the same as one design after another, with any."""
    posterior, some = with_two_outcomes(), designs(40, 1)
    chosen = posterior.best(some, 3)
    for n, best in enumerate(chosen):
        assert best == int(np.argmax(posterior.score(some)))
        posterior = posterior.condition_on_mean(some[np.array([best])]).without_factors()
        assert len(posterior.front) == 3 + 2 * (n + 1)
