"""Multi-objective Bayesian optimization of what software decides, area and TDP.

Area and TDP are exact, so only ln(cost / lower bound) of the other objectives is modelled, each by
itself. So the expected hypervolume improvement has a closed form, and a pool of thousands of
designs is scored in milliseconds. Those that promise most get tight bounds, and are compared again.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np

from ..space.hardware_space import Point
from ..surrogates.fidelity import high_fidelity
from ..surrogates.gp import ROUGH, Array, Fits, GaussianProcess, Prior, Surrogate
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

#: Deviation of ln(cost / bound) that is believed before any result: of loose and of tight bounds.
START_DOUBT: Final = 0.3
TIGHT_DOUBT: Final = 0.1

#: What the model's deviations count in the expected improvement. Trials are few: what is learned
#: by trying a design that little is known of seldom pays (docs/hardware_search.md); but where
#: limits are to be kept they count in full, and more where nothing is promised.
DOUBT: Final = 0.5

#: Designs that get tight bounds: at first, and at the most; of the start, for each of its designs.
SHORTLIST: Final = 256
LONGEST: Final = 1024
START_SHORTLIST: Final = 8


class Mobo:
    """Proposes the designs with the largest expected hypervolume improvement.

    The first ``initial`` designs improve the front most if the lower bounds are right up to a
    factor. To learn where designs fail, there is one far from all others for each that failed, and
    where software decides whether a limit is kept, half of the start is such. Then each call
    conditions a Gaussian process on the results so far and picks a batch one by one as a kriging
    believer. Designs in flight are believed as well. Hyperparameters are fitted from nothing,
    whenever there are a fifth more results; of thousands of results some are left out
    (:func:`telling_rows`). ``ask`` depends on the seed, on what was told and on what is pending,
    and on nothing else; where a space is scored whole the seed decides nothing but that far design.

    There are two lower bounds of each design, and a model above each: the loose one is cheap, and
    ranks the pool; the tight one takes ten times as long, and is taken of those that promise most.
    A cost is nearly proportional to it, so its model predicts better.

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
        if n < 1 or not self._pool.base:
            return []
        limited = (self._initial + 1) // 2 if self._problem.goals.limits else 0
        some_apart = max(limited, len(self._told.failures))
        apart = self._apart[:some_apart] if some_apart else []
        some = {c.key: c for c in (*apart, *self._opening) if c.key not in known}
        return list(some.values())[:n]

    @cached_property
    def _apart(self) -> list[Candidate]:
        """Designs far apart in the feasible space, from a random one on."""
        base = self._pool.base
        first = derived_seed(self._seed, "start") % len(base)
        inputs = self._pool.inputs(base)
        return [base[i] for i in farthest(inputs, self._initial, [first])]

    @cached_property
    def _opening(self) -> list[Candidate]:
        """Designs that promise most, in the order of what each adds to those before it."""
        base, wanted = self._pool.base, START_SHORTLIST * self._initial
        promising = self._unlearned(START_DOUBT).best(self._arrays.of(base), wanted)
        few = self._arrays.tightened([base[i] for i in promising])
        best = self._unlearned(TIGHT_DOUBT).best(self._arrays.of(few), len(few))
        return [few[i] for i in best]

    def _unlearned(self, doubt: float) -> Belief:
        """Return the belief that bounds are right up to a factor."""
        goals = self._problem.goals
        return Belief(
            processes=tuple(None if known else Prior(doubt) for known in goals.known),
            front=np.empty((0, len(goals.objectives))),
            reference=self._arrays.reference(self._arrays.promised, ()),
            limits=(Prior(doubt),) * len(goals.limits),
        )

    def _improve(
        self, n: int, believed: Sequence[Point], known: set[str], rng: np.random.Generator
    ) -> list[Candidate]:
        """Return the ``n`` best designs of a pool."""
        pool = self._told.prospects(self._pool.around(self._told.front(), rng, known))
        if not pool:
            return []
        belief = self._belief(tight=False).believing(self._arrays.at(believed))
        belief = belief.roused(self._arrays.of(pool))
        pool = self._pool.refined(pool, known, lambda some: belief.score(self._arrays.of(some)))
        promise = belief.score(self._arrays.of(pool))
        pool = [pool[i] for i in np.argsort(-promise, kind="stable")]
        fitted, waiting = self._belief(tight=True), self._arrays.at(believed, tight=True)
        few, best = self._compared(pool, n, fitted.believing(waiting))
        front = self._told.front_rows()
        if self._acquisition == "ehvi" or not front:
            return [few[i] for i in best]
        observed = self._arrays.results(self._told.results, tight=True)[np.array(front)]
        seed = int(rng.integers(2**62))
        sampled = MonteCarlo(self._acquisition, fitted, observed, seed)
        return [few[i] for i in sampled.best(self._arrays.of(few), n, waiting)]

    def _compared(
        self, pool: list[Candidate], n: int, belief: Belief
    ) -> tuple[list[Candidate], list[int]]:
        """Return the first designs of a pool with tight bounds, and which ``n`` are best.

        They are so many that the best are in the first quarter, where that can be had.
        """
        count = SHORTLIST
        while True:
            few = self._arrays.tightened(pool[:count])
            designs = self._arrays.of(few)
            best = belief.roused(designs).best(designs, n)
            if max(best) < count // 4 or count >= min(LONGEST, len(pool)):
                return few, best
            count *= 2

    def _belief(self, tight: bool = True) -> Belief:
        """Fit the models to the results, above tight bounds or the others."""
        results = self._told.results
        logs, designs = self._told.logs(), self._arrays.results(results, tight)
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
            found = self._fits(designs.inputs[train[first]], targets[first], ROUGH)
            return GaussianProcess(designs.inputs[train[rows]], targets[rows], found)

        return Belief(
            processes=tuple(
                None if known else process(above[:, j])
                for j, known in enumerate(self._problem.goals.known)
            ),
            front=front,
            reference=self._reference(logs),
            limits=tuple(process(more) for more in excess.T),
            rules=self._rules([results[i].candidate for i in train[rows]]),
            doubt=1.0 if self._problem.goals.limits else DOUBT,
        )

    def _reference(self, logs: Array) -> Array:
        """Return a corner above all results, and above the front that bounds promise, raised by as
        much as results are above their bounds. Else what is cheapest of all, and slowest, would be
        beyond the corner as long as nothing like it was tried.
        """
        results = self._told.results
        above = np.median(logs - self._arrays.results(results).ln_least, axis=0)
        expected = self._arrays.promised + above
        return self._arrays.reference(np.concatenate([logs, expected]), results)

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
