"""Pool of designs whose tight bounds are good: a local search by these, before any trial.

Costs are nearly proportional to tight bounds, and to loose ones they are not
(docs/explanation/hardware_search.md, "How `mobo` chooses"). So the designs that are best by loose
bounds are only where the search begins.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.surrogates import Posterior, Prior

from ...pareto import dominated_by, non_dominated
from ..problem import Candidate, DesignProblem
from .candidate_pool import CandidatePool
from .encoding import DesignEncoder

#: Designs that are best by loose bounds, where the search begins.
_BEGIN: Final = 64

#: Designs whose neighbours are looked at in a step: those that together have most of the volume.
_MEMBERS: Final = 16

#: Tight bounds after which the search ends, about: half a CPU-second.
_MOST: Final = 512

#: Best designs by the model whose neighbours join them, and how often.
_REFINED: Final = 4
_REFINEMENTS: Final = 2


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

    def __init__(
        self, problem: DesignProblem, pool: CandidatePool, encoder: DesignEncoder
    ) -> None:
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
            best = [c for c in self._best(list(found.values()), _MEMBERS) if c.key not in looked_at]
            if not best:
                break
            looked_at.update(c.key for c in best)
            found.update((c.key, c) for c in self._neighbours(best, found, list(found.values())))
        every = list(found.values())
        first = self._best(every, len(every))
        chosen = {c.key for c in first}
        return [*first, *(c for c in every if c.key not in chosen)]

    @cached_property
    def front(self) -> Floats:
        """Logarithms of the non-dominated tight bounds of the base: [k, m]."""
        values = np.array([c.values for c in self.base])
        values = values.reshape(len(values), len(self._problem.objective_set.objectives))
        return np.asarray(np.log(values[non_dominated(values)]))

    def refined(
        self,
        front: Sequence[Candidate],
        known: set[str],
        undominated: Callable[[Sequence[Candidate]], list[Candidate]],
        score: Callable[[Sequence[Candidate]], Floats],
    ) -> list[Candidate]:
        """Return designs with tight bounds, none of them in ``known``, those first that score best.

        They are the base, neighbours of the front's members, and of the designs that score best.

        Args:
            front: measured designs that no other one dominates.
            known: keys of designs that are not wanted.
            undominated: drops designs whose bounds results exclude.
            score: of designs; more is better.
        """
        pool = undominated([c for c in self.base if c.key not in known])
        near = self._neighbours(front, {*known, *(c.key for c in pool)}, (), undominated)
        pool += undominated(near)
        scores = score(pool) if pool else np.empty(0)
        met = {*known, *(c.key for c in pool)}
        for _ in range(_REFINEMENTS):
            best = np.argsort(-scores, kind="stable")[:_REFINED]
            new = self._neighbours([pool[i] for i in best], met, (), undominated)
            met.update(c.key for c in new)
            if not (new := undominated(new)):
                break
            pool += new
            scores = np.concatenate([scores, score(new)])
        return [pool[i] for i in np.argsort(-scores, kind="stable")]

    def _neighbours(
        self,
        designs: Iterable[Candidate],
        known: "set[str] | dict[str, Candidate]",
        others: Sequence[Candidate],
        undominated: Callable[[Sequence[Candidate]], list[Candidate]] = list,
    ) -> list[Candidate]:
        """Return what is one step away from some designs and not known, with tight bounds, less
        what the bounds of ``others`` dominate by its loose ones."""
        near = {c.key: c for d in designs for c in self._problem.neighbours(d)}
        new = undominated([c for key, c in near.items() if key not in known])
        excluded = dominated_by([c.values for c in others], [c.values for c in new])
        return self._encoder.tightened([c for c, bad in zip(new, excluded, strict=True) if not bad])

    def _best(self, designs: list[Candidate], n: int) -> list[Candidate]:
        """Return up to ``n`` designs, each of which adds most to the volume of those before it if
        costs are in proportion to bounds; none that adds nothing."""
        if not designs:
            return []
        encoded = self._encoder.of(designs)
        front = encoded.ln_least[non_dominated(encoded.ln_least)]
        certain = self.prior(0.0, self._encoder.reference(front, ()))
        return [designs[i] for i in certain.best(encoded, n, least=0.0)]

    def prior(self, std: float, reference: Floats) -> Posterior:
        """Return the prior that costs are at their bounds, up to a factor."""
        objective_set = self._problem.objective_set
        return replace(
            Posterior(
                processes=tuple(None if known else Prior(std) for known in objective_set.known),
                front=np.empty((0, len(objective_set.objectives))),
                reference=reference,
            ),
            limits=(Prior(std),) * len(objective_set.limits),
        )
