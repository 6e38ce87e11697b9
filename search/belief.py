"""What a Bayesian optimizer believes of designs that nobody has searched software for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..surrogates.gp import Array, Surrogate
from ..surrogates.improvement import expected_improvement


@dataclass(frozen=True)
class Designs:
    """Designs as arrays.

    Attributes:
        inputs: [n, d] inputs of the surrogate, fidelity included.
        ln_bound: [n] natural logarithm of the lower bound of the EDP.
        ln_exact: [n, 2] natural logarithms of area and TDP.
    """

    inputs: Array
    ln_bound: Array
    ln_exact: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: NDArray[np.int64]) -> "Designs":
        return Designs(self.inputs[rows], self.ln_bound[rows], self.ln_exact[rows])


@dataclass(frozen=True)
class Belief:
    """A surrogate of ln(EDP / bound), and the front that a design has to improve on.

    Attributes:
        process: predicts ln(EDP / bound).
        front: [k, 3] natural logarithms of EDP, area and TDP, found or believed.
        reference: [3] corner of the hypervolume, in the same logarithms.
    """

    process: Surrogate
    front: Array
    reference: Array

    def score(self, designs: Designs) -> Array:
        """Return the expected hypervolume improvement of each design: [n]."""
        mean, std = self.process.predict(designs.inputs)
        return expected_improvement(
            self.front,
            self.reference,
            np.column_stack([designs.ln_bound + mean, designs.ln_exact]),
            np.column_stack([std, np.zeros_like(designs.ln_exact)]),
        )

    def believing(self, designs: Designs) -> "Belief":
        """Return the belief after the designs came out as predicted (kriging believer)."""
        if not len(designs):
            return self
        mean, _ = self.process.predict(designs.inputs)
        added = np.column_stack([designs.ln_bound + mean, designs.ln_exact])
        return replace(
            self,
            process=self.process.believing(designs.inputs),
            front=np.concatenate([self.front, added]),
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
