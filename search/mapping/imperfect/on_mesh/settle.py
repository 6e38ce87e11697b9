"""What is proven of a mapping with factors of any size, and a better one if the proof finds it."""

from dataclasses import replace
from math import exp, inf, log1p
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats
from archloom.evaluators.bounds import nests_of_problem, ways_to_keep
from archloom.evaluators.bounds.network.mesh import Limit
from archloom.evaluators.loopnest import (
    DRAM_ROWS,
    NO_FILL,
    LayerCost,
    MappingProblem,
    mapped_cost,
)
from archloom.evaluators.loopnest.imperfect import imperfect_room
from archloom.space.mapping import Mapping

from ...objectives import ln_scores
from ..nearby import BETTER, priced
from ..trial import Trial, hops_cost, mapping_of
from .proof import LEVELS, Bounded, settle

#: looks at tiles that take as long as an evaluation of the searches, about
LOOKS: Final = 8

#: never set
_GO_ON: Final = np.zeros(1, np.uint8)


def settled(
    problem: MappingProblem, cost: LayerCost, looks: int, stop: Flags = _GO_ON
) -> LayerCost:
    """Return the best mapping that is known of a problem, with what is proven of it.

    Args:
        problem: with the layer's own bounds.
        cost: of a mapping of it, with the gap that is known.
        looks: at tiles, at most, to find all mappings that may be better; 0 for bounds alone.
        stop: uint8[1], which another thread may set: no more looks then.
    """
    assert cost.mapping is not None
    if cost.gap_percent == 0:
        return cost
    proof = _Proof(problem, cost.mapping, looks, stop)
    before = float(proof.trial.score[0])
    if before == -inf:
        return cost
    bound, after = proof.bound(), float(proof.trial.score[0])
    if cost.gap_percent < inf:
        bound = max(bound, before - log1p(cost.gap_percent / 100))
    found = cost
    if after < before - BETTER:
        mapping = proof.mapping()
        found = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
    gap = after - bound
    percent = 0.0 if gap <= BETTER else 100.0 * (exp(gap) - 1.0)
    return replace(found, gap_percent=percent)


def load_kernels(problem: MappingProblem, cost: LayerCost) -> None:
    """Compile, or load, what :func:`settled` runs for such a problem and mapping."""
    assert cost.mapping is not None
    settled(problem, replace(cost, gap_percent=inf), 0)
    proof = _Proof(problem, cost.mapping, 1, np.ones(1, np.uint8))
    proof.settle(0, proof.least()[0])


class _Proof:
    """Bounds of a problem for each way to keep tensors, and the best mapping so far."""

    def __init__(self, problem: MappingProblem, mapping: Mapping, looks: int, stop: Flags) -> None:
        loops, keep = mapping.arrays()
        setup = problem.setup
        self._setup = setup
        self._nests, self._design, self._prices = nests_of_problem(problem)
        self._room = imperfect_room(len(loops))
        self._stop = stop
        self._looks = np.array([looks if _may_settle(problem) else 0, 0])
        self.trial = Trial(loops.copy(), keep.copy(), loops, keep, np.full(1, inf))
        priced(setup, self.trial, self._room)

    def bound(self) -> float:
        """Return a score that no mapping is below: that of the best one if it is proven."""
        ways = self.least()
        least = self._scores(ways[:, 0])
        known = inf
        for way in np.argsort(least).tolist():
            if least[way] >= self.trial.score[0] - BETTER:
                # so are all that follow
                break
            known = min(known, self._bound_of(way, ways[way]))
        return min(known, float(self.trial.score[0]))

    def least(self) -> Floats:
        """Return float64[W, 1, 2], energy and cycles that no mapping goes below which keeps tensors
        in some way."""
        return self._nests.by_way(self._design, self._prices)

    def _scores(self, costs: Floats) -> Floats:
        setup, cycles = self._setup, costs[:, 1]
        scores: Floats = ln_scores(setup.weights, costs[:, 0] + setup.leakage_pj * cycles, cycles)
        return scores

    def _bound_of(self, way: int, least: Floats) -> float:
        """Return a bound of what keeps tensors in some way; infinite if nothing is better."""
        setup, trial = self._setup, self.trial
        if self._stop[0]:
            return float(self._scores(least).min())
        limit = Limit(setup.weights, setup.leakage_pj, float(trial.score[0]))
        _, rows = self._nests.corners(self._design, self._prices, way, limit)
        bound = float(self._scores(rows).min())
        if bound >= trial.score[0] - BETTER:
            return inf
        return max(bound, self.settle(way, least)) if self._looks[1] < self._looks[0] else bound

    def settle(self, way: int, least: Floats) -> float:
        """Look at all that keeps tensors in some way; return a bound of what is left."""
        setup, trial, nests = self._setup, self.trial, self._nests
        kept = ways_to_keep(self._design)[way]
        trial.tried_keep[:] = np.where(setup.optional, kept.must, setup.allowed)
        layer = nests.batch(kept), nests.bounds, nests.windows, least
        bounded = Bounded(kept, self._prices, *layer)
        return float(settle(setup, bounded, trial, self._room, self._looks, self._stop))

    def mapping(self) -> Mapping:
        """Return the best mapping."""
        return mapping_of(self.trial.best, self.trial.best_keep)


def _may_settle(problem: MappingProblem) -> bool:
    """Whether all mappings of a problem are those that are looked at.

    What is unrolled along which axis is no matter, and of loop orders only which tensor stays, but
    where hops cost energy, arrays fill and drain, or DRAM has rows. Constraints may say what levels
    keep and what may be unrolled.
    """
    setup = problem.setup
    rows = setup.extras is not None and bool(setup.extras & DRAM_ROWS)
    prescribed = bool((setup.fixed > 1).any() or setup.within.any()) or setup.ranks.shape[1] > 0
    levels = len(setup.fanout) == LEVELS
    return levels and not (prescribed or hops_cost(setup) or rows) and setup.fill_drain == NO_FILL
