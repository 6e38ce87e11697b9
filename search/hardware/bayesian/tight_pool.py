"""Pool of designs whose tight bounds are good: a local search by these, before any trial.

Costs are nearly proportional to tight bounds, and to loose ones they are not
(docs/explanation/hardware_search.md, "How `mobo` chooses"). So the designs that are best by loose
bounds are only where the search begins.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.search.objectives import ObjectiveSet
from archloom.surrogates import Posterior, Prior

from ...pareto import dominated_by, non_dominated
from ..problem import Candidate, DesignProblem
from .candidate_pool import CandidatePool
from .encoding import DesignEncoder

#: Designs that are best by loose bounds, where the search begins.
_BEGIN: Final = 64

#: Designs whose neighbours are looked at in a step: those that together have most of the volume; or
#: those that the model says are best.
_MEMBERS: Final = 8

#: Tight bounds after which the search ends, about: a third of a CPU-second.
_MOST: Final = 384

Filter = Callable[[Sequence[Candidate]], list[Candidate]]


def bound_prior(objective_set: ObjectiveSet, std: float, reference: Floats) -> Posterior:
    """Return the prior that costs are at their bounds, up to a factor.

    Args:
        objective_set: what is minimised and what is limited.
        std: deviation of ln(cost / bound).
        reference: [m] corner of the hypervolume, in logarithms.
    """
    return Posterior(
        processes=tuple(None if known else Prior(std) for known in objective_set.known),
        front=np.empty((0, len(objective_set.objectives))),
        reference=reference,
        limits=(Prior(std),) * len(objective_set.limits),
    )


class TightPool:
    """Designs to choose from, with their tight bounds.

    The base is found by a Pareto local search (Paquete, Chiarandini and Stützle, "Pareto local
    optimum sets in the biobjective traveling salesman problem", 2004) that goes on from the designs
    which together have most of the hypervolume. It depends on the pool of loose bounds alone.

    Args:
        problem: where designs come from.
        pool: designs with loose bounds.
        encoder: of designs as arrays.
    """

    def __init__(self, problem: DesignProblem, pool: CandidatePool, encoder: DesignEncoder) -> None:
        self._problem = problem
        self._pool = pool
        self._encoder = encoder

    @cached_property
    def base(self) -> list[Candidate]:
        """Designs with their tight bounds, those first that add most to the volume before them."""
        begin = self._encoder.tightened(self._best(self._pool.base, _BEGIN))
        found = {c.key: c for c in begin}
        looked_at: set[str] = set()
        while len(found) < _MOST:
            members = self._best(list(found.values()), _MEMBERS)
            fresh = [c for c in members if c.key not in looked_at]
            if not fresh:
                break
            looked_at.update(c.key for c in fresh)
            near = self._neighbours(fresh, set(found), self._filter(members))
            found.update((c.key, c) for c in near)
        every = list(found.values())
        first = {c.key: c for c in self._best(every, len(every))}
        return list((first | found).values())

    @cached_property
    def front(self) -> Floats:
        """Logarithms of the non-dominated tight bounds of the base: [k, m]."""
        values = np.array([c.values for c in self.base])
        values = values.reshape(len(values), len(self._problem.objective_set.objectives))
        return np.asarray(np.log(values[non_dominated(values)]))

    def ranked(
        self,
        front: Sequence[Candidate],
        known: set[str],
        undominated: Filter,
        score: Callable[[Sequence[Candidate]], Floats],
    ) -> list[Candidate]:
        """Return designs with tight bounds, none of them in ``known``, those first that score best.

        They are the base, the neighbours of the front's members, and those of what scores best.

        Args:
            front: measured designs that no other one dominates.
            known: keys of designs that are not wanted.
            undominated: drops designs whose bounds results exclude.
            score: of designs, [n]; more is better.
        """
        pool = undominated([c for c in self.base if c.key not in known])
        pool += self._neighbours(front, {*known, *(c.key for c in pool)}, undominated)
        if not pool:
            return []
        scores = score(pool)
        best = [pool[i] for i in np.argsort(-scores, kind="stable")[:_MEMBERS]]
        if near := self._neighbours(best, {*known, *(c.key for c in pool)}, undominated):
            pool += near
            scores = np.concatenate([scores, score(near)])
        return [pool[i] for i in np.argsort(-scores, kind="stable")]

    def _neighbours(
        self, designs: Sequence[Candidate], known: set[str], undominated: Filter
    ) -> list[Candidate]:
        """Return what is one step away from some designs and not known, with tight bounds, less
        what its loose or its tight bounds exclude."""
        near = {c.key: c for d in designs for c in self._problem.neighbours(d)}
        loose = undominated([c for key, c in near.items() if key not in known])
        return undominated(self._encoder.tightened(loose))

    def _filter(self, members: Sequence[Candidate]) -> Filter:
        """Return what drops designs whose bounds those of members dominate."""
        values = [member.values for member in members]

        def undominated(some: Sequence[Candidate]) -> list[Candidate]:
            excluded = dominated_by(values, [c.values for c in some])
            return [c for c, bad in zip(some, excluded, strict=True) if not bad]

        return undominated

    def _best(self, designs: list[Candidate], n: int) -> list[Candidate]:
        """Return up to ``n`` designs, each of which adds most to the volume of those before it if
        costs are in proportion to bounds; none that adds nothing."""
        if not designs:
            return []
        encoded = self._encoder.of(designs)
        front = encoded.ln_least[non_dominated(encoded.ln_least)]
        reference = self._encoder.reference(front, ())
        certain = bound_prior(self._problem.objective_set, 0.0, reference)
        return [designs[i] for i in certain.best(encoded, n, least=0.0)]
