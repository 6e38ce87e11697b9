"""Greedy search by lower bounds, without a model of what software finds."""

from collections.abc import Sequence

import numpy as np

from archloom.space.design_space import Point
from archloom.surrogates import Posterior, one_thread

from ..observations import ObservingOptimizer
from ..problem import DesignProblem
from ..proposals import draw_new
from .candidate_pool import CandidatePool
from .encoding import DesignEncoder


class GreedyBound(ObservingOptimizer):
    """Proposes the design that would add most hypervolume to the front at its lower bounds.

    Designs in flight, and those chosen before in a batch, are taken to come out at their bounds.
    A design whose bounds are dominated by the front cannot improve it; such designs come last,
    at random.

    Args:
        problem: what to search.
        seed: seed of the study.
        pool: designs that are scored in a call, about; an enumerable space is scored whole.

    Raises:
        ValueError: a pool without a design.
    """

    def __init__(self, problem: DesignProblem, seed: int, pool: int = 2000) -> None:
        if pool < 1:
            raise ValueError(f"pool is {pool}, must be at least 1")
        super().__init__(problem, seed)
        self._pool = CandidatePool(problem, seed, pool)
        self._encoder = DesignEncoder(problem, self._pool)

    @one_thread()
    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        rng = np.random.default_rng(self._observations.draw_seed(self._seed, pending))
        pool = self._observations.undominated(
            self._pool.drawn(self._observations.front(), rng, known)
        )
        chosen = []
        if pool and n:
            posterior = self._posterior().condition_on_mean(self._encoder.at(pending))
            scores = posterior.score(self._encoder.of(pool))
            pool = self._pool.refined(
                pool, scores, known, lambda some: posterior.score(self._encoder.of(some))
            )
            order = posterior.best(self._encoder.of(pool), n, least=0.0)
            chosen = [pool[i] for i in order]
            known.update(c.key for c in chosen)
        return [c.point for c in chosen + draw_new(self._problem, rng, n - len(chosen), known)]

    def _posterior(self) -> Posterior:
        """Return the posterior in which every objective is at its bound."""
        results = self._observations.results
        front = self._observations.logs()[[r.violation == 0 for r in results]]
        bounds = self._encoder.base_range
        return Posterior(
            processes=(None,) * bounds.shape[1],
            front=front,
            reference=self._encoder.reference(np.concatenate([bounds, front]), results),
        )
