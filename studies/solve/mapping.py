"""One mapping problem, searched for some seconds or evaluations in a thread that can be stopped."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import exp, inf
from time import process_time
from typing import Final

import numpy as np
from numba.core.event import install_timer
from numpy.typing import NDArray

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.search import MAPPING_SEARCHES
from archloom.search.mapping import MappedLayer, Mapper, Progress
from archloom.search.mapping.exact import covered, prove
from archloom.search.mapping.imperfect import (
    FIRST,
    FURTHER,
    LOOKS,
    Imperfect,
    best_further,
    best_imperfect,
    load_kernels,
    settled,
)
from archloom.space import Infeasible
from archloom.space.mapping import Mapping

from .deadline import deadline
from .interruptible import stoppable

_LOG: Final = logging.getLogger("archloom.mappings")

#: more evaluations than any search makes
UNLIMITED: Final = 2**60

#: seconds for a bound of searches that have none
_BOUND_S: Final = 1.0

#: seconds of compiling beside which a search is not worth timing
_COMPILED_S: Final = 0.005

#: bounds of the layer that kernels are compiled with, and evaluations that it gets
_TINY, _TINY_EVALUATIONS = 4, 100_000


@dataclass(frozen=True)
class MappingEffort:
    """How a problem is searched.

    Attributes:
        search: one of MAPPING_SEARCHES.
        seconds: at most, on the wall; may be infinite.
        evaluations: at most.
        seed: of everything that is random.
        factors: ``exact``, or ``imperfect``: what exact factors give, and then whatever is better.
    """

    search: str
    seconds: float = inf
    evaluations: int = UNLIMITED
    seed: int = 0
    factors: str = "exact"


@dataclass(frozen=True)
class MappingProgress:
    """Where a search stands: CPU seconds and evaluations spent, best objective and lower bound."""

    cpu_s: float
    evaluations: int
    objective: float
    bound: float


@dataclass(frozen=True)
class Solution:
    """The best mapping of a problem, and what is proven of it.

    Attributes:
        mapping: the best one found; None if there is none, and ``infeasible`` says why.
        energy_pj: of it, with all leakage.
        cycles: of it.
        objective: of it, in pJ, cycles or pJ x cycles.
        gap_percent: the best one is at most so much above the least; 0 if that is proven,
            infinite if nothing is.
        evaluations: spent; what one is depends on the search.
        cpu_s: seconds of CPU time of the search, without compilation, and without the bound of
            searches that have none of their own.
        curve: how it got there.
        interrupted: whether somebody stopped it.
        infeasible: why there is no mapping.
        exact: with imperfect factors, what exact ones give; its gap is to exact factors alone.
    """

    mapping: Mapping | None
    energy_pj: float
    cycles: float
    objective: float
    gap_percent: float
    evaluations: int
    cpu_s: float
    curve: tuple[MappingProgress, ...] = ()
    interrupted: bool = False
    infeasible: Infeasible | None = None
    exact: "Solution | None" = None

    @property
    def proven(self) -> bool:
        """Whether no mapping has a lower objective."""
        return self.mapping is not None and self.gap_percent == 0

    @property
    def lower_bound(self) -> float | None:
        """Lower bound of the objective of any mapping; None if nothing is known."""
        if self.mapping is None or self.gap_percent == inf:
            return None
        return self.objective / (1 + self.gap_percent / 100)

    @property
    def edp(self) -> float:
        """Energy x latency, pJ x cycles."""
        return self.energy_pj * self.cycles


@contextmanager
def compiling() -> Iterator[list[float]]:
    """Collect the seconds that kernels take to be compiled, or loaded from the disk."""
    took: list[float] = []
    with install_timer("numba:compiler_lock", took.append):
        yield took


def warm(problem: MappingProblem, effort: MappingEffort) -> None:
    """Compile what a search of such a problem runs, on a tiny layer of its kind."""
    tiny = replace(problem, bounds=tuple(min(n, _TINY) for n in problem.bounds))
    if tiny.impossible():
        return
    # without annealing, nothing is found before the exact search has visited all that it has
    prove(tiny, _TINY_EVALUATIONS, warm_up=0)
    made = MAPPING_SEARCHES[effort.search]()
    # a search that chooses has one part where little proves nothing, and another where much does
    for evaluations in (4, 100, _TINY_EVALUATIONS):
        made.advance(tiny, made.start(tiny, 0), evaluations)
    if effort.factors != "exact":
        cost = Mapper(made, _TINY_EVALUATIONS, 0, effort.factors)(tiny)
        assert isinstance(cost, LayerCost)
        load_kernels(tiny, cost)


def solve(
    problem: MappingProblem,
    effort: MappingEffort,
    tell: Callable[[MappingProgress], None] = lambda _: None,
) -> Solution:
    """Search a problem; Ctrl-C ends the search, not the program.

    Args:
        problem: what is mapped.
        effort: how, and for how long.
        tell: called from time to time, from the calling thread, with where the search stands.
    """
    why = problem.impossible()
    if why is not None:
        return Solution(None, inf, inf, inf, inf, 0, 0.0, infeasible=why)
    with deadline(effort.seconds) as stop:
        running = _Running(problem, effort, stop)

        def look() -> None:
            if running.curve:
                tell(running.curve[-1])

        found, interrupted = stoppable(running.search, stop, look)
    exact = replace(running.solution(found), interrupted=interrupted)
    told = (problem.bounds, effort.search, effort.seed, exact.evaluations, exact.cpu_s)
    _LOG.info("loops of %s: search %s, seed %d, %d mappings evaluated, %.2f CPU-s", *told)
    return any_factors(problem, exact, effort)


def solve_compiled(
    problem: MappingProblem,
    effort: MappingEffort,
    tell: Callable[[MappingProgress], None] = lambda _: None,
) -> Solution:
    """Search a problem as :func:`solve`; exact factors again if kernels compiled meanwhile, which
    took their time.

    Call :func:`warm` before the first of a kind: a tiny layer does not get everywhere.
    """
    alone = replace(effort, factors="exact")
    with compiling() as took:
        exact = solve(problem, alone, tell)
    _LOG.debug("kernels took %.2f s to be loaded or compiled", sum(took))
    if sum(took) > _COMPILED_S and not exact.interrupted:
        exact = solve(problem, alone, tell)
    return any_factors(problem, exact, effort)


def _exact_with(problem: MappingProblem, effort: MappingEffort, evaluations: int) -> LayerCost:
    """Return what so many evaluations find with exact factors."""
    made = MAPPING_SEARCHES[effort.search]()
    state = made.until(problem, effort.seed, evaluations, np.zeros(1, np.uint8), lambda _: None)
    found = made.best(problem, state)
    assert found.mapping is not None
    return replace(mapped_cost(problem, found.mapping), gap_percent=found.gap_percent)


def _imperfect(problem: MappingProblem, exact: Solution, effort: MappingEffort) -> LayerCost:
    """Return the best mapping with factors of any size, no worse than the one with exact factors.

    Without a number of evaluations it gets as many as a layer of a study: the seconds that exact
    factors had, and the machine, do not decide.
    """
    assert exact.mapping is not None
    cost = replace(mapped_cost(problem, exact.mapping), gap_percent=exact.gap_percent)
    made, further = MAPPING_SEARCHES[effort.search](), FURTHER <= effort.evaluations < UNLIMITED

    def searched(asked: MappingProblem, evaluations: int) -> Imperfect:
        def from_exact() -> tuple[LayerCost, int]:
            known = exact.proven or not further or evaluations == effort.evaluations
            if asked is problem and known:
                return cost, 0
            # a round does not depend on the evaluations of later ones
            return _exact_with(asked, effort, evaluations), 0

        return best_imperfect(asked, from_exact, made, evaluations, effort.seed)

    if further:
        return best_further(problem, searched, effort.evaluations, effort.seed).cost
    return searched(problem, min(effort.evaluations, FIRST)).cost


def _settled(
    problem: MappingProblem, cost: LayerCost, effort: MappingEffort, spent: float
) -> tuple[LayerCost, bool]:
    """Return a mapping, or a better one, with what can be proven of it, and whether somebody
    stopped that.

    It takes the seconds that are left, or looks that take as long as the evaluations.
    """
    looks = UNLIMITED if effort.evaluations == UNLIMITED else LOOKS * effort.evaluations
    with deadline(effort.seconds - spent) as stop:
        return stoppable(lambda: settled(problem, cost, looks, stop), stop, lambda: None)


def any_factors(problem: MappingProblem, exact: Solution, effort: MappingEffort) -> Solution:
    """Return the best mapping with factors of any size, from the one with exact factors, if that is
    asked for."""
    if effort.factors == "exact" or exact.interrupted or exact.mapping is None:
        return exact
    began = process_time()
    found = _imperfect(problem, exact, effort)
    found, interrupted = _settled(problem, found, effort, exact.cpu_s + process_time() - began)
    spent, exact = exact.cpu_s + process_time() - began, replace(exact, interrupted=interrupted)
    if found.mapping == exact.mapping:
        return replace(exact, gap_percent=found.gap_percent, cpu_s=spent, exact=exact)
    cycles = float(found.latency_cycles)
    energy, (a, b) = found.dynamic_pj + problem.setup.leakage_pj * cycles, problem.weights
    return replace(
        exact,
        mapping=found.mapping,
        energy_pj=energy,
        cycles=cycles,
        objective=energy**a * cycles**b,
        gap_percent=found.gap_percent,
        cpu_s=spent,
        exact=exact,
    )


def least_bound(problem: MappingProblem) -> float:
    """Return what the objective of any mapping is at least, from what takes a moment to bound.

    0 if that takes longer than a second, or nothing is known.
    """
    if not covered(problem):
        return 0.0
    with deadline(_BOUND_S) as stop:

        def until_bounded(progress: Progress) -> None:
            stop[0] |= progress.bound > -inf

        found = prove(problem, UNLIMITED, warm_up=0, stop=stop, watch=until_bounded)
    return exp(found.bound)


class _Running:
    """A search at work, and what it has reported so far."""

    def __init__(
        self, problem: MappingProblem, effort: MappingEffort, stop: NDArray[np.uint8]
    ) -> None:
        self.problem = problem
        self.effort = effort
        self.stop = stop
        self.curve: list[MappingProgress] = []
        self.began = process_time()
        self.cpu_s = 0.0

    def search(self) -> MappedLayer:
        """Run until the end."""
        made = MAPPING_SEARCHES[self.effort.search]()
        self.began = process_time()
        problem, effort = self.problem, self.effort
        state = made.until(problem, effort.seed, effort.evaluations, self.stop, self.watch)
        found = made.best(problem, state)
        self.cpu_s = process_time() - self.began
        if found.gap_percent == inf and found.mapping is not None:
            found = self.bounded(found)
        self.note(found)
        return found

    def bounded(self, found: MappedLayer) -> MappedLayer:
        """Return a result of a search that proves nothing, with what can be said even so."""
        bound = least_bound(self.problem)
        ratio = self.solution(found).objective / bound if bound > 0 else inf
        return replace(found, gap_percent=max(0.0, 100 * (ratio - 1)))

    def watch(self, progress: Progress) -> None:
        """Take note of where the search stands."""
        spent = process_time() - self.began
        stand = MappingProgress(
            spent, progress.evaluations, exp(progress.score), exp(progress.bound)
        )
        self.curve.append(stand)

    def note(self, found: MappedLayer) -> None:
        """Take note of a result."""
        solution = self.solution(found)
        spent = self.cpu_s or process_time() - self.began
        bound = solution.lower_bound or 0.0
        self.curve.append(MappingProgress(spent, found.evaluations, solution.objective, bound))

    def solution(self, found: MappedLayer) -> Solution:
        """Return a result with leakage, in the units of the objective."""
        cycles = found.latency_cycles
        energy = found.energy_pj + self.problem.setup.leakage_pj * cycles
        a, b = self.problem.weights
        return Solution(
            mapping=found.mapping,
            energy_pj=energy,
            cycles=cycles,
            objective=energy**a * cycles**b,
            gap_percent=found.gap_percent,
            evaluations=found.evaluations,
            cpu_s=self.cpu_s,
            curve=tuple(self.curve),
            infeasible=found.infeasible,
        )
