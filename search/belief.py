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
        inputs: [n, d] inputs of the surrogate, fidelity included.
        ln_bound: [n] natural logarithm of the lower bound of the unknown objective.
        ln_exact: [n, m] natural logarithms of the known objectives.
        least_excess: [n, l] lower bounds of ln(cost / limit) for each limit.
    """

    inputs: Array
    ln_bound: Array
    ln_exact: Array
    least_excess: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: NDArray[np.int64]) -> "Designs":
        return Designs(
            self.inputs[rows], self.ln_bound[rows], self.ln_exact[rows], self.least_excess[rows]
        )


@dataclass(frozen=True)
class Belief:
    """A surrogate of ln(cost / bound), and the front that a design has to improve on.

    Attributes:
        process: predicts ln(cost / bound) of the unknown objective.
        front: [k, 1 + m] natural logarithms of the unknown and the known objectives, found or
            believed, of designs that keep the limits.
        reference: [1 + m] corner of the hypervolume, in the same logarithms.
        limits: for each limit what predicts ln(cost / bound) of what it limits.
    """

    process: Surrogate
    front: Array
    reference: Array
    limits: tuple[Surrogate, ...] = ()

    def score(self, designs: Designs) -> Array:
        """Return the expected hypervolume improvement of each design: [n].

        A design that breaks a limit improves nothing: the expectation is multiplied with the
        probability of keeping each limit (Gardner et al., "Bayesian Optimization with Inequality
        Constraints", ICML 2014, equation 6).
        """
        mean, std = self.process.predict(designs.inputs)
        score = expected_improvement(
            self.front,
            self.reference,
            np.column_stack([designs.ln_bound + mean, designs.ln_exact]),
            np.column_stack([std, np.zeros_like(designs.ln_exact)]),
        )
        for i, process in enumerate(self.limits):
            mean, std = process.predict(designs.inputs)
            score *= ndtr(-(designs.least_excess[:, i] + mean) / np.maximum(std, 1e-12))
        return score

    def believing(self, designs: Designs) -> "Belief":
        """Return the belief after the designs came out as predicted (kriging believer)."""
        if not len(designs):
            return self
        mean, _ = self.process.predict(designs.inputs)
        added = np.column_stack([designs.ln_bound + mean, designs.ln_exact])
        kept = np.ones(len(designs), dtype=np.bool_)
        for i, process in enumerate(self.limits):
            kept &= designs.least_excess[:, i] + process.predict(designs.inputs)[0] <= 0
        return replace(
            self,
            process=self.process.believing(designs.inputs),
            front=np.concatenate([self.front, added[kept]]),
            limits=tuple(process.believing(designs.inputs) for process in self.limits),
        )

    def best(self, designs: Designs, n: int, chosen: Sequence[int] = ()) -> list[int]:
        """Return ``chosen`` and then the best designs, ``n`` in all.

        Each is chosen as if those before it had come true. Equal designs go in their order;
        where no design promises an improvement, that order decides.
        """
        chosen = list(chosen)
        belief = self.believing(designs[np.array(chosen, dtype=np.int64)])
        while len(chosen) < min(n, len(designs)):
            scores = belief.score(designs)
            scores[chosen] = -1.0
            chosen.append(int(np.argmax(scores)))
            if len(chosen) < n:
                belief = belief.believing(designs[np.array(chosen[-1:])])
        return chosen
