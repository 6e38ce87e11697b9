"""Monte Carlo acquisition functions of BoTorch, over a list of designs.

They integrate over the outcomes of designs in flight and over the noise of observations, where the
closed form takes both at their means. Objectives that are known stay exact: they enter
through the objective function, which sees the design, and are never modelled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from archloom.surrogates import (
    EncodedDesigns,
    GaussianProcess,
    Posterior,
    cell_partitioning,
    single_threaded_torch,
)

from ...seeds import derived_seed

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["qlognehvi", "qlognparego"]

#: Samples of the posterior, a power of two as their balance wants. More change the choice little
#: and cost in proportion.
_SAMPLES: Final = 8

#: Designs that are sampled: the best in closed form.
SHORTLIST: Final = 128


@dataclass(frozen=True)
class MonteCarlo:
    """A batch by qLogNEHVI or by qLogNParEGO, one design at a time.

    qLogNEHVI is the logarithm of the noisy expected hypervolume improvement of Daulton et al.,
    "Parallel Bayesian optimization of multiple noisy objectives with expected hypervolume
    improvement" (NeurIPS 2021); qLogNParEGO improves a Chebyshev scalarisation with new random
    weights for each design (Knowles, "ParEGO", 2006). Both in the form of Ament et al.,
    "Unexpected improvements to expected improvement for Bayesian optimization" (NeurIPS 2023).

    With one objective both are the logarithm of its noisy expected improvement.

    Attributes:
        kind: which of the two.
        posterior: with a fitted process for each unknown objective.
        observed: the non-dominated observations. (BoTorch's own
            pruning draws from the global generator.)
        seed: of samples and weights.
    """

    kind: Kind
    posterior: Posterior
    observed: EncodedDesigns
    seed: int

    def best(self, designs: EncodedDesigns, n: int, pending: EncodedDesigns) -> list[int]:
        """Return the ``n`` best of ``designs``, each with those before it in flight.

        Args:
            designs: what to choose from.
            n: how many.
            pending: designs in flight.
        """
        conditioned = self.posterior.condition_on_mean(pending)
        shortlist = np.argsort(-conditioned.score(designs), kind="stable")[:SHORTLIST]
        few = designs[shortlist]
        with single_threaded_torch():
            import torch

            # BoTorch draws from the global generator in places; it stays as it was
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(self.seed)
                chosen = self._batch(few, n, pending)
        return [int(shortlist[i]) for i in chosen]

    def _batch(self, few: EncodedDesigns, n: int, pending: EncodedDesigns) -> list[int]:
        import torch

        ln_keeping = torch.from_numpy(np.log(np.maximum(self.posterior.feasibility(few), 1e-300)))
        rows = _rows(few)
        acquire = _acquisition_factory(self)
        chosen: list[int] = []
        for _ in range(min(n, len(few))):
            waiting = rows[chosen]
            if len(pending):
                waiting = torch.cat([_rows(pending), waiting])
            scores = acquire(waiting)(rows.unsqueeze(1)) + ln_keeping
            scores[chosen] = -torch.inf
            chosen.append(int(torch.argmax(scores)))
        return chosen


def _rows(designs: EncodedDesigns) -> "Tensor":
    """Return [n, d + m]: inputs of the processes, then the logarithms of what is known."""
    import torch

    return torch.from_numpy(np.column_stack([designs.inputs, designs.ln_least]))


def _acquisition_factory(task: MonteCarlo) -> Callable[["Tensor"], Any]:
    """Return what makes the acquisition function for designs in flight [q, d + m]."""
    import torch
    from botorch.acquisition.multi_objective import logei
    from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
    from botorch.models.model_list_gp_regression import ModelListGP
    from botorch.sampling.normal import SobolQMCNormalSampler

    # its C++ kernel is compiled on first use, for 20 s, with what this machine's processor has:
    # sums would round otherwise on another machine, and a study's workers may be of several kinds
    vars(logei)["_load_attempted"] = True
    posterior, observed = task.posterior, _rows(task.observed)
    m = len(posterior.reference)
    unknown = [j for j, p in enumerate(posterior.processes) if p is not None]
    processes = [p for p in posterior.processes if isinstance(p, GaussianProcess)]
    model = ModelListGP(*(p.as_torch(extra=m) for p in processes))
    scale = torch.tensor([p.hyperparameters.scale for p in processes])
    centre = torch.tensor([p.hyperparameters.centre for p in processes])
    sampler = SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=task.seed % 2**31)

    def objectives(above: "Tensor", X: "Tensor | None" = None) -> "Tensor":  # noqa: N803
        """Return minus the logarithms of all objectives: [..., q, m]."""
        assert X is not None
        values = X[..., -m:].expand(*above.shape[:-1], m).clone()
        values[..., unknown] += above * scale + centre
        return -values

    objective = GenericMCMultiOutputObjective(objectives)

    def nehvi(waiting: "Tensor") -> Any:
        # it cuts up what it is born with by its own class, and what is added by the given one
        acquisition = logei.qLogNoisyExpectedHypervolumeImprovement(
            model, torch.from_numpy(-posterior.reference), observed[:1], sampler, objective
        )
        vars(acquisition)["p_class"] = cell_partitioning()
        acquisition.set_X_pending(torch.cat([observed[1:], waiting]))
        return acquisition

    def parego(waiting: "Tensor") -> Any:
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.utils.multi_objective.scalarization import get_chebyshev_scalarization

        # a fresh scalarisation for each design
        rng = np.random.default_rng(derived_seed(task.seed, "weights", len(waiting)))
        weights = torch.from_numpy(rng.dirichlet(np.ones(m)))
        scalar = get_chebyshev_scalarization(weights, torch.from_numpy(-posterior.front))

        def scalars(above: "Tensor", X: "Tensor | None" = None) -> "Tensor":  # noqa: N803
            return scalar(objectives(above, X), X)

        return qLogNoisyExpectedImprovement(
            model,
            X_baseline=observed,
            sampler=sampler,
            objective=GenericMCObjective(scalars),
            X_pending=waiting if len(waiting) else None,
        )

    return nehvi if task.kind == "qlognehvi" and m > 1 else parego
