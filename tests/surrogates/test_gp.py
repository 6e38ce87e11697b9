import warnings

import numpy as np
import pytest
import torch

from archloom.surrogates.gp import GaussianProcess
from archloom.surrogates.gp_fit import (
    MAX_FIT_ROWS,
    ROUGH_NOISE_PRIOR,
    SMOOTH_NOISE_PRIOR,
    fit_hyperparameters,
    single_threaded_torch,
    untrained_model,
)


def smooth(x):
    return np.sin(3 * x[:, 0]) + x[:, 1] ** 2


def sample(n, seed):
    return np.random.default_rng(seed).random((n, 2))


def test_it_predicts_a_smooth_function_and_knows_how_well():
    x, unseen = sample(40, 0), sample(200, 1)
    mean, std = GaussianProcess.fit(x, smooth(x)).predict(unseen)
    error = np.abs(mean - smooth(unseen))
    assert error.mean() < 0.02
    assert (error <= 3 * std + 1e-3).mean() > 0.95


def test_the_posterior_is_botorchs() -> None:
    x, unseen = sample(15, 0), sample(20, 1)
    process = GaussianProcess.fit(x, smooth(x))
    found = process.hyperparameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = untrained_model(x, (smooth(x) - found.centre) / found.scale)
        model.covar_module.lengthscale = torch.from_numpy(found.length_scales)
        model.mean_module.constant.data.fill_(found.mean)
        model.likelihood.noise = found.noise
        with torch.no_grad():
            posterior = model.eval().posterior(torch.from_numpy(unseen))
    mean, std = process.predict(unseen)
    expected = posterior.mean.numpy().ravel() * found.scale + found.centre
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    deviation = posterior.variance.sqrt().numpy().ravel() * found.scale
    np.testing.assert_allclose(std, deviation, rtol=1e-4)


def test_what_varies_by_a_per_cent_is_learned_as_well_as_what_varies_a_lot() -> None:
    """Costs are that close to tight bounds."""
    x, unseen = sample(12, 0), sample(200, 1)
    large, small = (
        GaussianProcess(x, y, fit_hyperparameters(x, y, noise=ROUGH_NOISE_PRIOR)).predict(unseen)
        for y in (smooth(x), 0.03 * smooth(x))
    )
    assert small[0] == pytest.approx(0.03 * large[0], rel=1e-3, abs=1e-6)
    assert small[1] == pytest.approx(0.03 * large[1], rel=1e-3, abs=1e-6)


def test_doubt_is_small_at_a_result_and_large_far_from_all():
    x = sample(10, 0) * 0.3
    std = GaussianProcess.fit(x, smooth(x)).predict(np.vstack([x[:1], [[1.0, 1.0]]]))[1]
    assert std[1] > 3 * std[0]


def test_two_fits_agree_to_the_last_bit_and_leave_torch_as_it_was():
    x = sample(20, 0)
    torch.manual_seed(5)
    state, threads, dtype = (
        torch.get_rng_state(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
    )
    first = GaussianProcess.fit(x, smooth(x)).predict(x)
    torch.manual_seed(6)
    second = GaussianProcess.fit(x, smooth(x)).predict(x)
    np.testing.assert_array_equal(first, second)
    torch.manual_seed(5)
    GaussianProcess.fit(x, smooth(x)).predict(x)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == dtype


def test_believing_removes_doubt_and_keeps_the_mean():
    x, unseen = sample(8, 0), sample(30, 2)
    process = GaussianProcess.fit(x, smooth(x))
    mean, std = process.predict(unseen)
    mean_after, std_after = process.condition_on_mean(unseen[:3]).predict(unseen)
    np.testing.assert_allclose(mean_after, mean, atol=1e-6)
    assert (std_after <= std + 1e-9).all()
    assert (std_after[:3] < 0.9 * std[:3]).all()
    np.testing.assert_array_equal(process.predict(unseen)[1], std)


def test_believing_nothing_changes_nothing():
    process = GaussianProcess.fit(sample(5, 0), smooth(sample(5, 0)))
    assert process.condition_on_mean(np.empty((0, 2))) is process


def test_one_result_and_equal_results_can_be_fitted():
    for n in (1, 4):
        mean, std = GaussianProcess.fit(sample(n, 0), np.full(n, 2.5)).predict(sample(3, 1))
        np.testing.assert_allclose(mean, 2.5, atol=1e-6)
        assert (std > 0).all()


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (np.ones((2, 2)), np.ones(3), r"got \(2, 2\) and \(3,\)"),
        (np.ones((0, 2)), np.ones(0), "n >= 1"),
        (np.ones((1, 2)), np.array([np.inf]), "finite"),
    ],
)
def test_bad_data_is_named(inputs, targets, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess.fit(inputs, targets)


def test_a_long_history_is_fitted_in_part_and_believed_whole() -> None:
    rng = np.random.default_rng(5)
    inputs = rng.random((MAX_FIT_ROWS + 60, 2))
    targets = np.sin(4 * inputs[:, 0]) + inputs[:, 1]
    whole = GaussianProcess.fit(inputs, targets)
    rows = np.linspace(0, len(inputs) - 1, MAX_FIT_ROWS).astype(int)
    left = np.setdiff1d(np.arange(len(inputs)), rows)
    assert len(left) == 60
    np.testing.assert_array_equal(whole.inputs, inputs)
    mean, std = whole.predict(inputs[left])
    assert np.abs(mean - targets[left]).max() < 0.01
    assert std.max() < 0.05


def test_of_a_function_that_jumps_the_rough_prior_predicts_better_than_the_smooth_one() -> None:
    """Half of what varies is a slope; the other half differs from design to design."""
    x = sample(400, 0)
    jumps = np.random.default_rng(1).normal(0, 0.3, len(x))
    y = x[:, 0] + jumps
    errors = {}
    for name, noise in (("smooth", None), ("rough", ROUGH_NOISE_PRIOR)):
        squares = []
        for start in range(0, 100, 20):
            some = slice(start, start + 20)
            found = fit_hyperparameters(x[some], y[some], **({"noise": noise} if noise else {}))
            mean, _ = GaussianProcess(x[some], y[some], found).predict(x[200:])
            squares.append(np.mean((x[200:, 0] - mean) ** 2))
        errors[name] = float(np.mean(squares))
    assert errors["rough"] < 0.8 * errors["smooth"]


@pytest.mark.parametrize("noise", [ROUGH_NOISE_PRIOR, SMOOTH_NOISE_PRIOR])
def test_the_fit_is_botorchs(noise: tuple[float, float]) -> None:
    """Its own fit of its own model, from the same start, ends where ours does."""
    from botorch.optim.fit import fit_gpytorch_mll_scipy
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = sample(30, 0)
    y = smooth(x) + 0.1 * np.random.default_rng(3).standard_normal(30)
    found = fit_hyperparameters(x, y, noise=noise)
    with single_threaded_torch():
        model = untrained_model(x, (y - found.centre) / found.scale, noise=noise)
        likelihood = ExactMarginalLogLikelihood(model.likelihood, model).train()
        fit_gpytorch_mll_scipy(likelihood)
    scales = model.covar_module.lengthscale.detach().numpy().ravel()
    np.testing.assert_allclose(found.length_scales, scales, rtol=0.02)
    assert found.mean == pytest.approx(float(model.mean_module.constant.detach()), abs=0.02)
    assert found.noise == pytest.approx(float(model.likelihood.noise.detach()), rel=0.02)
