"""Samplers of Optuna as hardware optimizers: TPE, and its Gaussian process.

Akiba et al., "Optuna: A Next-generation Hyperparameter Optimization Framework" (KDD 2019). They
are the published practice: every objective, area and TDP among them, is a black box to them. Only
designs that break a rule or a cap are never proposed: such a proposal is moved to a feasible
design near it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from archloom.space.design_space import Parameter, Point
from archloom.surrogates import one_thread

from .observations import EvaluatedDesign, ObservedTrials
from .optuna_log import quiet_optuna
from .problem import DesignProblem
from .proposals import draw_new, propose
from .protocol import Observation

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

SamplerFactory: TypeAlias = "Callable[[int], BaseSampler]"
"""``sampler(seed)``"""

Axes: TypeAlias = "Sequence[tuple[Parameter, BaseDistribution]]"
"""Parameters, and how Optuna sees each."""

#: Fewest results that a sampler is asked with; before them designs are random.
MIN_RESULTS: Final = 4

#: Seeds of numpy's old generators, which Optuna uses, end here.
SEEDS: Final = 2**32


def tpe_sampler(seed: int) -> "BaseSampler":
    """Return Optuna's multivariate TPE.

    Bergstra et al., "Algorithms for hyper-parameter optimization" (NIPS 2011); Ozaki et al.,
    "Multiobjective tree-structured Parzen estimator" (JAIR 2022). Designs in flight count as bad
    ones ("constant liar").
    """
    from optuna.samplers import TPESampler

    return TPESampler(
        n_startup_trials=MIN_RESULTS, multivariate=True, constant_liar=True, seed=seed
    )


def gp_sampler(seed: int) -> "BaseSampler":
    """Return Optuna's GPSampler, which maximises log EHVI.

    Ament et al., "Unexpected improvements to expected improvement for Bayesian optimization"
    (NeurIPS 2023).
    """
    # Optuna imports it when it first fits: too late for the limit of threads to find it
    import torch  # noqa: F401
    from optuna.samplers import GPSampler

    return GPSampler(n_startup_trials=MIN_RESULTS, seed=seed)


class OptunaSearch:
    """Proposes what a sampler of Optuna proposes.

    A study in memory has a trial for each result; designs in flight are running trials in it
    during a call, and failed ones, which samplers do not see, after it. The sampler is made anew
    in each call. Optuna sees positions in the lists of values, natural logarithms of the
    costs, and what is above the limits; trials that ended without values it does not see.

    Args:
        problem: what to search.
        seed: seed of the study.
        sampler: makes the sampler.
        initial: random designs before the sampler decides.
        tries: proposals for a design before one is moved to the feasible ones.

    Raises:
        ValueError: no initial design, or no try.
    """

    def __init__(
        self,
        problem: DesignProblem,
        seed: int,
        sampler: SamplerFactory,
        tries: int,
        initial: int = 10,
    ) -> None:
        if initial < 1:
            raise ValueError(f"initial is {initial}, must be at least 1")
        self._problem = problem
        self._seed = seed
        self._sampler = sampler
        self._tries = tries
        self._initial = initial
        self._told = ObservedTrials(problem)
        self._axes = [(p, _axis(p)) for p in problem.space.parameters]
        self._study: Study | None = None
        self._added = 0

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; see ``HardwareOptimizer.tell``."""
        self._told.add(observations)

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._told.excluded_keys(pending)
        seed = self._told.draw_seed(self._seed, pending)
        rng = np.random.default_rng(seed)
        learned = len(self._told.results) >= MIN_RESULTS
        starting = min(n, max(self._initial - len(known), 0)) if learned else n
        chosen = draw_new(self._problem, rng, starting, known)
        if len(chosen) == n:
            return [c.point for c in chosen]
        with quiet_optuna():
            study = self._open(seed % SEEDS)
            for point in [*pending, *(c.point for c in chosen)]:
                study.add_trial(_running(self._axes, self._problem.space.canonical(point)))
            make = partial(_ask, study, self._axes)
            while len(chosen) < n:
                taken = known | {c.key for c in chosen}
                found = propose(self._problem, rng, 1, taken, make, self._tries)
                if not found:
                    break
                study.add_trial(_running(self._axes, found[0].point))
                chosen += found
        return [c.point for c in chosen]

    def _open(self, seed: int) -> "Study":
        """Return the study with a trial for every result and none that is running."""
        import optuna

        if self._study is None:
            minimise = optuna.study.StudyDirection.MINIMIZE
            directions = [minimise] * len(self._problem.objective_set.objectives)
            self._study = optuna.create_study(directions=directions)
        states = optuna.trial.TrialState
        for left in self._study.get_trials(deepcopy=False, states=(states.RUNNING,)):
            self._study.tell(left.number, state=states.FAIL)
        for result in self._told.results[self._added :]:
            self._study.add_trial(_finished(self._axes, result))
            self._added += 1
        self._study.sampler = self._sampler(seed)
        return self._study


class TpeSearch(OptunaSearch):
    """Proposes what Optuna's multivariate TPE proposes.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: random designs before the sampler decides.
    """

    def __init__(self, problem: DesignProblem, seed: int, initial: int = 10) -> None:
        super().__init__(problem, seed, tpe_sampler, 16, initial)


class GpSearch(OptunaSearch):
    """Proposes what Optuna's GPSampler proposes.

    A proposal costs CPU seconds, so one that is not feasible is moved at once.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: random designs before the sampler decides.
    """

    def __init__(self, problem: DesignProblem, seed: int, initial: int = 10) -> None:
        super().__init__(problem, seed, gp_sampler, 1, initial)


def _ask(study: "Study", axes: "Axes") -> Point:
    """Return the next proposal; it stays in the study as a running trial."""
    with one_thread():
        trial = study.ask({p.name: axis for p, axis in axes})
    return {p.name: p.values[int(trial.params[p.name])] for p, _ in axes}


def _axis(parameter: Parameter) -> "BaseDistribution":
    """Return how Optuna sees the positions of a parameter's values."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    places = range(len(parameter.values))
    if parameter.scale == "categorical":
        return CategoricalDistribution(tuple(places))
    return IntDistribution(0, places[-1])


def _finished(axes: "Axes", result: EvaluatedDesign) -> "FrozenTrial":
    import optuna

    return optuna.create_trial(
        values=[float(v) for v in np.log(result.values)],
        constraints={f"limit {i}": float(e) for i, e in enumerate(result.excess)},
        **_places(axes, result.candidate.point),
    )


def _running(axes: "Axes", point: Point) -> "FrozenTrial":
    import optuna

    return optuna.create_trial(state=optuna.trial.TrialState.RUNNING, **_places(axes, point))


def _places(axes: "Axes", point: Point) -> dict[str, Any]:
    return {
        "params": {p.name: p.index[point[p.name]] for p, _ in axes},
        "distributions": {p.name: axis for p, axis in axes},
    }
