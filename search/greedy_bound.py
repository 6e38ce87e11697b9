"""No model: the designs whose lower bounds would improve the front most."""

from collections.abc import Sequence

import numpy as np

from ..space.hardware_space import Point
from ..surrogates.threads import one_thread
from .belief import Belief
from .candidates import DesignProblem
from .design_arrays import DesignArrays
from .pool import CandidatePool
from .protocols import Observation
from .random_search import draw_new
from .told import Told


class GreedyBound:
    """Proposes the design that adds most hypervolume to the front if its bounds come true.

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
        self._problem = problem
        self._seed = seed
        self._pool = CandidatePool(problem, seed, pool)
        self._arrays = DesignArrays(problem, self._pool)
        self._told = Told(problem)

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; see ``HardwareOptimizer.tell``."""
        self._told.add(observations)

    @one_thread()
    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._told.known(pending)
        rng = np.random.default_rng(self._told.ask_seed(self._seed, pending))
        pool = self._told.prospects(self._pool.around(self._told.front(), rng, known))
        chosen = []
        if pool and n:
            belief = self._belief().believing(self._arrays.at(pending))
            pool = self._pool.refined(pool, known, lambda some: belief.score(self._arrays.of(some)))
            order = belief.best(self._arrays.of(pool), n, least=0.0)
            chosen = [pool[i] for i in order]
            known.update(c.key for c in chosen)
        return [c.point for c in chosen + draw_new(self._problem, rng, n - len(chosen), known)]

    def _belief(self) -> Belief:
        """Return the belief that every objective is at its bound."""
        results = self._told.results
        front = self._told.logs()[[r.violation == 0 for r in results]]
        bounds = self._arrays.base_range
        return Belief(
            processes=(None,) * bounds.shape[1],
            front=front,
            reference=self._arrays.reference(np.concatenate([bounds, front]), results),
        )
