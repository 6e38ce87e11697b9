"""Posterior of the costs of designs without measured software, and batches chosen from it.

Each objective is a lower bound times a factor; Gaussian processes predict the logarithm of that
factor. Designs are scored by expected hypervolume improvement (:mod:`.ehvi`), those whose software
has two outcomes by what both add together. A batch is chosen one by one as a kriging believer: the
posterior is conditioned on each chosen design coming out at its mean (Ginsbourger, Le Riche and
Carraro, "Kriging is well-suited to parallelize optimization", 2010).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

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


#: Surrogates of ln(cost / bound), one for each objective; None where the bound is the cost.
Surrogates: TypeAlias = tuple[Surrogate | None, ...]


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
        second: the same as ``processes`` for another outcome of each design; None if designs have
            one outcome.
    """

    processes: Surrogates
    front: Floats
    reference: Floats
    limits: tuple[Surrogate, ...] = ()
    rules: tuple[Surrogate, ...] = ()
    std_scale: float = 1.0
    region: DominatedRegion | None = None
    second: Surrogates | None = None

    @cached_property
    def dominated(self) -> DominatedRegion:
        """What the front dominates."""
        return self.region or DominatedRegion.of(self.front, self.reference)

    def without_factors(self) -> "Posterior":
        """Return the same posterior, which has to factor the covariances of its data anew."""
        return replace(
            self,
            processes=tuple(p and p.without_factor() for p in self.processes),
            second=self.second and tuple(p and p.without_factor() for p in self.second),
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
            _at(self.processes, inputs),
            tuple(process.at(inputs) for process in self.limits),
            _probability_all_kept(breaking, len(designs)),
            np.asarray(kept.all(axis=0)),
            self.dominated,
            self.std_scale,
            _at(self.second, inputs) if self.second else None,
        )

    def objectives(self, designs: EncodedDesigns) -> tuple[Floats, Floats]:
        """Return mean and standard deviation [n, m] of the logarithms of the objectives."""
        return _costs(designs, _at(self.processes, designs.inputs))

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
        outcomes = [self.processes, *([self.second] if self.second else [])]
        kept = np.ones(len(designs), dtype=np.bool_)
        for i, process in enumerate(self.limits):
            kept &= designs.least_excess[:, i] + process.predict(designs.inputs)[0] <= 0
        for process in self.rules:
            kept &= process.predict(designs.inputs)[0] < 0.5
        dominated, front = self.dominated, [self.front]
        for processes in outcomes:
            mean, _ = replace(self, processes=processes).objectives(designs)
            front.append(mean[kept])
            for member in mean[kept & (mean < self.reference).all(axis=1)]:
                dominated = dominated.cut(member)
        first, *second = [
            tuple(p and p.condition_on_mean(designs.inputs) for p in processes)
            for processes in outcomes
        ]
        return replace(
            self,
            region=dominated,
            processes=first,
            second=second[0] if second else None,
            front=np.concatenate(front),
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
        second: the same as ``objectives`` for another outcome; None if there is none.
    """

    designs: EncodedDesigns
    objectives: tuple[PointPosterior | None, ...]
    limits: tuple[PointPosterior, ...]
    rules: Floats
    rules_kept: NDArray[np.bool_]
    dominated: DominatedRegion
    std_scale: float
    second: tuple[PointPosterior | None, ...] | None = None

    @cached_property
    def outcomes(self) -> list[tuple[Floats, Floats]]:
        """Means and standard deviations [n, m] of the logarithms of the objectives, for each
        outcome."""
        return [_costs(self.designs, one) for one in (self.objectives, self.second) if one]

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
        found, *second = [(mean, self.std_scale * std) for mean, std in self.outcomes]
        added = expected_improvement(self.dominated, *found)
        for other in second:
            # what two points dominate both is what the worse of each of their costs dominates
            both = tuple(map(np.maximum, found, other))
            added = added + expected_improvement(self.dominated, *other)
            added -= expected_improvement(self.dominated, *both)
        return np.asarray(added * self.feasibility())

    def condition_on_mean(self, row: int) -> "ConditionedPosterior":
        """Return the posterior conditioned on one of the designs coming out at its mean."""
        kept = self.rules_kept[row] and all(
            self.designs.least_excess[row, i] + marginal.mean[row] <= 0
            for i, marginal in enumerate(self.limits)
        )
        dominated = self.dominated
        for mean, _ in self.outcomes:
            if kept and (mean[row] < dominated.reference).all():
                dominated = dominated.cut(mean[row])
        return replace(
            self,
            objectives=tuple(o and o.condition_on_mean(row) for o in self.objectives),
            second=self.second and tuple(o and o.condition_on_mean(row) for o in self.second),
            limits=tuple(marginal.condition_on_mean(row) for marginal in self.limits),
            dominated=dominated,
        )


def _at(processes: Surrogates, inputs: Floats) -> tuple[PointPosterior | None, ...]:
    return tuple(None if p is None else p.at(inputs) for p in processes)


def _costs(
    designs: EncodedDesigns, above: Sequence[PointPosterior | None]
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation [n, m] of the logarithms of the objectives.

    Args:
        designs: [n] of them.
        above: for each objective the posterior of ln(cost / bound) there; None where the bound is
            the cost.
    """
    mean, std = designs.ln_least.copy(), np.zeros_like(designs.ln_least)
    for j, marginal in enumerate(above):
        if marginal is not None:
            mean[:, j] += marginal.mean
            std[:, j] = marginal.std
    return mean, std


def _probability_all_kept(breaking: Sequence[tuple[Floats, Floats]], n: int) -> Floats:
    """Return the probability [n] that no rule is broken, of mean and deviation for each rule.

    Rules are classified by least squares (Rasmussen and Williams, "Gaussian Processes for
    Machine Learning", 2006, section 6.5): a rule is kept where the process is below a half.
    """
    chance = np.ones(n)
    for mean, std in breaking:
        chance *= ndtr((0.5 - mean) / np.maximum(std, 1e-12))
    return chance
