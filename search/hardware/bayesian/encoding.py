"""Encoding of designs as the arrays that surrogates predict over."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space.design_space import Point
from archloom.surrogates import EncodedDesigns

from ...pareto import non_dominated
from ..observations import EvaluatedDesign
from ..problem import Candidate, DesignProblem
from .candidate_pool import CandidatePool

#: The reference lies this share of the range (of a factor e at least) above the worst value, so
#: that the extremes of the front count as well.
REFERENCE_MARGIN: Final = 0.1

#: Results whose tight bounds are remembered: more than models are fitted to and conditioned on.
_MOST_REMEMBERED: Final = 2**11

#: Doublings of software search that span the fidelity input's unit interval.
_FIDELITY_DOUBLINGS: Final = 8


class DesignEncoder:
    """Turns designs of a problem into arrays, scaled over a pool.

    Args:
        problem: where designs come from.
        pool: gives the inputs, and the range of what is known.
    """

    def __init__(self, problem: DesignProblem, pool: CandidatePool) -> None:
        self._problem = problem
        self._pool = pool
        self._results: EncodedDesigns | None = None
        self._tight: dict[str, Candidate] = {}

    def of(self, candidates: Sequence[Candidate], fidelity: Floats | float = 1.0) -> EncodedDesigns:
        """Return the candidates as arrays; 1 is the highest fidelity observed."""
        n = len(candidates)
        inputs = self._pool.inputs(candidates) if n else np.empty((0, 0))
        return EncodedDesigns(
            inputs=np.column_stack([inputs, np.broadcast_to(fidelity, n)]),
            **self._bounds(candidates),
        )

    def _bounds(self, candidates: Sequence[Candidate]) -> dict[str, Floats]:
        """Return what is known of costs, as fields of :class:`EncodedDesigns`."""
        objective_set, n = self._problem.objective_set, len(candidates)
        least = np.array([c.values for c in candidates]).reshape(n, len(objective_set.objectives))
        excess = np.array([c.least_excess for c in candidates]).reshape(
            n, len(objective_set.limits)
        )
        return {"ln_least": np.log(least), "least_excess": excess}

    def at(self, points: Sequence[Point], tight: bool = False) -> EncodedDesigns:
        """Return those of the points that are candidates, with their tight bounds or the others."""
        assessed = [self._problem.assess(p) for p in points]
        found = [c for c in assessed if isinstance(c, Candidate)]
        return self.of(self.tightened(found) if tight else found)

    def results(
        self,
        results: Sequence[EvaluatedDesign],
        rows: NDArray[np.int64] | None = None,
        tight: bool = False,
    ) -> EncodedDesigns:
        """Return the designs of some results, None for all, each at the fidelity of what was spent
        on it; with their tight bounds or the others.

        Those of the last call are remembered: ``results`` are always those of one study, so as many
        are the same ones.
        """
        if self._results is None or len(self._results) != len(results):
            spent = np.log2([r.evaluations for r in results])
            fidelity = 1.0 + (spent - spent.max()) / _FIDELITY_DOUBLINGS
            self._results = self.of([r.candidate for r in results], fidelity)
        found = self._results if rows is None else self._results[rows]
        if not tight:
            return found
        chosen = results if rows is None else [results[i] for i in rows]
        bounded = [self._of_result(r.candidate) for r in chosen]
        return replace(found, **self._bounds(bounded))

    def _of_result(self, candidate: Candidate) -> Candidate:
        """Return the design of a result with its tight bounds, which are remembered."""
        if candidate.key not in self._tight:
            if len(self._tight) >= _MOST_REMEMBERED:
                self._tight.clear()
            self._tight[candidate.key] = self._problem.tightened(candidate)
        return self._tight[candidate.key]

    def tightened(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with their tight bounds (``DesignProblem.tightened``)."""
        return [self._problem.tightened(c) for c in candidates]

    @cached_property
    def base_range(self) -> Floats:
        """Least and largest logarithms of each objective, or of its bound, in the pool's base:
        [2, m], [0, m] if it is empty.
        """
        values = [c.values for c in self._pool.base]
        logs = np.log(
            np.array(values).reshape(len(values), len(self._problem.objective_set.objectives))
        )
        return np.stack([logs.min(axis=0), logs.max(axis=0)]) if len(logs) else logs

    @cached_property
    def bound_front(self) -> Floats:
        """Logarithms of the non-dominated bounds of designs of the base: [k, m]."""
        values = np.array([c.values for c in self._pool.base])
        values = values.reshape(len(values), len(self._problem.objective_set.objectives))
        return np.asarray(np.log(values[non_dominated(values)]))

    def reference(self, found: Floats, results: Sequence[EvaluatedDesign]) -> Floats:
        """Return a corner of the hypervolume: [m].

        It is a little above ``found`` [k, m], logarithms of the costs or of bounds of them, and
        above every value of a known objective.
        """
        rows = [r.candidate.values for r in results]
        least = np.vstack([self.base_range, np.log(np.array(rows).reshape(-1, found.shape[1]))])
        known = np.array(self._problem.objective_set.known)
        low = np.where(known, least.min(axis=0), found.min(axis=0))
        high = np.where(known, least.max(axis=0), found.max(axis=0))
        return np.asarray(high + REFERENCE_MARGIN * np.maximum(high - low, 1.0))
