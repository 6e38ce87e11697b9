"""Mappings of a plan that give it the least EDP together, and the proof of that.

A mapping search minimises the EDP of one layer or tile. The EDP of a plan is the product of two
sums. It is least where each mapping has the least energy with a price on its cycles, which is what
a cycle of the plan is worth: its energy over its latency (docs/explanation/bounds.md, "A plan's
mappings together").
"""

from dataclasses import dataclass, replace
from typing import Final

from archloom.evaluators.bounds import cycle_price, mapping_gaps, priced_bound, up_to_rounding
from archloom.evaluators.fusion import NetworkCost, ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.mapping import objective
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan

#: prices that are tried: each is that of a better plan than the one before, and two mostly do
_PRICES: Final = 8


@dataclass(frozen=True)
class ProvenPlan:
    """A plan with the best mappings that were found for it.

    Attributes:
        evaluator: knows the mappings.
        cost: of the plan.
        least: an EDP (pJ cycles) that no mappings go below; the plan's own where that is proven,
            up to rounding.
    """

    evaluator: MemoizedPlanEvaluator
    cost: NetworkCost
    least: float


def proven_plan(
    evaluator: MemoizedPlanEvaluator, plan: FusionPlan, mapper: ProblemMapper
) -> ProvenPlan:
    """Search mappings that give a plan the least EDP, beginning with those that it has.

    Args:
        evaluator: of the plan, with mappings that each have the least EDP of their own.
        plan: one that can be evaluated.
        mapper: that finds the mappings of other objectives.

    Raises:
        ValueError: the plan has no cost.
    """
    best = _cost(evaluator, plan)
    known = mapping_gaps(best)
    least, found = _edp(best) / (1 + known.plan_percent / 100), evaluator
    for _ in range(_PRICES):
        rate_pj = best.energy_pj / best.latency_cycles
        priced = _Priced(mapper, best, rate_pj)
        other = MemoizedPlanEvaluator(evaluator.network, evaluator.hardware, priced)
        cost = _cost(other, plan)
        least = max(least, priced_bound(cost, rate_pj))
        if _edp(cost) >= _edp(best):
            break
        chosen = _Chosen(evaluator.mapper, priced.found)
        found = MemoizedPlanEvaluator(evaluator.network, evaluator.hardware, chosen)
        best = _cost(found, plan)
    return ProvenPlan(found, best, up_to_rounding(best, least))


class _Priced:
    """Has the problems of a plan mapped for the least energy, where cycles have a price."""

    def __init__(self, mapper: ProblemMapper, cost: NetworkCost, rate_pj: float) -> None:
        self._mapper, self._cost, self._rate_pj = mapper, cost, rate_pj
        self.found: dict[str, LayerCost] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        price = cycle_price(self._cost, self._rate_pj, problem.hardware)
        cost = self._mapper(replace(problem, weights=(1.0, 0.0), cycle_pj=price))
        if isinstance(cost, LayerCost):
            self.found[problem.key] = cost
        return cost


class _Chosen:
    """Gives back mappings that were chosen, with the gaps of their own EDP; and others' besides."""

    def __init__(self, mapper: ProblemMapper, chosen: dict[str, LayerCost]) -> None:
        self._mapper, self._chosen = mapper, chosen

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        own, chosen = self._mapper(problem), self._chosen.get(problem.key)
        if chosen is None or isinstance(own, Infeasible):
            return own
        above = objective(problem, chosen) / objective(problem, own)
        gap_percent = 100 * max(0.0, above * (1 + own.gap_percent / 100) - 1)
        return replace(chosen, gap_percent=gap_percent)


def _edp(cost: NetworkCost) -> float:
    return cost.energy_pj * cost.latency_cycles


def _cost(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> NetworkCost:
    cost = evaluator.plan(plan)
    if isinstance(cost, Infeasible):
        raise ValueError(f"the plan cannot be evaluated: {cost}")
    return cost
