"""Fitting of a Gaussian process's hyperparameters, each time from the same start.

The maximum a posteriori estimate under the dimension-scaled priors of Hvarfner et al., "Vanilla
Bayesian Optimization Performs Great in High Dimensions" (ICML 2024), by L-BFGS. Model, priors and
start are those of BoTorch's ``SingleTaskGP``, and so is what is found; in numpy it takes a tenth of
the time, and no import of torch.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import exp, log, pi, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from archloom.evaluators import Floats

#: Iterations of L-BFGS in a fit. The likelihood of a hundred designs has settled by then, and an
#: uncapped fit costs more than ten times as much.
MAX_FIT_ITERATIONS: Final = 75

#: Results that hyperparameters are fitted to: a fit costs the cube of their number, and a few
#: hundred settle a few dozen parameters. The posterior has all of them.
MAX_FIT_ROWS: Final = 256

#: Least deviation that targets are scaled by. Targets are natural logarithms, and a few designs
#: whose ratios of cost to bound agree within 1% say nothing about the spread of the others. Ratios
#: to tight bounds vary by 2 to 5%: scaled by more than that, what can be learned of them would be
#: next to nothing beside the noise that the prior expects.
_MIN_SCALE: Final = 0.01

#: Least variance of the noise and least length scale, which are BoTorch's.
LEAST_NOISE: Final = 1e-4
LEAST_LENGTH: Final = 2.5e-2

#: Location and scale of the log-normal prior of the noise's variance: BoTorch's own, and that of a
#: cost over its bound. That one jumps between neighbours, where a tile stops fitting, by about as
#: much as it varies at all; a process that has to go through each result predicts it less well
#: than its mean does (docs/explanation/hardware_search.md).
SMOOTH_NOISE_PRIOR: Final = (-4.0, 1.0)
ROUGH_NOISE_PRIOR: Final = (0.0, 1.0)


@contextmanager
def single_threaded_torch() -> Iterator[None]:
    """Run torch on one thread, and leave it as it was.

    On one thread a sum has one order, and busy cores do not fight. Warnings are silent: they
    are about deprecations inside the libraries, and about stopping at the cap on iterations, which
    is meant here.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of a fit, for targets that are scaled to mean 0 and deviation 1.

    Attributes:
        length_scales: [d], one for each input.
        mean: constant mean.
        noise: variance of the noise.
        centre, scale: the targets' own mean and deviation.
    """

    length_scales: Floats
    mean: float
    noise: float
    centre: float
    scale: float


def fit_hyperparameters(
    inputs: Floats,
    targets: Floats,
    max_iterations: int = MAX_FIT_ITERATIONS,
    noise: tuple[float, float] = SMOOTH_NOISE_PRIOR,
) -> Hyperparameters:
    """Fit the hyperparameters from their prior modes; draws no random number.

    Of more than ``MAX_FIT_ROWS`` rows some are fitted to, evenly over their order.

    Args:
        inputs: [n, d] in [0, 1], n at least 1.
        targets: [n], finite.
        max_iterations: cap on the optimizer's iterations.
        noise: prior of the noise, ``SMOOTH_NOISE_PRIOR`` or ``ROUGH_NOISE_PRIOR``.

    Raises:
        ValueError: shapes that do not fit, no row, or a value that is not finite.
    """
    _check(inputs, targets)
    centre, scale = float(targets.mean()), max(float(targets.std()), _MIN_SCALE)
    rows = fitted_rows(len(inputs))
    lengths = (sqrt(2) + log(inputs.shape[1]) / 2, sqrt(3))
    data = _Data(inputs[rows], (targets[rows] - centre) / scale, lengths, noise)
    modes = [exp(place - spread**2) for place, spread in (lengths, noise)]
    start = np.array([modes[1], 0.0, *[modes[0]] * inputs.shape[1]])
    least = [LEAST_NOISE, -np.inf, *[LEAST_LENGTH] * inputs.shape[1]]
    found = minimize(
        data.loss,
        np.maximum(start, least),
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for low in least],
        options={"maxiter": max_iterations},
    ).x
    return Hyperparameters(found[2:].copy(), float(found[1]), float(found[0]), centre, scale)


def fitted_rows(n: int) -> NDArray[np.int64]:
    """Return which of ``n`` results hyperparameters are fitted to: evenly over their order."""
    return np.linspace(0, n - 1, min(n, MAX_FIT_ROWS)).astype(np.int64)


@dataclass(frozen=True)
class _Data:
    """Data of a fit, and the priors of length scales and noise, each as log-normal parameters.

    Attributes:
        inputs: [n, d].
        targets: [n], scaled.
        lengths, noise: location and scale of a prior.
    """

    inputs: Floats
    targets: Floats
    lengths: tuple[float, float]
    noise: tuple[float, float]

    @cached_property
    def unit(self) -> Floats:
        """Identity matrix, [n, n]."""
        return np.eye(len(self.targets))

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the logarithm of the posterior density, for each target, and its gradient.

        Equations 5.8 and 5.9 of Rasmussen and Williams, "Gaussian Processes for Machine Learning"
        (2006). ``theta`` has the noise's variance, the mean, and [d] length scales.
        """
        noise, mean, scales = theta[0], theta[1], theta[2:]
        n, near, off = len(self.targets), self.inputs / scales, self.targets - mean
        kernel = np.exp(-0.5 * cdist(near, near, "sqeuclidean"))
        noisy = kernel.copy()
        noisy.flat[:: n + 1] += noise
        # scipy's functions around these two take as long as they do
        root, failed = dpotrf(noisy, lower=1, clean=1)
        if failed:
            # the step went where rounding makes the matrix singular; the search steps back
            return np.inf, np.zeros_like(theta)
        inverse, _ = dpotrs(root, self.unit, lower=1)
        weights = inverse @ off
        log_density = -0.5 * float(off @ weights) - 0.5 * n * log(2 * pi)
        log_density -= float(np.log(root.diagonal()).sum())
        pull = weights[:, None] * weights - inverse
        # the sum of pull * kernel * (x_i - x_j)^2 over all pairs, for each input
        both = pull * kernel
        spread = 2 * (both.sum(axis=1) @ near**2 - np.einsum("id,id->d", near, both @ near))
        slope = np.array([0.5 * pull.trace(), weights.sum(), *(0.5 * spread / scales).tolist()])
        for part, prior in ((slice(0, 1), self.noise), (slice(2, None), self.lengths)):
            value, gradient = _log_normal(theta[part], prior)
            log_density += value
            slope[part] += gradient
        return -log_density / n, -slope / n


def _log_normal(values: Floats, prior: tuple[float, float]) -> tuple[float, Floats]:
    """Return the logarithm of the density of log-normal values, and its gradient."""
    place, spread = prior
    logs = np.log(values)
    off = (logs - place) / spread
    density = -logs - log(spread) - 0.5 * log(2 * pi) - 0.5 * off**2
    return float(density.sum()), -(1 + off / spread) / values


class HyperparameterCache:
    """Hyperparameters by the data that they were fitted to; the same data give the same fit.

    Args:
        most: fits that are remembered; the oldest goes first.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._found: dict[bytes, Hyperparameters] = {}

    def __call__(
        self, inputs: Floats, targets: Floats, noise: tuple[float, float] = SMOOTH_NOISE_PRIOR
    ) -> Hyperparameters:
        """Return :func:`fit_hyperparameters` of the data."""
        key = sha256(inputs.tobytes() + targets.tobytes() + str(noise).encode()).digest()
        if key not in self._found:
            if len(self._found) >= self._most:
                del self._found[next(iter(self._found))]
            self._found[key] = fit_hyperparameters(inputs, targets, noise=noise)
        return self._found[key]


def untrained_model(
    inputs: Floats,
    targets: Floats,
    used: tuple[int, ...] | None = None,
    noise: tuple[float, float] = SMOOTH_NOISE_PRIOR,
) -> Any:
    """Return BoTorch's model of the data as it is before a fit, in double precision.

    ``used`` are the columns of the inputs that it looks at, None for all; ``noise`` is the prior
    of the noise.
    """
    import torch
    from botorch.models import SingleTaskGP
    from botorch.models.utils.gpytorch_modules import (
        MIN_INFERRED_NOISE_LEVEL,
        get_covar_module_with_dim_scaled_prior,
    )
    from gpytorch.constraints import GreaterThan
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.priors import LogNormalPrior

    x = torch.from_numpy(np.array(inputs, dtype=np.float64, order="C"))
    y = torch.from_numpy(np.array(targets, dtype=np.float64, order="C")).unsqueeze(-1)
    kernel = used and get_covar_module_with_dim_scaled_prior(len(used), active_dims=used)
    prior = LogNormalPrior(*noise)
    above = GreaterThan(MIN_INFERRED_NOISE_LEVEL, transform=None, initial_value=prior.mode)
    return SingleTaskGP(
        x, y, covar_module=kernel or None, outcome_transform=None,
        likelihood=GaussianLikelihood(noise_prior=prior, noise_constraint=above),
    )  # fmt: skip


def _check(inputs: Floats, targets: Floats) -> None:
    if inputs.ndim != 2 or targets.shape != inputs.shape[:1] or not len(targets):
        raise ValueError(
            f"a fit needs inputs [n, d] and targets [n] with n >= 1, got {inputs.shape} and "
            f"{targets.shape}"
        )
    if not (np.isfinite(inputs).all() and np.isfinite(targets).all()):
        raise ValueError("a fit needs finite inputs and targets; leave out trials without an EDP")
