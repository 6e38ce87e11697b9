"""Plain Bayesian optimization with BoTorch: every objective is a black box.

The published practice, as a baseline for :mod:`archloom.search.hardware.bayesian.mobo`: Gaussian
processes of the logarithms of all objectives, area and TDP among them, over the encoded parameters
alone, and qLogNEHVI. No lower bounds, no domain features. Only designs that break a rule or a cap
are never proposed, as for every optimizer here.
"""

from collections.abc import Sequence

import numpy as np

from archloom.space.design_space import Point
from archloom.surrogates import EncodedDesigns, GaussianProcess, Posterior, one_thread

from ..observations import ObservingOptimizer
from ..problem import Candidate, DesignProblem
from ..proposals import draw_new
from .candidate_pool import CandidatePool
from .encoding import REFERENCE_MARGIN
from .monte_carlo import MonteCarlo

#: Fewest results that a fit is worth; before them the start goes on.
MIN_RESULTS = 3


class BlackBoxNehvi(ObservingOptimizer):
    """Proposes the designs with the largest noisy expected hypervolume improvement.

    Daulton et al., "Parallel Bayesian optimization of multiple noisy objectives with expected
    hypervolume improvement" (NeurIPS 2021), over a pool of random designs and of designs near
    the front.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: random designs before the model decides.
        pool: designs that are scored in a call, about; an enumerable space is scored whole.

    Raises:
        ValueError: an option outside its range.
    """

    def __init__(
        self, problem: DesignProblem, seed: int, initial: int = 8, pool: int = 1000
    ) -> None:
        for name, value in (("initial", initial), ("pool", pool)):
            if value < 1:
                raise ValueError(f"{name} is {value}, must be at least 1")
        super().__init__(problem, seed)
        self._initial = initial
        self._pool = CandidatePool(problem, seed, pool)

    @one_thread()
    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        seed = self._observations.draw_seed(self._seed, pending)
        rng = np.random.default_rng(seed)
        front = self._observations.front_rows()
        learned = len(self._observations.results) >= MIN_RESULTS and bool(front)
        starting = min(n, max(self._initial - len(known), 0)) if learned else n
        chosen = draw_new(self._problem, rng, starting, known)
        known.update(c.key for c in chosen)
        pool = self._pool.drawn(self._observations.front(), rng, known) if len(chosen) < n else []
        if pool:
            waiting = [*pending, *(c.point for c in chosen)]
            acquisition = MonteCarlo(
                "qlognehvi", self._posterior(front), self._observed(front), seed
            )
            best = acquisition.best(self._designs(pool), n - len(chosen), self._at(waiting))
            chosen += [pool[i] for i in best]
            known.update(c.key for c in chosen)
        chosen += draw_new(self._problem, rng, n - len(chosen), known)
        return [c.point for c in chosen]

    def _posterior(self, front: Sequence[int]) -> Posterior:
        """Fit a process to each objective and to each limit."""
        results, logs = self._observations.results, self._observations.logs()
        inputs = self._designs([r.candidate for r in results]).inputs
        excess = np.array([r.excess for r in results])
        low, high = logs.min(axis=0), logs.max(axis=0)
        return Posterior(
            processes=tuple(GaussianProcess.fit(inputs, column) for column in logs.T),
            front=logs[np.array(front)],
            reference=high + REFERENCE_MARGIN * (high - low),
            limits=tuple(GaussianProcess.fit(inputs, column) for column in excess.T),
        )

    def _observed(self, front: Sequence[int]) -> EncodedDesigns:
        return self._designs([self._observations.results[i].candidate for i in front])

    def _at(self, points: Sequence[Point]) -> EncodedDesigns:
        assessed = [self._problem.assess(p) for p in points]
        return self._designs([c for c in assessed if isinstance(c, Candidate)])

    def _designs(self, candidates: Sequence[Candidate]) -> EncodedDesigns:
        """Return the candidates as arrays in which nothing is known of their costs."""
        objective_set, n = self._problem.objective_set, len(candidates)
        return EncodedDesigns(
            inputs=self._problem.space.encode([c.point for c in candidates]),
            ln_least=np.zeros((n, len(objective_set.objectives))),
            least_excess=np.zeros((n, len(objective_set.limits))),
        )
