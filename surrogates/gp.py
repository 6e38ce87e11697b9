"""Gaussian process over hardware inputs, fitted from the same start every time."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from archloom.evaluators import Floats

from .gp_fit import MAX_FIT_ITERATIONS, Hyperparameters, fit_hyperparameters, untrained_model

#: Columns of a matrix that are squared at once.
_COLUMNS: Final = 256


class PointPosterior(Protocol):
    """A Gaussian posterior at a fixed list of inputs, conditioned on its own means one by one."""

    @property
    def mean(self) -> Floats:
        """Means [m]. Conditioning on a mean changes none of them."""
        ...

    @property
    def std(self) -> Floats:
        """Standard deviations [m]."""
        ...

    def condition_on_mean(self, row: int) -> "PointPosterior":
        """Return the posterior after the mean at input ``row`` was observed."""
        ...


class Surrogate(Protocol):
    """A Gaussian model of a function of [0, 1]^d."""

    def at(self, inputs: Floats) -> PointPosterior:
        """Return the posterior at ``inputs`` [m, d], which can be conditioned on some of them."""
        ...

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation [m] at ``inputs`` [m, d]."""
        ...

    def condition_on_mean(self, inputs: Floats) -> "Surrogate":
        """Return the model after its own mean at ``inputs`` [m, d] was observed."""
        ...

    def without_factor(self) -> "Surrogate":
        """Return the same model, without what it remembers of its data's covariance."""
        ...


@dataclass(frozen=True, slots=True)
class Prior:
    """The model before any result: mean 0 and one deviation everywhere.

    Attributes:
        std: the deviation.
    """

    std: float

    def at(self, inputs: Floats) -> "PriorPointPosterior":
        """Return the same distribution at each of ``inputs`` [m, d]."""
        return PriorPointPosterior(*self.predict(inputs))

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation [m] at ``inputs`` [m, d]."""
        return np.zeros(len(inputs)), np.full(len(inputs), self.std)

    def condition_on_mean(self, inputs: Floats) -> "Prior":  # noqa: ARG002
        """Return the same: without a kernel designs are independent."""
        return self

    def without_factor(self) -> "Prior":
        """Return the same: there is no covariance."""
        return self


@dataclass(frozen=True, slots=True)
class PriorPointPosterior:
    """The distribution of a :class:`Prior` at some inputs.

    Attributes:
        mean, std: [m].
    """

    mean: Floats
    std: Floats

    def condition_on_mean(self, row: int) -> "PriorPointPosterior":  # noqa: ARG002
        """Return the same, as :meth:`Prior.condition_on_mean` does."""
        return self


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
        hyperparameters: of kernel, mean and noise.
    """

    inputs: Floats
    targets: Floats
    hyperparameters: Hyperparameters

    @classmethod
    def fit(
        cls, inputs: Floats, targets: Floats, max_iterations: int = MAX_FIT_ITERATIONS
    ) -> "GaussianProcess":
        """Fit to all results; see :func:`fit_hyperparameters`."""
        return cls(inputs, targets, fit_hyperparameters(inputs, targets, max_iterations))

    def at(self, inputs: Floats) -> "GaussianPointPosterior":
        """Return the posterior of the noise-free function at ``inputs`` [m, d]."""
        root, weights = self._solved
        across = self.kernel(self.inputs, inputs)
        mean = self.hyperparameters.mean + across.T @ weights
        explained = solve_triangular(root, across, lower=True, check_finite=False)
        del across
        variance = np.maximum(1.0 - _column_sums_of_squares(explained), 0.0)
        scaled = mean * self.hyperparameters.scale + self.hyperparameters.centre
        return GaussianPointPosterior(self, inputs, scaled, explained, variance)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation [m] of the noise-free function at [m, d]."""
        marginal = self.at(inputs)
        return marginal.mean, marginal.std

    def as_torch(self, extra: int = 0) -> Any:
        """Return the process as BoTorch's model of the scaled targets.

        Args:
            extra: columns that the model's inputs have after the process's own, and ignores.
        """
        import torch

        fit = self.hyperparameters
        inputs = np.column_stack([self.inputs, np.zeros((len(self.inputs), extra))])
        used = tuple(range(self.inputs.shape[1]))
        model = untrained_model(inputs, (self.targets - fit.centre) / fit.scale, used)
        model.covar_module.lengthscale = torch.from_numpy(fit.length_scales)
        model.mean_module.constant = fit.mean
        model.likelihood.noise = fit.noise
        return model.eval()

    def condition_on_mean(self, inputs: Floats) -> "GaussianProcess":
        """Return the process after it has seen its own mean at ``inputs`` [m, d].

        The kriging believer of Ginsbourger et al., "Kriging is well-suited to parallelize
        optimization" (2010): a batch is picked one by one, each with the model conditioned on the
        means of those before it. Hyperparameters stay as they are.
        """
        if not len(inputs):
            return self
        targets = np.concatenate([self.targets, self.predict(inputs)[0]])
        return GaussianProcess(np.concatenate([self.inputs, inputs]), targets, self.hyperparameters)

    def without_factor(self) -> "GaussianProcess":
        """Return the same process, which factors its covariance, [n, n], when it is asked."""
        return replace(self)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats]:
        """Cholesky factor of the covariance of the data, and its inverse times the residuals."""
        covariance = self.kernel(self.inputs, self.inputs)
        covariance[np.diag_indices_from(covariance)] += self.hyperparameters.noise
        # symmetric, so the transpose is the same matrix, in the order that LAPACK factors in place
        root = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
        fit = self.hyperparameters
        residuals = (self.targets - fit.centre) / fit.scale - fit.mean
        return root, cho_solve((root, True), residuals, check_finite=False)

    def kernel(self, one: Floats, other: Floats) -> Floats:
        """Squared exponential of variance 1 between rows: [len(one), len(other)]."""
        scales = self.hyperparameters.length_scales
        apart: Floats = cdist(one / scales, other / scales, "sqeuclidean")
        apart *= -0.5
        return np.exp(apart, out=apart)


def _column_sums_of_squares(matrix: Floats) -> Floats:
    """Sum of the squares of each column, [m] of [n, m], without a second matrix of squares."""
    blocks = np.array_split(matrix, -(-matrix.shape[1] // _COLUMNS) or 1, axis=1)
    return np.concatenate([(block**2).sum(axis=0) for block in blocks])


@dataclass(frozen=True)
class GaussianPointPosterior:
    """The posterior at some inputs, cheap to condition on the means there one after another.

    A result that is as expected moves no mean, and takes from the covariance of any two inputs
    the product of their covariances with it, over its own variance (Rasmussen and Williams 2006,
    equation A.6): a row of the Cholesky factor more, instead of a new one.

    Attributes:
        process: whose posterior it is.
        inputs: [m, d].
        mean: [m].
        explained: [n, m] covariances with the process's own data, solved by their factor.
        variance: [m] of the scaled function.
        added: the rows that were added to ``explained``: [m] each.
    """

    process: GaussianProcess
    inputs: Floats
    mean: Floats
    explained: Floats
    variance: Floats
    added: tuple[Floats, ...] = ()

    @property
    def std(self) -> Floats:
        """Standard deviations [m]."""
        return np.sqrt(self.variance) * self.process.hyperparameters.scale

    def condition_on_mean(self, row: int) -> "GaussianPointPosterior":
        """Return the posterior after the mean at input ``row`` was observed."""
        shared = self.process.kernel(self.inputs[row : row + 1], self.inputs)[0]
        shared -= self.explained[:, row] @ self.explained
        for before in self.added:
            shared -= before[row] * before
        learned = shared / np.sqrt(self.variance[row] + self.process.hyperparameters.noise)
        variance = np.maximum(self.variance - learned**2, 0.0)
        return replace(self, variance=variance, added=(*self.added, learned))
