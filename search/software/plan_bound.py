"""A bound of the EDP of a plan, whatever its mappings are, without a search.

A mapping of a tile takes at least the energy and the cycles of one of the ways to keep tensors
(docs/explanation/bounds.md). Priced and added up, that is a line that no mappings of the plan are
below; lines of some prices bound its EDP as a whole (:mod:`.plan_tiles`). At the price that a
cycle has in the plan, energy and cycles of a tile can be bounded together, more closely
(docs/explanation/bounds_proofs.md, lemma 20).
"""

from dataclasses import replace
from math import inf
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import evaluation_pj, nests_of_problem, up_to_rounding
from archloom.evaluators.loopnest import MappingProblem
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.mapping.imperfect import settled
from archloom.space.fusion import FusionPlan

from .plan_tiles import PlanTiles, Tile, cost_of, plan_tiles

#: prices of lines, over the energy of the plan by its cycles (ours): the bound is where the lines
#: of two of them cross, and that is near 1 if the plan is near its bound
_PRICES: Final = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)


def least_edp_of(
    evaluator: MemoizedPlanEvaluator, plan: FusionPlan, closely: bool = False
) -> float:
    """Return an EDP (pJ cycles) that a plan is not below with any mappings; its own at the most.

    Args:
        evaluator: knows mappings of the plan.
        plan: one that can be evaluated.
        closely: whether energy and cycles of each tile count together at the plan's price, which
            takes 1 to 50 ms for a tile.

    Raises:
        ValueError: the plan has no cost.
    """
    cost = cost_of(evaluator, plan)
    known = cost.energy_pj * cost.latency_cycles
    if known <= 0:
        return 0.0
    tiles, price = plan_tiles(evaluator, plan), cost.energy_pj / cost.latency_cycles
    lines = _rough_lines(tiles, [price * share for share in _PRICES])
    if closely:
        lines.append((price, tiles.line(price, _close)))
    return min(known, up_to_rounding(cost, tiles.least(lines).edp))


def _rough_lines(tiles: PlanTiles, prices: list[float]) -> list[tuple[float, float]]:
    """Return prices and lines, from the least energy and the least cycles of tiles."""
    ways = dict[str, Floats]()
    for problem, _ in tiles.tiles:
        if problem.key not in ways:
            ways[problem.key] = _by_way(problem)

    def bound(tile: Tile, due_pj: float) -> float:
        return float((ways[tile.problem.key] @ (1.0, due_pj)).min())

    return [(price, tiles.line(price, bound)) for price in prices]


def _by_way(problem: MappingProblem) -> Floats:
    """Return float64[W, 2], energy (pJ, without leakage) as it is rounded, and cycles; a mapping is
    above one of them."""
    nests, design, prices = nests_of_problem(problem)
    ways = nests.by_way(design, prices)[:, 0]
    rounded: Floats = np.maximum(ways - (evaluation_pj(len(problem.hardware.levels)), 0.0), 0.0)
    return rounded


def _close(tile: Tile, due_pj: float) -> float:
    """Return energy plus priced cycles that no mapping of a tile is below."""
    problem, leaking = tile.problem, tile.problem.setup.leakage_pj
    priced = replace(problem, weights=(1.0, 0.0), cycle_pj=max(0.0, due_pj - leaking))
    found = settled(priced, replace(tile.run.cost, gap_percent=inf), 0)
    whole = found.dynamic_pj + max(due_pj, leaking) * found.latency_cycles
    # a price cannot be negative; energy for less than a cycle is worth is less by no more
    part = min(1.0, due_pj / leaking) if leaking > 0 else 1.0
    # the mapping's own energy is rounded, and that of others
    rounded_pj = 2 * evaluation_pj(len(problem.hardware.levels))
    return max(0.0, part * (whole / (1 + found.gap_percent / 100) - rounded_pj))
