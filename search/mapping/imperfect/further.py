"""What more evaluations than those of a trial bring to factors of any size: descents.

Exact factors and selected nests are soon searched to the end, but they are not all mappings. So a
larger budget searches in rounds, each with :data:`GROWTH` times the evaluations of the last: exact
factors and nests first, if that was not the end of them, then descents that begin at the best
mapping so far. A round does not depend on whether others follow, so a larger budget is never worse.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import exp, inf, log1p
from typing import Final

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.mapping import Mapping

from ..objectives import ln_scores
from .descents import Descents, may_descend
from .on_mesh import LOOKS, settled
from .search import WORTH_IT, Imperfect

#: evaluations of the first round: those of a trial
FIRST: Final = 100_000

#: how much larger each round is than the last
GROWTH: Final = 4

#: evaluations from which on there are descents: the second round
FURTHER: Final = GROWTH * FIRST

#: exponents of energy and latency whose best mappings are starts, too: where one of the two counts
#: more, a good mapping has another shape, and a descent from there may end below
_OTHERS: Final = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 2.0))

#: searches a problem with so many evaluations, without descents
Searched = Callable[[MappingProblem, int], Imperfect]

#: one of so many evaluations of a round goes to descents, together with those of rounds before
SHARE: Final = 16


def ends(problem: MappingProblem, found: Imperfect) -> bool:
    """Whether more evaluations bring nothing to what was searched without descents."""
    return found.settled and not _worth_it(problem, found.cost)


def best_further(
    problem: MappingProblem, searched: Searched, evaluations: int, seed: int
) -> Imperfect:
    """Return the best mapping found, factors of any size, with a large budget.

    Args:
        problem: with the layer's own bounds.
        searched: searches exact factors and nests of the problem, or of one with other weights.
        evaluations: that exact factors have, :data:`FURTHER` or more; up to a sixteenth of that
            beside them go to descents.
        seed: of where descents begin.
    """
    best, size = _Best(problem, searched(problem, FIRST)), FIRST
    descents = Descents(problem, seed) if may_descend(problem) else None
    if descents is not None and _worth_it(problem, best.cost):
        for other in _with_other_weights(problem):
            descents.begin_at(_mapping(searched(other, FIRST).cost))
    while True:
        if descents is not None and _worth_it(problem, best.cost):
            best.take(descents.run(_mapping(best.cost), size // SHARE))
        best.settle(size)
        size *= GROWTH
        if size > evaluations or best.proven:
            break
        best.search(searched, size)
    if size < GROWTH * evaluations and not best.proven:
        # less than a round: what a larger budget finds must not depend on it
        best.search(searched, evaluations)
    return best.result(descents is None or descents.ended)


def _with_other_weights(problem: MappingProblem) -> Iterator[MappingProblem]:
    """Yield the problem with other objectives."""
    for weights in _OTHERS:
        if weights != problem.weights:
            yield replace(problem, weights=weights)


def _mapping(cost: LayerCost) -> Mapping:
    assert cost.mapping is not None
    return cost.mapping


def _worth_it(problem: MappingProblem, cost: LayerCost) -> bool:
    """Whether descents begin at a mapping at all."""
    return may_descend(problem) and log1p(cost.gap_percent / 100) > WORTH_IT


class _Best:
    """The best mapping so far, and the highest bound."""

    def __init__(self, problem: MappingProblem, first: Imperfect) -> None:
        self._problem = problem
        self.cost, self._settled = first.cost, first.settled
        self._bound = self._bound_of(first.cost)

    def _score(self, cost: LayerCost) -> float:
        setup, cycles = self._problem.setup, cost.latency_cycles
        return float(ln_scores(setup.weights, cost.dynamic_pj + setup.leakage_pj * cycles, cycles))

    def _bound_of(self, cost: LayerCost) -> float:
        return self._score(cost) - log1p(cost.gap_percent / 100) if cost.gap_percent < inf else -inf

    def search(self, searched: Searched, evaluations: int) -> None:
        """Search exact factors and nests again, if that may bring anything."""
        if self._settled:
            return
        found = searched(self._problem, evaluations)
        self._settled = found.settled
        self._bound = max(self._bound, self._bound_of(found.cost))
        self._take(found.cost)

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.cost.gap_percent == 0

    def settle(self, evaluations: int) -> None:
        """Look at all mappings that may be better, as long as so many evaluations take."""
        found = settled(self._problem, self.cost, LOOKS * evaluations)
        self._bound = max(self._bound, self._bound_of(found))
        self._take(found)

    def take(self, mapping: Mapping) -> None:
        """Take a mapping of a descent for the best if it is."""
        self._take(mapped_cost(replace(self._problem, loop_bounds=mapping.factors), mapping))

    def _take(self, cost: LayerCost) -> None:
        """Take a mapping for the best if it is, and measure its gap."""
        best = cost if self._score(cost) < self._score(self.cost) else self.cost
        gap = self._score(best) - self._bound if self._bound > -inf else inf
        percent = 100.0 * (exp(max(0.0, gap)) - 1.0) if gap < inf else inf
        self.cost = replace(best, gap_percent=percent)

    def result(self, ended: bool) -> Imperfect:
        """Return what is known; ``ended``: whether descents have nowhere else to begin."""
        all_tried = self._settled and (ended or not _worth_it(self._problem, self.cost))
        return Imperfect(self.cost, self.proven or all_tried)
