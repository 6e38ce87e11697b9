"""What a Bayesian optimizer believes of designs that nobody has searched software for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..surrogates.gp import Array, Surrogate
from ..surrogates.improvement import expected_improvement


@dataclass(frozen=True)
class Designs:
    """Designs as arrays.

    Attributes:
        inputs: [n, d] inputs of the surrogates, fidelity included.
        ln_least: [n, m] natural logarithms of the objectives, or of lower bounds of them.
        least_excess: [n, l] lower bounds of ln(cost / limit) for each limit.
    """

    inputs: Array
    ln_least: Array
    least_excess: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: NDArray[np.int64]) -> "Designs":
        return Designs(self.inputs[rows], self.ln_least[rows], self.least_excess[rows])


@dataclass(frozen=True)
class Belief:
    """Surrogates of ln(cost / bound), and the front that a design has to improve on.

    Attributes:
        processes: for each objective what predicts ln(cost / bound); None where the bound is
            the cost.
        front: [k, m] natural logarithms of the objectives, found or believed, of designs that
            keep the limits.
        reference: [m] corner of the hypervolume, in the same logarithms.
        limits: for each limit what predicts ln(cost / bound) of what it limits.
        rules: for each rule that a trial ended by, what predicts 1 where it is broken, else 0.
    """

    processes: tuple[Surrogate | None, ...]
    front: Array
    reference: Array
    limits: tuple[Surrogate, ...] = ()
    rules: tuple[Surrogate, ...] = ()

    def objectives(self, designs: Designs) -> tuple[Array, Array]:
        """Return mean and standard deviation [n, m] of the logarithms of the objectives."""
        mean, std = designs.ln_least.copy(), np.zeros_like(designs.ln_least)
        for j, process in enumerate(self.processes):
            if process is not None:
                above, std[:, j] = process.predict(designs.inputs)
                mean[:, j] += above
        return mean, std

    def keeping(self, designs: Designs) -> Array:
        """Return the probability that each design keeps all limits and breaks no rule: [n].

        Rules are classified by least squares (Rasmussen and Williams, "Gaussian Processes for
        Machine Learning", 2006, section 6.5): a rule is kept where the process is below a half.
        """
        chance = np.ones(len(designs))
        for i, process in enumerate(self.limits):
            mean, std = process.predict(designs.inputs)
            chance *= ndtr(-(designs.least_excess[:, i] + mean) / np.maximum(std, 1e-12))
        for process in self.rules:
            mean, std = process.predict(designs.inputs)
            chance *= ndtr((0.5 - mean) / np.maximum(std, 1e-12))
        return chance

    def score(self, designs: Designs) -> Array:
        """Return the expected hypervolume improvement of each design: [n].

        A design that breaks a limit or a rule improves nothing: the expectation is multiplied
        with the probability of keeping each (Gardner et al., "Bayesian Optimization with Inequality
        Constraints", ICML 2014, equation 6).
        """
        improvement = expected_improvement(self.front, self.reference, *self.objectives(designs))
        return np.asarray(improvement * self.keeping(designs))

    def believing(self, designs: Designs) -> "Belief":
        """Return the belief after the designs came out as predicted (kriging believer)."""
        if not len(designs):
            return self
        mean, _ = self.objectives(designs)
        kept = np.ones(len(designs), dtype=np.bool_)
        for i, process in enumerate(self.limits):
            kept &= designs.least_excess[:, i] + process.predict(designs.inputs)[0] <= 0
        for process in self.rules:
            kept &= process.predict(designs.inputs)[0] < 0.5
        return replace(
            self,
            processes=tuple(
                None if p is None else p.believing(designs.inputs) for p in self.processes
            ),
            front=np.concatenate([self.front, mean[kept]]),
            limits=tuple(process.believing(designs.inputs) for process in self.limits),
        )

    def best(
        self, designs: Designs, n: int, chosen: Sequence[int] = (), least: float = -np.inf
    ) -> list[int]:
        """Return ``chosen`` and then the best designs, ``n`` in all.

        Each is chosen as if those before it had come true. Equal designs go in their order;
        where no design promises an improvement, that order decides. Designs that promise no more
        than ``least`` are left out.
        """
        chosen = list(chosen)
        belief = self.believing(designs[np.array(chosen, dtype=np.int64)])
        while len(chosen) < min(n, len(designs)):
            scores = belief.score(designs)
            scores[chosen] = -1.0
            top = int(np.argmax(scores))
            if scores[top] <= least:
                break
            chosen.append(top)
            if len(chosen) < n:
                belief = belief.believing(designs[np.array(chosen[-1:])])
        return chosen
