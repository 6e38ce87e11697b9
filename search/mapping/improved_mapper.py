"""Mappings that were searched once more with more effort, in the place of the first ones."""

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from archloom.evaluators.fusion import ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space import Infeasible
from archloom.space.mapping import Mapping

from .factorization import nest_of
from .mapper import short_key


@dataclass(frozen=True, slots=True)
class Effort:
    """What more evaluations of one problem brought.

    Attributes:
        evaluations: that the last search had.
        mapping: the one to use, as text.
        gap_percent: of that mapping, as far as anything is proven.
        done: whether more evaluations would bring nothing.
    """

    evaluations: int
    mapping: str
    gap_percent: float
    done: bool

    def to_list(self) -> list[Any]:
        """Return plain JSON values; :meth:`from_list` is the inverse."""
        gap = self.gap_percent if self.gap_percent < inf else None
        return [self.evaluations, self.mapping, gap, self.done]

    @classmethod
    def from_list(cls, data: list[Any]) -> "Effort":
        """Build it from :meth:`to_list`."""
        evaluations, text, gap, done = data
        return cls(evaluations, text, inf if gap is None else gap, done)


class ImprovedMapper:
    """Gives improved mappings where there are some, the first ones elsewhere.

    Args:
        first: finds mappings with the first effort.
        factors: as mappings are searched.
        efforts: what was searched again, by :func:`archloom.search.mapping.mapper.short_key`.
        problems: keeps what was asked for, by short key.
    """

    def __init__(
        self,
        first: ProblemMapper,
        factors: str,
        efforts: Dict[str, Effort],
        problems: dict[str, MappingProblem],
    ) -> None:
        self._first = first
        self._factors = factors
        self._efforts = efforts
        self._problems = problems
        self._memo: dict[str, LayerCost | Infeasible] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the cost of the better mapping, or why there is none."""
        if problem.key not in self._memo:
            self._memo[problem.key] = self._cost(problem)
        return self._memo[problem.key]

    def _cost(self, problem: MappingProblem) -> LayerCost | Infeasible:
        key = short_key(problem.key)
        self._problems[key] = problem
        effort = self._efforts.get(key)
        if effort is None:
            return self._first(problem)
        mapping = Mapping.from_text(effort.mapping)
        nest = nest_of(problem, mapping.factors, self._factors)
        return replace(mapped_cost(nest, mapping), gap_percent=effort.gap_percent)
