"""What a Bayesian optimizer believes of designs that nobody has searched software for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..surrogates.boxes import Corners
from ..surrogates.gp import Array, Outlook, Surrogate
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


#: Share of what the front might gain at all that a design has to promise, or doubts are doubled:
#: at most so many times.
LEAST_PROMISE: Final = 1e-5
MOST_DOUBLINGS: Final = 4


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
        doubt: what the deviations of objectives are multiplied by in the expected improvement;
            the less, the more designs with good means are preferred to unknown ones.
    """

    processes: tuple[Surrogate | None, ...]
    front: Array
    reference: Array
    limits: tuple[Surrogate, ...] = ()
    rules: tuple[Surrogate, ...] = ()
    doubt: float = 1.0

    @cached_property
    def corners(self) -> Corners:
        """What the front dominates."""
        return Corners.of(self.front, self.reference)

    def over(self, designs: Designs) -> "Outcomes":
        """Return what is believed of these designs, which then come true one by one."""
        inputs = designs.inputs
        breaking = [process.predict(inputs) for process in self.rules]
        kept = np.array([mean < 0.5 for mean, _ in breaking]).reshape(-1, len(designs))
        return Outcomes(
            designs,
            tuple(None if p is None else p.over(inputs) for p in self.processes),
            tuple(process.over(inputs) for process in self.limits),
            _all_kept(breaking, len(designs)),
            np.asarray(kept.all(axis=0)),
            self.corners,
            self.doubt,
        )

    def objectives(self, designs: Designs) -> tuple[Array, Array]:
        """Return mean and standard deviation [n, m] of the logarithms of the objectives."""
        mean, std = designs.ln_least.copy(), np.zeros_like(designs.ln_least)
        for j, process in enumerate(self.processes):
            if process is not None:
                above, std[:, j] = process.predict(designs.inputs)
                mean[:, j] += above
        return mean, std

    def keeping(self, designs: Designs) -> Array:
        """Return the probability that each design keeps all limits and breaks no rule: [n]."""
        return self.over(designs).keeping()

    def score(self, designs: Designs) -> Array:
        """Return the expected hypervolume improvement of each design: [n].

        A design that breaks a limit or a rule improves nothing: the expectation is multiplied
        with the probability of keeping each (Gardner et al., "Bayesian Optimization with Inequality
        Constraints", ICML 2014, equation 6).
        """
        return self.over(designs).score()

    def roused(self, designs: Designs) -> "Belief":
        """Return the belief with deviations doubled until one of the designs promises something.

        With small deviations all that is worse than the front by many of them promises exactly
        nothing, and there would be no telling designs apart.
        """
        corner = self.reference - np.min(self.front, axis=0, initial=np.inf)
        least = LEAST_PROMISE * float(np.prod(np.maximum(corner, 0.0)))
        belief = self
        for _ in range(MOST_DOUBLINGS if len(designs) else 0):
            if belief.score(designs).max() >= least:
                break
            belief = replace(belief, doubt=2 * belief.doubt)
        return belief

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

    def best(self, designs: Designs, n: int, least: float = -np.inf) -> list[int]:
        """Return the ``n`` best designs.

        Each is chosen as if those before it had come true. Equal designs go in their order;
        where no design promises an improvement, that order decides. Designs that promise no more
        than ``least`` are left out.
        """
        chosen: list[int] = []
        outcomes = self.over(designs)
        while len(chosen) < min(n, len(designs)):
            scores = outcomes.score()
            scores[chosen] = -1.0
            top = int(np.argmax(scores))
            if scores[top] <= least:
                break
            chosen.append(top)
            if len(chosen) < n:
                outcomes = outcomes.believing(top)
        return chosen


@dataclass(frozen=True)
class Outcomes:
    """What is believed of a list of designs, as some of them come out as predicted.

    The same as :meth:`Belief.believing`, which takes any designs, and cheaper for these: their
    means stay, and only doubts shrink.

    Attributes:
        designs: [n] of them.
        objectives: for each objective a belief in ln(cost / bound); None where the bound is the
            cost.
        limits: for each limit the same of what it limits.
        rules: [n] probability that no rule is broken.
        rules_kept: [n] whether that is predicted.
        corners: what the front dominates.
        doubt: of :class:`Belief`.
    """

    designs: Designs
    objectives: tuple[Outlook | None, ...]
    limits: tuple[Outlook, ...]
    rules: Array
    rules_kept: NDArray[np.bool_]
    corners: Corners
    doubt: float

    @cached_property
    def mean(self) -> Array:
        """Means [n, m] of the logarithms of the objectives."""
        mean = self.designs.ln_least.copy()
        for j, outlook in enumerate(self.objectives):
            if outlook is not None:
                mean[:, j] += outlook.mean
        return mean

    def keeping(self) -> Array:
        """Return the probability that each design keeps all limits and breaks no rule: [n]."""
        chance = self.rules.copy()
        for i, outlook in enumerate(self.limits):
            excess = self.designs.least_excess[:, i] + outlook.mean
            chance *= ndtr(-excess / np.maximum(outlook.std, 1e-12))
        return chance

    def score(self) -> Array:
        """Return :meth:`Belief.score` of each design."""
        std = np.zeros_like(self.mean)
        for j, outlook in enumerate(self.objectives):
            if outlook is not None:
                std[:, j] = self.doubt * outlook.std
        return np.asarray(expected_improvement(self.corners, self.mean, std) * self.keeping())

    def believing(self, row: int) -> "Outcomes":
        """Return the belief after one of the designs came out as predicted."""
        kept = self.rules_kept[row] and all(
            self.designs.least_excess[row, i] + outlook.mean[row] <= 0
            for i, outlook in enumerate(self.limits)
        )
        adds = kept and (self.mean[row] < self.corners.reference).all()
        return replace(
            self,
            objectives=tuple(o and o.believing(row) for o in self.objectives),
            limits=tuple(outlook.believing(row) for outlook in self.limits),
            corners=self.corners.cut(self.mean[row]) if adds else self.corners,
        )


def _all_kept(breaking: Sequence[tuple[Array, Array]], n: int) -> Array:
    """Return the probability [n] that no rule is broken, of mean and deviation for each rule.

    Rules are classified by least squares (Rasmussen and Williams, "Gaussian Processes for
    Machine Learning", 2006, section 6.5): a rule is kept where the process is below a half.
    """
    chance = np.ones(n)
    for mean, std in breaking:
        chance *= ndtr((0.5 - mean) / np.maximum(std, 1e-12))
    return chance
