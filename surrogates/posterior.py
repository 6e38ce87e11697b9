"""Posterior of the costs of designs without measured software, and batches chosen from it.

Each objective is a lower bound times a factor; Gaussian processes predict the logarithm of that
factor. Designs are scored by expected hypervolume improvement (:mod:`.ehvi`). A batch is chosen one
by one as a kriging believer: the posterior is conditioned on each chosen design coming out at its
mean (Ginsbourger, Le Riche and Carraro, "Kriging is well-suited to parallelize optimization",
2010).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from archloom.evaluators import Floats

from .box_decomposition import DominatedRegion
from .ehvi import expected_improvement
from .gp import PointPosterior, Surrogate


@dataclass(frozen=True)
class EncodedDesigns:
    """Designs as arrays.

    Attributes:
        inputs: [n, d] inputs of the surrogates, fidelity included.
        ln_least: [n, m] natural logarithms of the objectives, or of lower bounds of them.
        least_excess: [n, l] lower bounds of ln(cost / limit) for each limit.
    """

    inputs: Floats
    ln_least: Floats
    least_excess: Floats

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: NDArray[np.int64]) -> "EncodedDesigns":
        return EncodedDesigns(self.inputs[rows], self.ln_least[rows], self.least_excess[rows])


#: Share of the largest possible improvement that the best score has to reach; below it the standard
#: deviations are doubled, at most so many times.
_LEAST_SCORE_SHARE: Final = 1e-5
_MOST_DOUBLINGS: Final = 4


@dataclass(frozen=True)
class Posterior:
    """Surrogates of ln(cost / bound), and the front that a design has to improve on.

    Attributes:
        processes: for each objective what predicts ln(cost / bound); None where the bound is
            the cost.
        front: [k, m] natural logarithms of the objectives, measured or conditioned on, of
            designs that keep the limits.
        reference: [m] corner of the hypervolume, in the same logarithms.
        limits: for each limit what predicts ln(cost / bound) of what it limits.
        rules: for each rule that a trial ended by, what predicts 1 where it is broken, else 0.
        std_scale: what the deviations of objectives are multiplied by in the expected improvement;
            the less, the more designs with good means are preferred to unknown ones.
        region: what the front dominates, where that is known.
    """

    processes: tuple[Surrogate | None, ...]
    front: Floats
    reference: Floats
    limits: tuple[Surrogate, ...] = ()
    rules: tuple[Surrogate, ...] = ()
    std_scale: float = 1.0
    region: DominatedRegion | None = None

    @cached_property
    def dominated(self) -> DominatedRegion:
        """What the front dominates."""
        return self.region or DominatedRegion.of(self.front, self.reference)

    def without_factors(self) -> "Posterior":
        """Return the same posterior, which has to factor the covariances of its data anew."""
        return replace(
            self,
            processes=tuple(p and p.without_factor() for p in self.processes),
            limits=tuple(p.without_factor() for p in self.limits),
            rules=tuple(p.without_factor() for p in self.rules),
        )

    def at(self, designs: EncodedDesigns) -> "ConditionedPosterior":
        """Return the posterior at these designs, to be conditioned on them one by one."""
        inputs = designs.inputs
        breaking = [process.predict(inputs) for process in self.rules]
        kept = np.array([mean < 0.5 for mean, _ in breaking]).reshape(-1, len(designs))
        return ConditionedPosterior(
            designs,
            tuple(None if p is None else p.at(inputs) for p in self.processes),
            tuple(process.at(inputs) for process in self.limits),
            _probability_all_kept(breaking, len(designs)),
            np.asarray(kept.all(axis=0)),
            self.dominated,
            self.std_scale,
        )

    def objectives(self, designs: EncodedDesigns) -> tuple[Floats, Floats]:
        """Return mean and standard deviation [n, m] of the logarithms of the objectives."""
        mean, std = designs.ln_least.copy(), np.zeros_like(designs.ln_least)
        for j, process in enumerate(self.processes):
            if process is not None:
                above, std[:, j] = process.predict(designs.inputs)
                mean[:, j] += above
        return mean, std

    def feasibility(self, designs: EncodedDesigns) -> Floats:
        """Return the probability that each design keeps all limits and breaks no rule: [n]."""
        return self.at(designs).feasibility()

    def score(self, designs: EncodedDesigns) -> Floats:
        """Return the expected hypervolume improvement of each design: [n].

        A design that breaks a limit or a rule improves nothing: the expectation is multiplied
        with the probability of keeping each (Gardner et al., "Bayesian Optimization with Inequality
        Constraints", ICML 2014, equation 6).
        """
        return self.at(designs).score()

    def with_widened_std(self, designs: EncodedDesigns) -> "Posterior":
        """Return the posterior with deviations doubled until one of the designs has a score.

        Where every mean is worse than the front by many deviations, all scores would be exactly 0
        and would not rank the designs.
        """
        if not len(designs):
            return self
        scale = self.widened_at(designs).std_scale
        return self if scale == self.std_scale else replace(self, std_scale=scale)

    def widened_at(self, designs: EncodedDesigns) -> "ConditionedPosterior":
        """Return :meth:`with_widened_std` at these designs, at least one."""
        corner = self.reference - np.min(self.front, axis=0, initial=np.inf)
        least = _LEAST_SCORE_SHARE * float(np.prod(np.maximum(corner, 0.0)))
        found = self.at(designs)
        for _ in range(_MOST_DOUBLINGS):
            if found.score().max() >= least:
                break
            found = replace(found, std_scale=2 * found.std_scale)
        return found

    def condition_on_mean(self, designs: EncodedDesigns) -> "Posterior":
        """Return the posterior conditioned on the designs coming out at their means (kriging
        believer, Ginsbourger et al. 2010)."""
        if not len(designs):
            return self
        mean, _ = self.objectives(designs)
        kept = np.ones(len(designs), dtype=np.bool_)
        for i, process in enumerate(self.limits):
            kept &= designs.least_excess[:, i] + process.predict(designs.inputs)[0] <= 0
        for process in self.rules:
            kept &= process.predict(designs.inputs)[0] < 0.5
        dominated = self.dominated
        for member in mean[kept & (mean < self.reference).all(axis=1)]:
            dominated = dominated.cut(member)
        return replace(
            self,
            region=dominated,
            processes=tuple(
                None if p is None else p.condition_on_mean(designs.inputs) for p in self.processes
            ),
            front=np.concatenate([self.front, mean[kept]]),
            limits=tuple(process.condition_on_mean(designs.inputs) for process in self.limits),
        )

    def best(self, designs: EncodedDesigns, n: int, least: float = -np.inf) -> list[int]:
        """Return the ``n`` best designs.

        Each is chosen with the posterior conditioned on the means of those before it. Equal designs
        go in their order; where no design has a score above 0, that order decides. Designs with a
        score of at most ``least`` are left out.
        """
        chosen: list[int] = []
        conditioned = self.at(designs)
        while len(chosen) < min(n, len(designs)):
            scores = conditioned.score().copy()
            scores[chosen] = -1.0
            top = int(np.argmax(scores))
            if scores[top] <= least:
                break
            chosen.append(top)
            if len(chosen) < n:
                conditioned = conditioned.condition_on_mean(top)
        return chosen


@dataclass(frozen=True)
class ConditionedPosterior:
    """The posterior at a list of designs, conditioned on the means of some of them.

    The same as :meth:`Posterior.condition_on_mean`, which takes any designs, and cheaper for these:
    their means stay, and only the standard deviations shrink.

    Attributes:
        designs: [n] of them.
        objectives: for each objective the posterior of ln(cost / bound); None where the bound is
            the cost.
        limits: for each limit the same of what it limits.
        rules: [n] probability that no rule is broken.
        rules_kept: [n] whether that is predicted.
        dominated: what the front dominates.
        std_scale: of :class:`Posterior`.
    """

    designs: EncodedDesigns
    objectives: tuple[PointPosterior | None, ...]
    limits: tuple[PointPosterior, ...]
    rules: Floats
    rules_kept: NDArray[np.bool_]
    dominated: DominatedRegion
    std_scale: float

    @cached_property
    def mean(self) -> Floats:
        """Means [n, m] of the logarithms of the objectives."""
        mean = self.designs.ln_least.copy()
        for j, marginal in enumerate(self.objectives):
            if marginal is not None:
                mean[:, j] += marginal.mean
        return mean

    def feasibility(self) -> Floats:
        """Return the probability that each design keeps all limits and breaks no rule: [n]."""
        chance = self.rules.copy()
        for i, marginal in enumerate(self.limits):
            excess = self.designs.least_excess[:, i] + marginal.mean
            chance *= ndtr(-excess / np.maximum(marginal.std, 1e-12))
        return chance

    def score(self) -> Floats:
        """Return :meth:`Posterior.score` of each design."""
        return self._scores

    @cached_property
    def _scores(self) -> Floats:
        std = np.zeros_like(self.mean)
        for j, marginal in enumerate(self.objectives):
            if marginal is not None:
                std[:, j] = self.std_scale * marginal.std
        return np.asarray(expected_improvement(self.dominated, self.mean, std) * self.feasibility())

    def condition_on_mean(self, row: int) -> "ConditionedPosterior":
        """Return the posterior conditioned on one of the designs coming out at its mean."""
        kept = self.rules_kept[row] and all(
            self.designs.least_excess[row, i] + marginal.mean[row] <= 0
            for i, marginal in enumerate(self.limits)
        )
        adds = kept and (self.mean[row] < self.dominated.reference).all()
        return replace(
            self,
            objectives=tuple(o and o.condition_on_mean(row) for o in self.objectives),
            limits=tuple(marginal.condition_on_mean(row) for marginal in self.limits),
            dominated=self.dominated.cut(self.mean[row]) if adds else self.dominated,
        )


def _probability_all_kept(breaking: Sequence[tuple[Floats, Floats]], n: int) -> Floats:
    """Return the probability [n] that no rule is broken, of mean and deviation for each rule.

    Rules are classified by least squares (Rasmussen and Williams, "Gaussian Processes for
    Machine Learning", 2006, section 6.5): a rule is kept where the process is below a half.
    """
    chance = np.ones(n)
    for mean, std in breaking:
        chance *= ndtr((0.5 - mean) / np.maximum(std, 1e-12))
    return chance
