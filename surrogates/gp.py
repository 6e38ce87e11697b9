"""A Gaussian process over hardware inputs, fitted cold and the same way every time."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]

#: Steps of L-BFGS in a fit. The likelihood of a hundred designs has settled by then, and an
#: uncapped fit costs more than ten times as much.
MAX_FIT_STEPS: Final = 75

#: Results that hyperparameters are fitted to: a fit costs the cube of their number, and a few
#: hundred settle a few dozen parameters. The posterior has all of them.
MAX_FIT_ROWS: Final = 256

#: Least deviation that targets are scaled by. Targets are natural logarithms, and a few designs
#: whose EDPs agree within 5% say nothing about the spread of the others.
MIN_SCALE: Final = 0.05

#: Location and scale of the log-normal prior of the noise's variance: BoTorch's own, and that of a
#: cost over its bound. That one jumps between neighbours, where a tile stops fitting, by about as
#: much as it varies at all; a process that has to go through each result predicts it less well
#: than its mean does (docs/hardware_search.md).
SMOOTH: Final = (-4.0, 1.0)
ROUGH: Final = (0.0, 1.0)


@contextmanager
def torch_at_work() -> Iterator[None]:
    """Run torch on one thread, and leave it as it was.

    On one thread a sum has one order, and busy cores do not fight. Warnings are silent: they
    are about deprecations inside the libraries, and about stopping at the step cap, which is
    meant here.
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


class Outlook(Protocol):
    """A Gaussian belief at a fixed list of places, as results there are believed one by one."""

    @property
    def mean(self) -> Array:
        """Means [m]. Believing what is expected anyway changes none of them."""
        ...

    @property
    def std(self) -> Array:
        """Standard deviations [m]."""
        ...

    def believing(self, row: int) -> "Outlook":
        """Return the belief after the mean at place ``row`` came true."""
        ...


class Surrogate(Protocol):
    """A Gaussian belief in a function of [0, 1]^d."""

    def over(self, inputs: Array) -> Outlook:
        """Return the belief at ``inputs`` [m, d], which can be told of those that come true."""
        ...

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation [m] at ``inputs`` [m, d]."""
        ...

    def believing(self, inputs: Array) -> "Surrogate":
        """Return the belief after its own mean at ``inputs`` [m, d] came true."""
        ...


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed before any result: mean 0 and one deviation everywhere.

    Attributes:
        std: the deviation.
    """

    std: float

    def over(self, inputs: Array) -> "PriorOutlook":
        """Return the same belief at each of ``inputs`` [m, d]."""
        return PriorOutlook(*self.predict(inputs))

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation [m] at ``inputs`` [m, d]."""
        return np.zeros(len(inputs)), np.full(len(inputs), self.std)

    def believing(self, inputs: Array) -> "Prior":  # noqa: ARG002
        """Return the same: without a kernel no design tells of another."""
        return self


@dataclass(frozen=True, slots=True)
class PriorOutlook:
    """The belief of a :class:`Prior` at some places.

    Attributes:
        mean, std: [m].
    """

    mean: Array
    std: Array

    def believing(self, row: int) -> "PriorOutlook":  # noqa: ARG002
        """Return the same, as :meth:`Prior.believing` does."""
        return self


@dataclass(frozen=True)
class Hyperparameters:
    """What a fit finds, for targets that are scaled to mean 0 and deviation 1.

    Attributes:
        length_scales: [d], one for each input.
        mean: constant mean.
        noise: variance of the noise.
        centre, scale: the targets' own mean and deviation.
    """

    length_scales: Array
    mean: float
    noise: float
    centre: float
    scale: float


@dataclass(frozen=True)
class GaussianProcess:
    """A fitted process: hyperparameters by BoTorch's ``SingleTaskGP``, posterior in numpy.

    Kernel and priors are BoTorch's: a squared exponential of variance 1 with a length scale for
    each input, under the dimension-scaled log-normal prior of Hvarfner et al., "Vanilla Bayesian
    Optimization Performs Great in High Dimensions" (ICML 2024). The posterior is equations 2.23
    and 2.24 of Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006); only
    its diagonal is needed, which numpy has in a tenth of the time.

    Attributes:
        inputs: [n, d] in [0, 1].
        targets: [n], natural logarithms.
        found: the hyperparameters.
    """

    inputs: Array
    targets: Array
    found: Hyperparameters

    @classmethod
    def fit(
        cls, inputs: Array, targets: Array, max_steps: int = MAX_FIT_STEPS
    ) -> "GaussianProcess":
        """Fit to all results; see :func:`fitted`."""
        return cls(inputs, targets, fitted(inputs, targets, max_steps))

    def over(self, inputs: Array) -> "GaussianOutlook":
        """Return the belief in the noise-free function at ``inputs`` [m, d]."""
        root, weights = self._solved
        across = self.kernel(self.inputs, inputs)
        mean = self.found.mean + across.T @ weights
        explained = solve_triangular(root, across, lower=True, check_finite=False)
        variance = np.maximum(1.0 - (explained**2).sum(axis=0), 0.0)
        scaled = mean * self.found.scale + self.found.centre
        return GaussianOutlook(self, inputs, scaled, explained, variance)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation [m] of the noise-free function at [m, d]."""
        outlook = self.over(inputs)
        return outlook.mean, outlook.std

    def as_torch(self, extra: int = 0) -> Any:
        """Return the process as BoTorch's model of the scaled targets.

        Args:
            extra: columns that the model's inputs have after the process's own, and ignores.
        """
        import torch

        found = self.found
        inputs = np.column_stack([self.inputs, np.zeros((len(self.inputs), extra))])
        used = tuple(range(self.inputs.shape[1]))
        model = untrained_model(inputs, (self.targets - found.centre) / found.scale, used)
        model.covar_module.lengthscale = torch.from_numpy(found.length_scales)
        model.mean_module.constant = found.mean
        model.likelihood.noise = found.noise
        return model.eval()

    def believing(self, inputs: Array) -> "GaussianProcess":
        """Return the process after it has seen its own mean at ``inputs`` [m, d].

        The kriging believer of Ginsbourger et al., "Kriging is well-suited to parallelize
        optimization" (2010): a batch is picked one by one, each as if the means of those
        before it had come true. Hyperparameters stay as they are.
        """
        if not len(inputs):
            return self
        believed = np.concatenate([self.targets, self.predict(inputs)[0]])
        return GaussianProcess(np.concatenate([self.inputs, inputs]), believed, self.found)

    @cached_property
    def _solved(self) -> tuple[Array, Array]:
        """Cholesky factor of the covariance of the data, and its inverse times the residuals."""
        covariance = self.kernel(self.inputs, self.inputs)
        covariance[np.diag_indices_from(covariance)] += self.found.noise
        root = cholesky(covariance, lower=True, check_finite=False)
        residuals = (self.targets - self.found.centre) / self.found.scale - self.found.mean
        return root, cho_solve((root, True), residuals, check_finite=False)

    def kernel(self, one: Array, other: Array) -> Array:
        """Squared exponential of variance 1 between rows: [len(one), len(other)]."""
        scales = self.found.length_scales
        return np.asarray(np.exp(-0.5 * cdist(one / scales, other / scales, "sqeuclidean")))


@dataclass(frozen=True)
class GaussianOutlook:
    """The posterior at some places, cheap to condition on the means there one after another.

    A result that is as expected moves no mean, and takes from the covariance of any two places
    the product of their covariances with it, over its own variance (Rasmussen and Williams 2006,
    equation A.6): a row of the Cholesky factor more, instead of a new one.

    Attributes:
        process: where the belief comes from.
        inputs: [m, d].
        mean: [m].
        explained: [n, m] covariances with the process's own data, solved by their factor.
        variance: [m] of the scaled function.
        believed: the rows that were added to ``explained``: [m] each.
    """

    process: GaussianProcess
    inputs: Array
    mean: Array
    explained: Array
    variance: Array
    believed: tuple[Array, ...] = ()

    @property
    def std(self) -> Array:
        """Standard deviations [m]."""
        return np.sqrt(self.variance) * self.process.found.scale

    def believing(self, row: int) -> "GaussianOutlook":
        """Return the belief after the mean at place ``row`` came true."""
        shared = self.process.kernel(self.inputs[row : row + 1], self.inputs)[0]
        shared -= self.explained[:, row] @ self.explained
        for before in self.believed:
            shared -= before[row] * before
        learned = shared / np.sqrt(self.variance[row] + self.process.found.noise)
        variance = np.maximum(self.variance - learned**2, 0.0)
        return replace(self, variance=variance, believed=(*self.believed, learned))


def fitted(
    inputs: Array,
    targets: Array,
    max_steps: int = MAX_FIT_STEPS,
    noise: tuple[float, float] = SMOOTH,
) -> Hyperparameters:
    """Fit the hyperparameters from their prior modes; draws no random number.

    Of more than ``MAX_FIT_ROWS`` rows some are fitted to, evenly over their order.

    Args:
        inputs: [n, d] in [0, 1], n at least 1.
        targets: [n], finite.
        max_steps: cap on the optimizer's steps.
        noise: prior of the noise, ``SMOOTH`` or ``ROUGH``.

    Raises:
        ValueError: shapes that do not fit, no row, or a value that is not finite.
    """
    _check(inputs, targets)
    centre, scale = float(targets.mean()), max(float(targets.std()), MIN_SCALE)
    rows = np.linspace(0, len(inputs) - 1, min(len(inputs), MAX_FIT_ROWS)).astype(np.int64)
    with torch_at_work():
        from botorch.optim.fit import fit_gpytorch_mll_scipy
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = untrained_model(inputs[rows], (targets[rows] - centre) / scale, noise=noise)
        likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
        likelihood.train()
        fit_gpytorch_mll_scipy(likelihood, options={"maxiter": max_steps})
        return Hyperparameters(
            length_scales=model.covar_module.lengthscale.detach().numpy().ravel().copy(),
            mean=float(model.mean_module.constant),
            noise=float(model.likelihood.noise),
            centre=centre,
            scale=scale,
        )


class Fits:
    """Remembers what was fitted to which data; a fit to the same data is the same.

    Args:
        most: fits that are remembered; the oldest goes first.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._found: dict[bytes, Hyperparameters] = {}

    def __call__(
        self, inputs: Array, targets: Array, noise: tuple[float, float] = SMOOTH
    ) -> Hyperparameters:
        """Return :func:`fitted` of the data."""
        key = sha256(inputs.tobytes() + targets.tobytes() + str(noise).encode()).digest()
        if key not in self._found:
            if len(self._found) >= self._most:
                del self._found[next(iter(self._found))]
            self._found[key] = fitted(inputs, targets, noise=noise)
        return self._found[key]


def untrained_model(
    inputs: Array,
    targets: Array,
    used: tuple[int, ...] | None = None,
    noise: tuple[float, float] = SMOOTH,
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


def _check(inputs: Array, targets: Array) -> None:
    if inputs.ndim != 2 or targets.shape != inputs.shape[:1] or not len(targets):
        raise ValueError(
            f"a fit needs inputs [n, d] and targets [n] with n >= 1, got {inputs.shape} and "
            f"{targets.shape}"
        )
    if not (np.isfinite(inputs).all() and np.isfinite(targets).all()):
        raise ValueError("a fit needs finite inputs and targets; leave out trials without an EDP")
