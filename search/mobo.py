"""Multi-objective Bayesian optimization of what software decides, area and TDP.

Area and TDP are exact, so only ln(cost / lower bound) of the other objectives is modelled, each by
itself. So the expected hypervolume improvement has a closed form, and a pool of thousands of
designs is scored in milliseconds.
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np

from ..space.hardware_space import Point
from ..surrogates.fidelity import high_fidelity
from ..surrogates.gp import Array, Fits, GaussianProcess, Prior, Surrogate
from ..surrogates.threads import one_thread
from .belief import Belief
from .candidates import Candidate, DesignProblem
from .design_arrays import DesignArrays
from .long_history import MOST_ROWS, farthest, renewed, telling_rows
from .monte_carlo import MonteCarlo
from .pool import CandidatePool
from .protocols import Observation
from .random_search import draw_new
from .seeds import derived_seed
from .told import Told

UpdateFilter = Literal["none", "uul"]
Acquisition = Literal["ehvi", "qlognehvi", "qlognparego"]

#: Fewest results that a fit is worth; before them the start goes on.
MIN_RESULTS: Final = 3

#: Deviation of ln(cost / bound) that is believed before any result.
START_DOUBT: Final = 0.3


class Mobo:
    """Proposes the designs with the largest expected hypervolume improvement.

    Of the first ``initial`` designs half lie far apart in the feasible space, from a random one
    on, for the model to learn from; the others improve the front most if the lower bounds,
    which cost nothing, are right up to a factor. Then each call conditions a Gaussian process on
    the results so far and picks a batch one by one as a kriging believer. Designs in flight are
    believed as well. Hyperparameters are fitted from nothing, whenever there are a fifth more
    results; of thousands of results some are left out (:func:`telling_rows`). ``ask`` depends on
    the seed, on what was told and on what is pending, and on nothing else.

    A trial that was stopped early has a cost that more search would have lowered: the logarithm
    of the evaluations spent is an input of the model, which is asked at the most spent so far.

    Each limit of the study has a model of its own, and so has each rule that made a trial end
    without values. Designs that break one improve nothing.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: designs before the model decides.
        pool: designs that are scored in a call, about; an enumerable space is scored whole.
        update_filter: ``uul`` keeps low-fidelity results from the model as CASCO does.
        filter_batch: trials in one iteration of the filter.
        acquisition: what makes a design worth a trial: ``ehvi``, the expected hypervolume
            improvement in closed form; or by sampling ``qlognehvi`` or ``qlognparego``.

    Raises:
        ValueError: an option outside its range.
    """

    def __init__(
        self,
        problem: DesignProblem,
        seed: int,
        initial: int = 8,
        pool: int = 2000,
        update_filter: UpdateFilter = "none",
        filter_batch: int = 8,
        acquisition: Acquisition = "ehvi",
    ) -> None:
        for name, value in (("initial", initial), ("pool", pool), ("filter_batch", filter_batch)):
            if value < 1:
                raise ValueError(f"{name} is {value}, must be at least 1")
        for name, chosen, kinds in (
            ("update_filter", update_filter, get_args(UpdateFilter)),
            ("acquisition", acquisition, get_args(Acquisition)),
        ):
            if chosen not in kinds:
                raise ValueError(f"{name} is {chosen!r}, must be one of {', '.join(kinds)}")
        self._problem = problem
        self._seed = seed
        self._initial = initial
        self._pool = CandidatePool(problem, seed, pool)
        self._update_filter = update_filter
        self._filter_batch = filter_batch
        self._acquisition = acquisition
        self._arrays = DesignArrays(problem, self._pool)
        self._told = Told(problem)
        self._fits = Fits()

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; those without values are only never proposed again.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        self._told.add(observations)

    @one_thread()
    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._told.known(pending)
        rng = np.random.default_rng(self._told.ask_seed(self._seed, pending))
        learned = len(self._told.results) >= MIN_RESULTS
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
        designs = self._arrays.of(base)
        first = derived_seed(self._seed, "start") % len(base)
        apart = farthest(designs.inputs, (self._initial + 1) // 2, [first]).tolist()
        doubt = Prior(START_DOUBT)
        goals = self._problem.goals
        belief = Belief(
            processes=tuple(None if known else doubt for known in goals.known),
            front=np.empty((0, len(goals.objectives))),
            reference=self._arrays.reference(designs.ln_least, ()),
            limits=(doubt,) * len(goals.limits),
        )
        order = belief.best(designs, n + len(known), apart)
        return [base[i] for i in order if base[i].key not in known][:n]

    def _improve(
        self, n: int, believed: Sequence[Point], known: set[str], rng: np.random.Generator
    ) -> list[Candidate]:
        """Return the ``n`` best designs of a pool."""
        pool = self._told.prospects(self._pool.around(self._told.front(), rng, known))
        if not pool:
            return []
        fitted, waiting = self._belief(), self._arrays.at(believed)
        belief = fitted.believing(waiting)
        pool = self._pool.refined(pool, known, lambda some: belief.score(self._arrays.of(some)))
        designs, front = self._arrays.of(pool), self._told.front_rows()
        if self._acquisition == "ehvi" or not front:
            return [pool[i] for i in belief.best(designs, n)]
        observed = self._arrays.results(self._told.results)[np.array(front)]
        seed = int(rng.integers(2**62))
        sampled = MonteCarlo(self._acquisition, fitted, observed, seed)
        return [pool[i] for i in sampled.best(designs, n, waiting)]

    def _belief(self) -> Belief:
        """Fit the models to the results."""
        results = self._told.results
        logs, designs = self._told.logs(), self._arrays.results(results)
        front = logs[np.array(self._told.front_rows(), dtype=np.int64)]
        train = np.arange(len(logs))
        if self._update_filter == "uul":
            seed = derived_seed(self._seed, "uul")
            train = np.flatnonzero(high_fidelity(logs, self._filter_batch, seed))
        over = np.array([r.violation for r in results])[:, None]
        rows = telling_rows(designs.inputs[train], (logs + over)[train], front)
        above = (logs - designs.ln_least)[train]
        excess = (np.array([r.excess for r in results]) - designs.least_excess)[train]

        def process(targets: Array) -> GaussianProcess:
            first = slice(renewed(len(train)))
            found = self._fits(designs.inputs[train[first]], targets[first])
            return GaussianProcess(designs.inputs[train[rows]], targets[rows], found)

        return Belief(
            processes=tuple(
                None if known else process(above[:, j])
                for j, known in enumerate(self._problem.goals.known)
            ),
            front=front,
            reference=self._arrays.reference(logs, results),
            limits=tuple(process(more) for more in excess.T),
            rules=self._rules([results[i].candidate for i in train[rows]]),
        )

    def _rules(self, kept: Sequence[Candidate]) -> tuple[Surrogate, ...]:
        """Return a process of each rule that a trial ended by: 1 where it was broken.

        A design with values keeps the rule; ``kept`` are those of them that tell most. Of one that
        broke another rule it is not known.
        """
        every, found = [r.candidate for r in self._told.results], []
        for rule in sorted({rule for _, rule in self._told.failures}):
            broken = [candidate for candidate, name in self._told.failures if name == rule]
            first = self._labelled(every[: renewed(len(every))], broken[: renewed(len(broken))])
            now = self._labelled(kept, broken[-MOST_ROWS // 2 :])
            found.append(GaussianProcess(*now, self._fits(*first)))
        return tuple(found)

    def _labelled(
        self, kept: Sequence[Candidate], broken: Sequence[Candidate]
    ) -> tuple[Array, Array]:
        """Return inputs and labels."""
        labels = np.repeat([0.0, 1.0], [len(kept), len(broken)])
        return self._arrays.of([*kept, *broken]).inputs, labels
