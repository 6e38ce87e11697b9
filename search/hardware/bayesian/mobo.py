"""Multi-objective Bayesian optimization over the objectives that software decides, area and TDP.

Area and TDP are exact, so only ln(cost / lower bound) of the other objectives is modelled, each by
its own Gaussian process. So the expected hypervolume improvement has a closed form
(:mod:`archloom.surrogates.ehvi`), and a pool of thousands of designs is scored in milliseconds. The
best of them get tight bounds, and are scored again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Final, Literal, get_args

import numpy as np

from archloom.evaluators import Floats
from archloom.space.design_space import Point
from archloom.surrogates import (
    MOST_ROWS,
    ROUGH_NOISE_PRIOR,
    DominatedRegion,
    GaussianProcess,
    HyperparameterCache,
    Posterior,
    Surrogate,
    farthest_points,
    fitted_rows,
    high_fidelity,
    informative_rows,
    last_refresh,
    one_thread,
)

from ...seeds import derived_seed
from ..observations import ObservingOptimizer
from ..problem import Candidate, DesignProblem
from ..proposals import draw_new
from ..protocol import Observation
from .candidate_pool import TRIES_PER_DESIGN, CandidatePool
from .encoding import DesignEncoder
from .monte_carlo import MonteCarlo
from .tight_pool import TightPool, bound_prior

UpdateFilter = Literal["none", "uul"]
Acquisition = Literal["ehvi", "qlognehvi", "qlognparego"]
Bounds = Literal["loose", "tight"]

#: Fewest results that a fit is worth; before them the start goes on.
MIN_RESULTS: Final = 3

#: Prior standard deviation of ln(cost / bound).
_START_STD: Final = 0.3

#: Factor of the model's standard deviations in the expected improvement. Trials are few, so
#: exploration seldom pays (docs/explanation/hardware_search.md); with limits it is 1, and it is
#: doubled while no design has a score (``Posterior.with_widened_std``).
_STD_SCALE: Final = 0.5

#: Designs that are chosen from by tight bounds; and designs that are ranked for the start, for each
#: that it has.
SHORTLIST: Final = 64
_START_SHORTLIST: Final = 8

#: Designs whose tight bounds are taken in a call, about, where most turn out to be excluded.
_MOST_TIGHTENED: Final = 384

#: Random designs that are looked at where bounds exclude the whole pool.
_LAST_DRAWS: Final = 64


class Mobo(ObservingOptimizer):
    """Proposes the designs with the largest expected hypervolume improvement.

    The first ``initial`` designs improve the front most if the lower bounds are right up to a
    factor. To learn where designs fail, there is one far from all others for each that failed, and
    where software decides whether a limit is kept, half of the start is such. Then each call
    conditions a Gaussian process on the observations so far and picks a batch one by one as a
    kriging believer (Ginsbourger et al. 2010), conditioned on the means of designs in flight as
    well. Hyperparameters are fitted from nothing, whenever there are a fifth more results; of
    thousands of results some are left out (:func:`informative_rows`). ``ask`` depends on the seed,
    on the observations and on what is pending, and on nothing else; where a space is scored whole
    the seed decides nothing but that far design.

    There are two lower bounds of each design, and a model above each: the loose one is cheap, and
    ranks the pool; the tight one takes ten times as long, and is taken of those that score best.
    A cost is nearly proportional to it, so its model predicts better. Designs that it excludes are
    passed over, and the next best ones looked at; where it excludes the whole pool of a large
    space, fewer designs are proposed than were asked for.

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
        bounds: by which designs are found: ``loose``, or ``tight`` from the first design on
            (:class:`.tight_pool.TightPool`).

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
        bounds: Bounds = "loose",
    ) -> None:
        for name, value in (("initial", initial), ("pool", pool), ("filter_batch", filter_batch)):
            if value < 1:
                raise ValueError(f"{name} is {value}, must be at least 1")
        for name, chosen, kinds in (
            ("update_filter", update_filter, get_args(UpdateFilter)),
            ("acquisition", acquisition, get_args(Acquisition)),
            ("bounds", bounds, get_args(Bounds)),
        ):
            if chosen not in kinds:
                raise ValueError(f"{name} is {chosen!r}, must be one of {', '.join(kinds)}")
        super().__init__(problem, seed)
        self._initial = initial
        self._pool = CandidatePool(problem, seed, pool)
        self._update_filter = update_filter
        self._filter_batch = filter_batch
        self._acquisition = acquisition
        self._encoder = DesignEncoder(problem, self._pool)
        self._tight = TightPool(problem, self._pool, self._encoder) if bounds == "tight" else None
        self._fits = HyperparameterCache()
        self._fitted: dict[bool, Posterior] = {}
        self._ranked: list[Candidate] = []

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; see ``HardwareOptimizer.tell``.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        super().tell(observations)
        if any(o.values is not None or o.failure is not None for o in observations):
            self._fitted.clear()

    @one_thread()
    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        rng = np.random.default_rng(self._observations.draw_seed(self._seed, pending))
        learned = len(self._observations.results) >= MIN_RESULTS
        starting = min(n, self._initial - len(known)) if learned else n
        chosen = self._start(max(starting, 0), known)
        known.update(c.key for c in chosen)
        if learned and len(chosen) < n:
            in_flight = [*pending, *(c.point for c in chosen)]
            chosen += self._improve(n - len(chosen), in_flight, known, rng)
            known.update(c.key for c in chosen)
        if len(chosen) < n:
            chosen += self._drawn(n - len(chosen), known, rng, learned)
        return [c.point for c in chosen]

    def _drawn(
        self, n: int, known: set[str], rng: np.random.Generator, learned: bool
    ) -> list[Candidate]:
        """Return up to ``n`` random designs; of a large space some that bounds do not exclude."""
        if self._problem.enumerable or not learned:
            return draw_new(self._problem, rng, n, known)
        drawn = self._problem.sample(rng, _LAST_DRAWS, known, TRIES_PER_DESIGN * _LAST_DRAWS)
        drawn = drawn or draw_new(self._problem, rng, n, known)
        return list(islice(self._open(self._observations.undominated(drawn)), n))

    def _start(self, n: int, known: set[str]) -> list[Candidate]:
        """Return the next ``n`` designs of the start that are not known."""
        if n < 1 or not self._pool.base:
            return []
        limited = (self._initial + 1) // 2 if self._problem.objective_set.limits else 0
        some_apart = max(limited, len(self._observations.failures))
        apart = self._space_filling[:some_apart] if some_apart else []
        ranked = self._bound_ranked(len(known) + n)
        some = {c.key: c for c in (*apart, *ranked) if c.key not in known}
        return list(some.values())[:n]

    @cached_property
    def _space_filling(self) -> list[Candidate]:
        """Designs far apart in the feasible space, from a random one on."""
        base = self._pool.base
        first = derived_seed(self._seed, "start") % len(base)
        inputs = self._pool.inputs(base)
        return [base[i] for i in farthest_points(inputs, self._initial, [first])]

    def _bound_ranked(self, wanted: int) -> list[Candidate]:
        """Designs whose bounds improve the front most, in the order of what each adds: as many of
        the start's as are wanted, at least.

        Loose bounds: tight ones need kernels, and a study would begin with compiling these.
        """
        if self._tight is not None:
            return self._tight.base
        base = self._pool.base
        most = min(_START_SHORTLIST * self._initial, len(base))
        if len(self._ranked) < min(wanted, most):
            # each is chosen after those before it, so more of them begin with the same
            more = min(max(wanted, 2 * len(self._ranked)), most)
            found = self._prior(_START_STD).best(self._encoder.of(base), more)
            self._ranked = [base[i] for i in found]
        return self._ranked

    def _prior(self, std: float) -> Posterior:
        """Return the prior that costs are at their loose bounds, up to a factor."""
        reference = self._encoder.reference(self._encoder.bound_front, ())
        return bound_prior(self._problem.objective_set, std, reference)

    def _improve(
        self, n: int, in_flight: Sequence[Point], known: set[str], rng: np.random.Generator
    ) -> list[Candidate]:
        """Return the ``n`` best designs of a pool."""
        fitted, waiting = self._posterior(tight=True), self._encoder.at(in_flight, tight=True)
        if self._tight is None:
            pool = self._ranked_pool(in_flight, known, rng)
        else:
            pool = self._tight_pool(self._tight, fitted.condition_on_mean(waiting), known)
        if not pool:
            return []
        few, best = self._shortlisted(pool, n, fitted.condition_on_mean(waiting))
        front = self._observations.front_rows()
        if self._acquisition == "ehvi" or not (front and few):
            return [few[i] for i in best]
        rows = np.array(front, dtype=np.int64)
        observed = self._encoder.results(self._observations.results, rows, tight=True)
        seed = int(rng.integers(2**62))
        sampled = MonteCarlo(self._acquisition, fitted, observed, seed)
        return [few[i] for i in sampled.best(self._encoder.of(few), n, waiting)]

    def _ranked_pool(
        self, in_flight: Sequence[Point], known: set[str], rng: np.random.Generator
    ) -> list[Candidate]:
        """Return a pool that loose bounds leave open, best designs by the model above these first.

        Its matrices are gone before the other model has its own.
        """
        pool = self._observations.undominated(
            self._pool.drawn(self._observations.front(), rng, known)
        )
        if not pool:
            return []
        posterior = self._posterior(tight=False).condition_on_mean(self._encoder.at(in_flight))
        found = posterior.widened_at(self._encoder.of(pool))
        posterior, scores = replace(posterior, std_scale=found.std_scale), found.score()
        del found
        return self._pool.refined(
            pool, scores, known, lambda some: posterior.score(self._encoder.of(some))
        )

    def _tight_pool(
        self, tight: TightPool, posterior: Posterior, known: set[str]
    ) -> list[Candidate]:
        """Return designs that tight bounds leave open, best ones by the model first."""
        posterior = posterior.with_widened_std(self._encoder.of(tight.base))
        return tight.ranked(
            self._observations.front(),
            known,
            self._observations.undominated,
            lambda some: posterior.score(self._encoder.of(some)),
        )

    def _shortlisted(
        self, pool: list[Candidate], n: int, posterior: Posterior
    ) -> tuple[list[Candidate], list[int]]:
        """Return the first designs of a pool that tight bounds leave open, with these, and which
        ``n`` are best.
        """
        few = list(islice(self._open(pool), SHORTLIST))
        designs = self._encoder.of(few)
        return few, posterior.with_widened_std(designs).best(designs, n)

    def _open(self, pool: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the designs that tight bounds do not exclude, with these, in their order; none
        after so many that there would be no end, once one was found.
        """
        found = False
        for start in range(0, len(pool), SHORTLIST):
            if found and start >= _MOST_TIGHTENED:
                return
            some = self._encoder.tightened(pool[start : start + SHORTLIST])
            for candidate in self._observations.undominated(some):
                found = True
                yield candidate

    def _posterior(self, tight: bool = True) -> Posterior:
        """Return the models fitted to the results, above tight bounds or the others.

        A copy each time: the factors of its covariances grow with the square of the results, and
        go with the proposal that they were made for.
        """
        if tight not in self._fitted:
            self._fitted[tight] = self._fit(tight)
        return self._fitted[tight].without_factors()

    def _fit(self, tight: bool) -> Posterior:
        results = self._observations.results
        outcomes = self._observations.outcomes(2 if self._acquisition == "ehvi" else 1)
        # the corner is to be above all of them
        logs = np.max(outcomes, axis=0)
        front = np.log(self._observations.front_values())
        train = np.arange(len(logs))
        if self._update_filter == "uul":
            seed = derived_seed(self._seed, "uul")
            train = np.flatnonzero(high_fidelity(logs, self._filter_batch, seed))
        over = np.array([r.violation for r in results])[:, None]
        inputs = self._encoder.results(results).inputs[train]
        rows = train[informative_rows(inputs, (logs + over)[train], front)]
        first = train[fitted_rows(last_refresh(len(train)))]
        some = [self._encoder.results(results, these, tight) for these in (rows, first)]
        excess = np.array([r.excess for r in results])

        def process(targets: Floats, least: list[Floats]) -> GaussianProcess:
            fit = self._fits(some[1].inputs, targets[first] - least[1], ROUGH_NOISE_PRIOR)
            return GaussianProcess(some[0].inputs, targets[rows] - least[0], fit)

        reference = self._reference(logs)
        processes = [
            tuple(
                None if known else process(own[:, j], [one.ln_least[:, j] for one in some])
                for j, known in enumerate(self._problem.objective_set.known)
            )
            for own in outcomes
        ]
        return Posterior(
            processes=processes[0],
            second=processes[1] if len(processes) > 1 else None,
            front=front,
            reference=reference,
            limits=tuple(
                process(more, [one.least_excess[:, i] for one in some])
                for i, more in enumerate(excess.T)
            ),
            rules=self._rules([results[i].candidate for i in rows]),
            std_scale=1.0 if self._problem.objective_set.limits else _STD_SCALE,
            region=self._region(front, reference),
        )

    def _region(self, front: Floats, reference: Floats) -> DominatedRegion:
        """Return what the front dominates; both models have one and the same."""
        for other in self._fitted.values():
            if other.region is not None:
                return other.region
        return DominatedRegion.of(front, reference)

    def _reference(self, logs: Floats) -> Floats:
        """Return a corner above all results, and above the front of the bounds, raised by as
        much as results are above their bounds. Else what is cheapest of all, and slowest, would be
        beyond the corner as long as nothing like it was tried.
        """
        results, tight = self._observations.results, self._tight
        least = self._encoder.results(results, tight=tight is not None).ln_least
        above = np.median(logs - least, axis=0)
        expected = (self._encoder.bound_front if tight is None else tight.front) + above
        return self._encoder.reference(np.concatenate([logs, expected]), results)

    def _rules(self, kept: Sequence[Candidate]) -> tuple[Surrogate, ...]:
        """Return a process of each rule that a trial ended by: 1 where it was broken.

        A design with values keeps the rule; ``kept`` are the informative ones. Of one that
        broke another rule it is not known.
        """
        every, processes = [r.candidate for r in self._observations.results], []
        for rule in sorted({rule for _, rule in self._observations.failures}):
            broken = [candidate for candidate, name in self._observations.failures if name == rule]
            first = self._labelled(
                every[: last_refresh(len(every))], broken[: last_refresh(len(broken))]
            )
            now = self._labelled(kept, broken[-MOST_ROWS // 2 :])
            processes.append(GaussianProcess(*now, self._fits(*first)))
        return tuple(processes)

    def _labelled(
        self, kept: Sequence[Candidate], broken: Sequence[Candidate]
    ) -> tuple[Floats, Floats]:
        """Return inputs and labels."""
        labels = np.repeat([0.0, 1.0], [len(kept), len(broken)])
        return self._encoder.of([*kept, *broken]).inputs, labels
