"""Finds the mapping of a problem with a fixed effort, or gives back the one that was recorded.

Layers are mapped once per distinct problem; what is found is a pure function of (hardware, problem,
seed), so a memo never changes a result.
"""

from collections.abc import Mapping as Dict
from dataclasses import replace
from math import inf
from typing import Final

from archloom.evaluators.fusion import ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem, added_cost, mapped_cost
from archloom.space import Infeasible
from archloom.space.mapping import UNCONSTRAINED, Mapping, MappingConstraints

from ..seeds import derived_seed
from .factorization import gap_percent, nest_of, nests, objective, shares
from .imperfect import (
    FURTHER,
    NEARBY,
    Imperfect,
    best_further,
    best_imperfect,
    best_nearby,
    ends,
)
from .protocol import AnyMappingSearch, PaddedMapping

#: percent of its objective that a mapping which adds to sums may be above its bound, before it is
#: looked for from another start (ours)
_FAR: Final = 20.0


class Mapper:
    """Finds mappings with a fixed effort each, and remembers them.

    Args:
        search: the mapping search.
        evaluations: mappings tried for each problem.
        seed: together with the problem it seeds the search, so that the result depends
            neither on the order of problems nor on what was mapped before.
        factors: one of :data:`archloom.search.mapping.factorization.FACTORS`; where two nests are
            searched, each gets half of the evaluations. A search may look at all paddings that may
            be best, others look at one. Gaps of padded and of imperfect factors hold for all bounds
            that the loops might be padded to.
        constraints: that all mappings satisfy; levels that the hardware lacks are left out.
    """

    def __init__(
        self,
        search: AnyMappingSearch,
        evaluations: int,
        seed: int,
        factors: str = "exact",
        constraints: MappingConstraints = UNCONSTRAINED,
    ) -> None:
        self._search = search
        self._constraints = constraints
        self._evaluations = evaluations
        self._seed = seed
        self._factors = factors
        self._memo: dict[str, LayerCost | Infeasible] = {}
        self._ended: set[str] = set()

    def ended(self, problem: MappingProblem) -> bool:
        """Whether a problem that was mapped would not be mapped better with more evaluations.

        Searches that prove their best end so; one of two nests alone may still have a gap.
        """
        return problem.key in self._ended

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the cost of the best mapping found, or why there is none."""
        if problem.key not in self._memo:
            self._memo[problem.key] = self._map(problem)
        return self._memo[problem.key]

    def _map(self, problem: MappingProblem) -> LayerCost | Infeasible:
        if problem.begun:
            return self._adding(problem)
        key = problem.key
        if self._constraints != UNCONSTRAINED:
            names = [level.name for level in problem.hardware.levels]
            problem = replace(problem, constraints=self._constraints.within(names))
        impossible = problem.impossible()
        if impossible is not None:
            return impossible
        if self._factors == "padded":
            seed = derived_seed(self._seed, problem.key)
            padded = self._search.best_padding(problem, self._evaluations, seed)
            if padded is not None:
                return self._priced(padded, key)
        if self._factors == "imperfect":
            return self._imperfect(problem, key)
        # bounds that are padded may be unrolled by more, for which buffers may be too small
        found = nests(problem, self._factors)
        fitting = [n for n in found if n is problem or n.impossible() is None]
        problems = fitting or [problem]
        budgets = shares(self._evaluations, len(problems))
        pairs = zip(problems, budgets, strict=True)
        costs = [self._found(nest, budget)[0] for nest, budget in pairs if budget]
        if len(costs) == len(problems) and not any(cost.gap_percent for cost in costs):
            self._ended.add(key)
        best = min(costs, key=lambda cost: objective(problem, cost))
        if self._factors == "exact":
            return best
        # a proof of one nest says nothing of others that the loops might be padded to
        return replace(best, gap_percent=gap_percent(problem, best))

    def _adding(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the best mapping found of a tile that adds to sums: it reads each of them once
        more than one that begins them, and often wants other tiles inside."""
        begins = replace(problem, begun=False)
        found = self._added(problem, begins)
        if self.ended(begins):
            self._ended.add(problem.key)
        if isinstance(found, Infeasible) or found.gap_percent <= _FAR:
            return found
        # where it is far from its bound, the fastest one is another start
        other = self._added(problem, replace(begins, weights=(0.0, 1.0)))
        assert not isinstance(other, Infeasible), "what one objective maps, others do as well"
        return min(found, other, key=lambda cost: objective(problem, cost))

    def _added(self, problem: MappingProblem, begins: MappingProblem) -> LayerCost | Infeasible:
        """Return the best mapping of a tile that adds to sums near that of one that begins them."""
        first = self(begins)
        if isinstance(first, Infeasible):
            return first
        assert first.mapping is not None
        cost = added_cost(problem, first)
        # who looks for the problem of a mapping tells the two apart
        own = replace(first.mapping)
        cost = replace(cost, mapping=own, gap_percent=gap_percent(problem, cost))
        if self._factors != "imperfect" or self._constraints != UNCONSTRAINED:
            return cost
        return best_nearby(problem, cost, max(1, self._evaluations // NEARBY))

    def _imperfect(self, problem: MappingProblem, key: str) -> LayerCost:
        seed = derived_seed(self._seed, key)

        def searched(asked: MappingProblem, evaluations: int) -> Imperfect:
            def exact() -> tuple[LayerCost, int]:
                return self._found(asked, evaluations)

            return best_imperfect(asked, exact, self._search, evaluations, seed)

        if self._evaluations < FURTHER:
            found = searched(problem, self._evaluations)
            ended = ends(problem, found)
        else:
            found = best_further(problem, searched, self._evaluations, seed)
            ended = found.settled
        if ended:
            self._ended.add(key)
        return found.cost

    def _priced(self, found: PaddedMapping, key: str) -> LayerCost:
        if found.gap_percent == 0:
            self._ended.add(key)
        return replace(mapped_cost(found.nest, found.mapping), gap_percent=found.gap_percent)

    def _found(self, problem: MappingProblem, evaluations: int) -> tuple[LayerCost, int]:
        start = self._search.start(problem, derived_seed(self._seed, problem.key))
        state = self._search.advance(problem, start, evaluations)
        found = self._search.best(problem, state)
        if found.infeasible is not None or found.mapping is None:
            raise AssertionError(f"no mapping for {problem.key}, though one must exist")
        cost = replace(mapped_cost(problem, found.mapping), gap_percent=found.gap_percent)
        return cost, found.unspent


class Recorder:
    """Passes problems on to a mapper and keeps what came back, by problem."""

    def __init__(self, mapper: ProblemMapper) -> None:
        self._mapper = mapper
        self.costs: dict[str, LayerCost] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return what the mapper returns."""
        cost = self._mapper(problem)
        if isinstance(cost, LayerCost):
            self.costs[problem.key] = cost
        return cost


class RecordedMapper:
    """Gives back mappings of
    :meth:`archloom.search.fusion.plan_evaluator.MemoizedPlanEvaluator.record`, priced anew.

    Args:
        mappings: as recorded.
        factors: as they were searched; exact ones are imperfect ones that nothing is cut of.
        gaps: percent, as recorded; of a mapping that has none there, nothing is known.

    Raises:
        ValueError: when asked for a problem that was not recorded.
    """

    def __init__(
        self,
        mappings: Dict[str, str],
        factors: str = "imperfect",
        gaps: Dict[str, float] | None = None,
    ) -> None:
        self._mappings = mappings
        self._factors = factors
        self._gaps = gaps or {}

    def __call__(self, problem: MappingProblem) -> LayerCost:
        """Return the cost of the recorded mapping."""
        key = short_key(problem.key)
        text = self._mappings.get(key)
        if text is None and problem.begun:
            # up to version 0.1.0 what adds to sums had the mapping of what begins them
            return added_cost(problem, self(replace(problem, begun=False)))
        if text is None:
            raise ValueError(f"no mapping was recorded for {problem.key}")
        mapping = Mapping.from_text(text)
        cost = mapped_cost(nest_of(problem, mapping.factors, self._factors), mapping)
        return replace(cost, gap_percent=self._gaps.get(key, inf))


def short_key(key: str) -> str:
    """Return what stands for a problem's key in a record."""
    return f"{derived_seed(key):016x}"
