"""The best mapping of a problem, factors of any size, from what is known of exact factors.

Exact factors are a part of what is searched here, so nothing gets worse. Beside them nests are
searched that cover bounds that suit the meshes; a small problem is enumerated. What runs beyond the
bounds is cut, whatever found the mapping. Nothing is drawn at random but by searches of nests: as a
proof, what a problem gives is no matter of the trial that asks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp, inf, log, prod
from typing import Final

import numpy as np

from archloom.evaluators.bounds import ROUNDING, least_costs, least_fill_cycles
from archloom.evaluators.loopnest import (
    LayerCost,
    MappingProblem,
    mapped_cost,
    padded_bounds,
)
from archloom.evaluators.loopnest.imperfect import imperfect_room
from archloom.space.mapping import UNCONSTRAINED, Mapping

from ..objectives import SCORE_ROUNDING, ln_score
from ..protocol import AnyMappingSearch
from .enumeration import Floor, enumerate_all
from .mesh_steps import least_steps, meshes_of
from .trial import Trial, hops_cost, mapping_of

#: gap (ln) from which on more is tried than one padded nest
WORTH_IT: Final = 0.01

#: gap (ln) from which on a nest gets what exact factors left: of 62 nests of ViT-B/16 on fast_small
#: and simba that their own share did not settle, six of the seven with a larger gap took 7 to 25%
#: off the objective then, the others 2.3% at most
LARGE: Final = 0.1

#: steps of exact factors over those of the padded nest from which on that nest is searched first,
#: and cycles over the fewest that it may take there
FIRST: Final = 1.0
MORE_CYCLES: Final = 1.5

#: nests of few steps that are searched
COVERS: Final = 2

#: multiply-accumulates of problems that are enumerated, and mappings priced at most, as a share of
#: all evaluations
SMALL: Final = 2**14
SHARE: Final = 50


@dataclass(frozen=True)
class Imperfect:
    """The best mapping found.

    Attributes:
        cost: of it, with the gap to a bound that holds for factors of any size; 0 if proven.
        settled: whether more evaluations would bring nothing.
    """

    cost: LayerCost
    settled: bool


class _Known:
    """The best so far, if any, and a score that no mapping is below."""

    def __init__(self, problem: MappingProblem) -> None:
        self.problem = problem
        (energy_pj, cycles), setup = least_costs(problem), problem.setup
        self.weights: tuple[float, float] = (float(setup.weights[0]), float(setup.weights[1]))
        self.energy_pj = (1 - ROUNDING) * energy_pj
        self.cycles = (1 - ROUNDING) * cycles
        self.fill = (1 - ROUNDING) * least_fill_cycles(problem, setup)
        self.bound = self.least(0.0)
        self.cost: LayerCost | None = None
        self.score, self.proven = inf, False

    def reached(self) -> bool:
        """Whether no mapping is better than the best, which may cost nothing at all."""
        return self.score == -inf or self.score - self.bound <= SCORE_ROUNDING

    def least(self, steps: float) -> float:
        """Return a score that no mapping of so many steps is below."""
        busy, leakage = self.problem.setup.busy, self.problem.setup.leakage_pj
        cycles = max(self.cycles, (1 - ROUNDING) * steps * busy + self.fill)
        return ln_score(self.weights, self.energy_pj + leakage * cycles, cycles)

    def score_of(self, cost: LayerCost) -> float:
        """Return the score of a mapping."""
        cycles = cost.latency_cycles
        energy = cost.dynamic_pj + self.problem.setup.leakage_pj * cycles
        return ln_score(self.weights, energy, cycles)

    @property
    def gap(self) -> float:
        """Ln of how far above the bound the best may be."""
        return 0.0 if self.proven else self.score - self.bound

    def take(self, cost: LayerCost) -> None:
        """Take a mapping for the best if it is."""
        score = self.score_of(cost)
        if score < self.score or self.cost is None:
            self.cost, self.score = cost, score
            self.proven = self.reached()

    def offer(self, mapping: Mapping) -> None:
        """Take a mapping for the best if it is, cut at the bounds."""
        self.take(mapped_cost(replace(self.problem, loop_bounds=mapping.factors), mapping))

    def limit(self, nest: MappingProblem) -> float:
        """Return what all of a nest must cost less than, to be better once it is cut."""
        return self.score + self.weights[0] * log(prod(nest.covered) / self.problem.macs)

    def result(self, settled: bool) -> Imperfect:
        """Return what is known."""
        assert self.cost is not None
        gap = self.gap
        percent = 100.0 * (exp(gap) - 1.0) if gap < inf else inf
        return Imperfect(replace(self.cost, gap_percent=percent), settled or self.proven)


def best_imperfect(
    problem: MappingProblem,
    exact: Callable[[], tuple[LayerCost, int]],
    search: AnyMappingSearch,
    evaluations: int,
    seed: int,
) -> Imperfect:
    """Return the best mapping found, factors of any size.

    Args:
        problem: with the layer's own bounds.
        exact: finds the best mapping with exact factors, with its gap, and says how many
            evaluations it had no need of: nests of other bounds, which are searched later, get
            these where the gap is large. It is asked unless it is proven otherwise that such a
            mapping costs more than one that is known.
        search: searches nests of other bounds.
        evaluations: a quarter of them goes to each of these nests.
        seed: of the searches of other nests.
    """
    known = _Known(problem)
    tried = _Tried(known, search, max(1, evaluations // 4), seed)
    padded = _possible(problem, padded_bounds(problem))
    least = -inf if padded is None else _first(tried, padded)
    if known.score > least and not tried.exact():
        cost, tried.unspent = exact()
        known.take(cost)
        tried.settled = tried.settled and cost.gap_percent == 0
    if padded is not None and padded.covered not in tried.covered and not known.proven:
        tried.nest(padded)
    for nest in _covers(known):
        if nest.covered not in tried.covered:
            tried.nest(nest)
    settled = tried.settled
    if not known.proven and _small(problem):
        # more evaluations may bring the end of the list
        settled = _enumerate(known, evaluations // SHARE) and settled
    return known.result(settled)


class _Tried:
    """Searches of nests that cover more than the bounds: which were made, whether more evaluations
    of them would bring nothing, and what is left for them beside a share of their own.
    """

    def __init__(
        self, known: _Known, search: AnyMappingSearch, evaluations: int, seed: int
    ) -> None:
        self.known, self.search = known, search
        self.evaluations, self.seed = evaluations, seed
        self.settled, self.unspent = True, 0
        self.covered = {known.problem.bounds}

    def nest(self, nest: MappingProblem, most_cycles: float = inf) -> None:
        """Search a nest for something better than the best that takes no more than some cycles."""
        self.covered.add(nest.covered)
        budget = self.evaluations + (self.unspent if self.known.gap > LARGE else 0)
        where = (nest, budget, self.seed, self.known.limit(nest))
        found = self.search.best_below(*where, most_cycles)
        # of its own share nothing is passed on
        self.unspent -= max(0, budget - found.unspent - self.evaluations)
        self.settled = self.settled and found.settled
        if found.mapping is not None:
            self.known.offer(found.mapping)

    def exact(self) -> bool:
        """Search for something better with exact factors, if there is anything to beat; return
        whether more evaluations would bring nothing.
        """
        problem, known = self.known.problem, self.known
        if known.cost is None:
            return False
        found = self.search.best_below(problem, self.evaluations, self.seed, known.score)
        if found.mapping is not None:
            known.offer(found.mapping)
        return found.settled


def _first(tried: _Tried, padded: MappingProblem) -> float:
    """Search a padded nest if it needs fewer steps than exact factors do.

    Returns a score then that no mapping with exact factors is below, else minus infinity.
    """
    known = tried.known
    exact, fewest = _fewest_exact(known.problem), _fewest_exact(padded)
    if not exact > FIRST * fewest > 0:
        return -inf
    # with nothing to beat, a search would look at many that leave most of a mesh idle
    tried.nest(padded, MORE_CYCLES * max(known.cycles, fewest * float(padded.setup.busy)))
    if known.cost is None:
        tried.nest(padded)
    return known.least(exact)


def _fewest_exact(nest: MappingProblem) -> float:
    """Return steps that no mapping with exact factors takes less than; 0 if that is unknown."""
    meshes = meshes_of(nest.setup, True)
    if meshes is None:
        return 0.0
    return float(least_steps(meshes, np.ones((2, 8), np.int64), np.full(2, inf), 0.0))


def _covers(known: _Known) -> Iterator[MappingProblem]:
    """Yield nests of few steps to search while they may bring something."""
    problem = known.problem
    meshes = meshes_of(problem.setup, False) if known.gap > WORTH_IT else None
    if meshes is None:
        return
    covers, steps = np.ones((COVERS + 1, 8), np.int64), np.full(COVERS + 1, inf)
    least = least_steps(meshes, covers, steps, known.cycles / problem.setup.busy)
    known.bound = max(known.bound, known.least(least))
    known.proven = known.reached()
    for bounds, count in zip(covers[:COVERS].tolist(), steps[:COVERS].tolist(), strict=True):
        if count == inf or known.gap <= WORTH_IT or known.least(count) >= known.score:
            return
        cover = tuple(max(a, b) for a, b in zip(bounds, problem.bounds, strict=True))
        nest = _possible(problem, cover)
        if nest is not None:
            yield nest


def _possible(problem: MappingProblem, bounds: tuple[int, ...]) -> MappingProblem | None:
    """Return the nest of other bounds if it has a mapping: more may have to be unrolled."""
    if bounds == problem.bounds:
        return None
    nest = replace(problem, loop_bounds=bounds)
    # the smallest tiles are single words, whatever the bounds are, but for what is prescribed
    free = problem.constraints == UNCONSTRAINED
    return nest if free or nest.impossible() is None else None


def _small(problem: MappingProblem) -> bool:
    """Whether all mappings may be looked at: few of them, nothing prescribed, no priced hops."""
    setup = problem.setup
    free = not (setup.fixed > 1).any() and setup.ranks.shape[1] == 0
    return problem.macs <= SMALL and free and not hops_cost(setup)


def _enumerate(known: _Known, most: int) -> bool:
    """Price all mappings if they are not too many; whether these were all."""
    problem = known.problem
    assert known.cost is not None
    assert known.cost.mapping is not None
    loops, keep = known.cost.mapping.arrays()
    trial = Trial(loops.copy(), keep.copy(), loops, keep, np.full(1, known.score))
    floor = Floor(np.array([known.energy_pj, known.cycles, ROUNDING]))
    ended = enumerate_all(problem.setup, trial, imperfect_room(len(loops)), floor, most)
    if trial.score[0] < known.score:
        known.offer(mapping_of(loops, keep))
    # what reports round of a small energy is more than the rounding of scores
    known.proven = known.proven or bool(ended)
    return bool(ended)
