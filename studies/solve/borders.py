"""Borders between the groups of a plan: why neighbours do not run fused with each other."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from archloom.evaluators.fusion import NetworkCost
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.fusion.joint import Regrouping, joins, regrouped, ways
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan


@dataclass(frozen=True)
class Border:
    """A group and a later one that reads what it makes.

    Attributes:
        before, after: positions of their layers, ascending.
        why: what the two lack to run as one group; or the EDP of the plan with the two as one
            group, in the best tiling or nest that is estimated, over that of the plan.
        alike: borders between other groups of the same kinds, not counting this one.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    why: Infeasible | float
    alike: int = 0


def plan_borders(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> tuple[Border, ...]:
    """Say of each two neighbours of a plan why they are not one group; of those alike once.

    Neighbours are groups of which one reads what the other makes, and nothing must run between.

    Args:
        evaluator: of the network on the hardware.
        plan: that can run.

    Raises:
        archloom.studies.engine.Stopped: if the evaluator's mapper does.
    """
    cost = evaluator.plan(plan)
    assert isinstance(cost, NetworkCost), "only plans that can run have borders to look at"
    found: dict[Hashable, Border] = {}
    for move in joins(evaluator.network, plan):
        kind = move.kind(evaluator)
        if kind in found:
            found[kind] = replace(found[kind], alike=found[kind].alike + 1)
            continue
        before, after = (group.layers for group in move.old)
        found[kind] = Border(before, after, _why_apart(evaluator, plan, move, cost.edp_js))
    return tuple(found.values())


def _why_apart(
    evaluator: MemoizedPlanEvaluator, plan: FusionPlan, move: Regrouping, edp_js: float
) -> Infeasible | float:
    lacks, ratios = list[Infeasible](), list[float]()
    for groups in ways(evaluator, move):
        for other in regrouped(evaluator.network, plan, move, groups):
            cost = evaluator.plan(other)
            if isinstance(cost, Infeasible):
                lacks.append(cost)
            else:
                ratios.append(cost.edp_js / edp_js)
    if ratios:
        return min(ratios)
    tiled = evaluator.tiling(move.layers)
    return tiled if isinstance(tiled, Infeasible) else lacks[0]
