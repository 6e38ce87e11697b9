"""Multi-objective Bayesian optimization of one objective that software decides, area and TDP.

Area and TDP are exact, so only ln(cost / lower bound) is modelled; with one unknown objective the
expected hypervolume improvement has a closed form, and a pool of thousands of designs is scored
in milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final, Literal, get_args

import numpy as np

from ..space.hardware_space import Point
from ..surrogates.fidelity import high_fidelity
from ..surrogates.gp import Array, GaussianProcess, Prior
from .belief import Belief, Designs
from .candidates import Candidate, DesignProblem
from .pareto import non_dominated
from .pool import CandidatePool, spread
from .protocols import Observation
from .random_search import draw_new
from .seeds import derived_seed

UpdateFilter = Literal["none", "uul"]

#: Fewest results that a fit is worth; before them the start goes on.
MIN_RESULTS: Final = 3

#: Deviation of ln(cost / bound) that is believed before any result.
START_DOUBT: Final = 0.3

#: The reference lies this share of the range (of a factor e at least) above the worst value, so
#: that the extremes of the front count as well.
REFERENCE_MARGIN: Final = 0.1

#: Doublings of software search that span the fidelity input's unit interval.
FIDELITY_DOUBLINGS: Final = 8

#: Best candidates whose neighbours join the pool, and how often, where the space cannot be
#: enumerated.
REFINED: Final = 8
REFINEMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class _Result:
    """A told trial with values.

    Attributes:
        candidate: its design.
        logs: natural logarithms of the unknown objective and of the known ones.
        excess: ln(cost / limit) for each limit.
        evaluations: what was spent.
    """

    candidate: Candidate
    logs: tuple[float, ...]
    excess: tuple[float, ...]
    evaluations: int

    @property
    def kept(self) -> bool:
        """Whether every limit is kept."""
        return all(e <= 0 for e in self.excess)


class Mobo:
    """Proposes the designs with the largest expected hypervolume improvement.

    Of the first ``initial`` designs half lie far apart in the feasible space, from a random one
    on, for the model to learn from; the others improve the front most if the lower bounds,
    which cost nothing, are right up to a factor. Then each call fits a Gaussian process to every
    result so far, from nothing, and picks a batch one by one as a kriging believer. Designs in
    flight are believed as well. ``ask`` depends on the seed, on what was told and on what is
    pending, and on nothing else.

    A trial that was stopped early has a cost that more search would have lowered: the logarithm
    of the evaluations spent is an input of the model, which is asked at the most spent so far.

    Each limit of the study has a model of its own, and designs that break one improve nothing.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: designs before the model decides.
        pool: designs that are scored in a call, about; an enumerable space is scored whole.
        update_filter: ``uul`` keeps low-fidelity results from the model as CASCO does.
        filter_batch: trials in one iteration of the filter.

    Raises:
        ValueError: an option outside its range, or several objectives that software decides.
    """

    def __init__(
        self,
        problem: DesignProblem,
        seed: int,
        initial: int = 8,
        pool: int = 2000,
        update_filter: UpdateFilter = "none",
        filter_batch: int = 8,
    ) -> None:
        for name, value in (("initial", initial), ("pool", pool), ("filter_batch", filter_batch)):
            if value < 1:
                raise ValueError(f"{name} is {value}, must be at least 1")
        if update_filter not in get_args(UpdateFilter):
            valid = ", ".join(get_args(UpdateFilter))
            raise ValueError(f"update_filter is {update_filter!r}, must be one of {valid}")
        unknown = [i for i, known in enumerate(problem.goals.known) if not known]
        if len(unknown) > 1:
            names = " and ".join(problem.goals.objectives[i].name for i in unknown)
            raise ValueError(f"{names} both depend on the software, must be one; choose 'random'")
        self._unknown = unknown[0]
        self._exact = [i for i, known in enumerate(problem.goals.known) if known]
        self._problem = problem
        self._seed = seed
        self._initial = initial
        self._pool = CandidatePool(problem, seed, pool)
        self._update_filter = update_filter
        self._filter_batch = filter_batch
        self._told: list[str] = []
        self._results: list[_Result] = []

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; those without values are only never proposed again.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        goals = self._problem.goals
        for seen in observations:
            key = self._problem.space.point_key(seen.point)
            self._told.append(key)
            if seen.values is None:
                continue
            if (len(seen.values), len(seen.excess)) != (len(goals.objectives), len(goals.limits)):
                raise ValueError(
                    f"{key} has {len(seen.values)} values and {len(seen.excess)} excesses, must "
                    f"have {len(goals.objectives)} and {len(goals.limits)}"
                )
            candidate = self._problem.assess(seen.point)
            if isinstance(candidate, Candidate):
                exact = (candidate.values[i] for i in self._exact)
                logs = tuple(map(log, (seen.values[self._unknown], *exact)))
                spent = max(seen.evaluations, 1)
                self._results.append(_Result(candidate, logs, seen.excess, spent))

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = {*self._told, *map(self._problem.space.point_key, pending)}
        rng = np.random.default_rng(derived_seed(self._seed, "ask", len(self._told), len(pending)))
        learned = len(self._results) >= MIN_RESULTS
        starting = min(n, self._initial - len(known)) if learned else n
        chosen = self._start(max(starting, 0), known)
        known.update(c.key for c in chosen)
        if learned and len(chosen) < n:
            believed = [*pending, *(c.point for c in chosen)]
            chosen += self._improve(n - len(chosen), believed, known, rng)
            known.update(c.key for c in chosen)
        if len(chosen) < n:
            chosen += draw_new(self._problem, rng, n - len(chosen), known)
        return [c.point for c in chosen]

    def _start(self, n: int, known: set[str]) -> list[Candidate]:
        """Return the next ``n`` designs of the start that are not known."""
        base = self._pool.base
        if n < 1 or not base:
            return []
        designs = self._designs(base)
        first = derived_seed(self._seed, "start") % len(base)
        apart = spread(self._pool.inputs(base), (self._initial + 1) // 2, first)
        reference = self._reference(designs.ln_bound)
        doubt = Prior(START_DOUBT)
        limits = (doubt,) * len(self._problem.goals.limits)
        belief = Belief(doubt, np.empty((0, len(reference))), reference, limits)
        order = belief.best(designs, n + len(known), apart)
        return [base[i] for i in order if base[i].key not in known][:n]

    def _improve(
        self, n: int, believed: Sequence[Point], known: set[str], rng: np.random.Generator
    ) -> list[Candidate]:
        """Return the ``n`` best designs of a pool by expected hypervolume improvement."""
        kept = [r for r in self._results if r.kept]
        on_front = non_dominated([r.logs for r in kept])
        front = [r.candidate for r, on in zip(kept, on_front, strict=True) if on]
        pool = self._pool.around(front, rng, known)
        if not pool:
            return []
        belief = self._belief(believed)
        for _ in range(REFINEMENTS):
            best = np.argsort(-belief.score(self._designs(pool)), kind="stable")[:REFINED]
            met = known | {c.key for c in pool}
            pool += self._pool.neighbours([pool[i] for i in best], met)
        return [pool[i] for i in belief.best(self._designs(pool), n)]

    def _belief(self, believed: Sequence[Point]) -> Belief:
        """Fit the models to the results; ``believed`` are designs that come out as predicted."""
        logs = np.array([r.logs for r in self._results])
        spent = np.log2([r.evaluations for r in self._results])
        fidelity = 1.0 + (spent - spent.max()) / FIDELITY_DOUBLINGS
        designs = self._designs([r.candidate for r in self._results], fidelity)
        train = np.ones(len(logs), dtype=np.bool_)
        if self._update_filter == "uul":
            train = high_fidelity(logs, self._filter_batch, derived_seed(self._seed, "uul"))
        inputs = designs.inputs[train]
        process = GaussianProcess.fit(inputs, (logs[:, 0] - designs.ln_bound)[train])
        excess = np.array([r.excess for r in self._results])
        limits = [
            GaussianProcess.fit(inputs, above[train]) for above in (excess - designs.least_excess).T
        ]
        front = logs[[r.kept for r in self._results]]
        belief = Belief(process, front, self._reference(logs[:, 0]), tuple(limits))
        assessed = [self._problem.assess(p) for p in believed]
        return belief.believing(self._designs([c for c in assessed if isinstance(c, Candidate)]))

    def _reference(self, ln_cost: Array) -> Array:
        """Return the corner a little above the costs and above every known objective."""
        exact = self._designs([*self._pool.base, *(r.candidate for r in self._results)]).ln_exact
        low = np.append(ln_cost.min(), exact.min(axis=0))
        high = np.append(ln_cost.max(), exact.max(axis=0))
        return np.asarray(high + REFERENCE_MARGIN * np.maximum(high - low, 1.0))

    def _designs(self, candidates: Sequence[Candidate], fidelity: Array | float = 1.0) -> Designs:
        """Return the candidates as arrays; 1 is the highest fidelity that was told."""
        limits = len(self._problem.goals.limits)
        if not candidates:
            known = len(self._exact)
            none = np.empty(0)
            return Designs(
                none.reshape(0, 1), none, none.reshape(0, known), none.reshape(0, limits)
            )
        costs = np.log([c.values for c in candidates])
        return Designs(
            inputs=np.column_stack(
                [self._pool.inputs(candidates), np.broadcast_to(fidelity, len(candidates))]
            ),
            ln_bound=costs[:, self._unknown],
            ln_exact=costs[:, self._exact],
            least_excess=np.array([c.least_excess for c in candidates]).reshape(
                len(candidates), limits
            ),
        )
