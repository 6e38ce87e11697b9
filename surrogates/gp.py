"""A Gaussian process over hardware inputs, fitted cold and the same way every time."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Steps of L-BFGS in a fit. The likelihood of a hundred designs has settled by then, and an
#: uncapped fit costs more than ten times as much.
MAX_FIT_STEPS: Final = 75

#: Least deviation that targets are scaled by. Targets are natural logarithms, and a few designs
#: whose EDPs agree within 5% say nothing about the spread of the others.
MIN_SCALE: Final = 0.05


@contextmanager
def _torch_at_work() -> Iterator[None]:
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


@dataclass(frozen=True)
class GaussianProcess:
    """BoTorch's ``SingleTaskGP`` with a posterior in numpy.

    Kernel and priors are BoTorch's: a squared exponential with one length scale for each
    input, under the dimension-scaled log-normal prior of Hvarfner et al., "Vanilla Bayesian
    Optimization Performs Great in High Dimensions" (ICML 2024).

    Attributes:
        inputs: [n, d] in [0, 1].
        targets: [n], natural logarithms.
    """

    inputs: Array
    targets: Array
    _model: Any
    _centre: float
    _scale: float

    @classmethod
    def fit(
        cls, inputs: Array, targets: Array, max_steps: int = MAX_FIT_STEPS
    ) -> "GaussianProcess":
        """Fit the hyperparameters from their prior modes; draws no random number.

        Args:
            inputs: [n, d] in [0, 1], n at least 1.
            targets: [n], finite.
            max_steps: cap on the optimizer's steps.

        Raises:
            ValueError: shapes that do not fit, no row, or a value that is not finite.
        """
        _check(inputs, targets)
        centre, scale = float(targets.mean()), max(float(targets.std()), MIN_SCALE)
        with _torch_at_work():
            from botorch.models import SingleTaskGP
            from botorch.optim.fit import fit_gpytorch_mll_scipy
            from gpytorch.mlls import ExactMarginalLogLikelihood

            x, y = _tensors(inputs, (targets - centre) / scale)
            model = SingleTaskGP(x, y, outcome_transform=None)
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            likelihood.train()
            fit_gpytorch_mll_scipy(likelihood, options={"maxiter": max_steps})
            likelihood.eval()
        return cls(inputs, targets, model, centre, scale)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation [m] of the noise-free function at [m, d]."""
        with _torch_at_work():
            import torch

            with torch.no_grad():
                posterior = self._model.posterior(torch.from_numpy(np.ascontiguousarray(inputs)))
                mean = posterior.mean.squeeze(-1).numpy()
                variance = posterior.variance.clamp_min(0.0).squeeze(-1).numpy()
        return mean * self._scale + self._centre, np.sqrt(variance) * self._scale

    def believing(self, inputs: Array) -> "GaussianProcess":
        """Return the process after it has seen its own mean at ``inputs`` [m, d].

        The kriging believer of Ginsbourger et al., "Kriging is well-suited to parallelize
        optimization" (2010): a batch is picked one by one, each as if the means of those
        before it had come true. Hyperparameters stay as they are.
        """
        if not len(inputs):
            return self
        believed = self.predict(inputs)[0]
        every = np.concatenate([self.inputs, inputs])
        targets = np.concatenate([self.targets, believed])
        return GaussianProcess(
            every, targets, self._with_data(every, targets), self._centre, self._scale
        )

    def _with_data(self, inputs: Array, targets: Array) -> Any:
        from copy import deepcopy

        x, y = _tensors(inputs, (targets - self._centre) / self._scale)
        model = deepcopy(self._model)
        model.set_train_data(x, y.squeeze(-1), strict=False)
        return model.eval()


def _tensors(inputs: Array, targets: Array) -> tuple[Any, Any]:
    import torch

    x = torch.from_numpy(np.array(inputs, dtype=np.float64, order="C"))
    y = torch.from_numpy(np.array(targets, dtype=np.float64, order="C"))
    return x, y.unsqueeze(-1)


def _check(inputs: Array, targets: Array) -> None:
    if inputs.ndim != 2 or targets.shape != inputs.shape[:1] or not len(targets):
        raise ValueError(
            f"a fit needs inputs [n, d] and targets [n] with n >= 1, got {inputs.shape} and "
            f"{targets.shape}"
        )
    if not (np.isfinite(inputs).all() and np.isfinite(targets).all()):
        raise ValueError("a fit needs finite inputs and targets; leave out trials without an EDP")
