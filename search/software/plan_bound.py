"""A bound of the EDP of a plan, whatever its mappings are, without a search.

No mapping of a tile takes less than the least energy and the fewest cycles of its layer
(docs/explanation/bounds.md). Priced and added up, that is a line that no mappings of the plan are
below; lines of some prices bound its EDP as a whole (:mod:`.plan_tiles`). Closer bounds know each
way to keep tensors, and energy and cycles of a tile together at the price that a cycle has in the
plan (docs/explanation/bounds_proofs.md, lemma 20).
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import (
    evaluation_pj,
    least_costs,
    nests_of_problem,
    up_to_rounding,
)
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
        closely: whether energy and cycles of each tile count together, which takes 1 to 50 ms for
            a tile.

    Raises:
        ValueError: the plan has no cost.
    """
    cost = cost_of(evaluator, plan)
    known = cost.energy_pj * cost.latency_cycles
    if known <= 0:
        return 0.0
    tiles, price = plan_tiles(evaluator, plan), cost.energy_pj / cost.latency_cycles
    least_of = _by_way if closely else _least
    lines = _lines(tiles, [price * share for share in _PRICES], least_of)
    if closely:
        lines.append((price, tiles.line(price, _close)))
    return min(known, up_to_rounding(cost, tiles.least(lines).edp))


def _lines(
    tiles: PlanTiles, prices: list[float], least_of: Callable[[MappingProblem], Floats]
) -> list[tuple[float, float]]:
    """Return prices and lines there.

    Args:
        tiles: of the plan.
        prices: of a cycle (pJ).
        least_of: returns float64[W, 2], energy (pJ, without leakage) and cycles; a mapping of the
            problem is above one of them.
    """
    rows = dict[str, Floats]()
    for problem, _ in tiles.tiles:
        if problem.key not in rows:
            # energies of mappings are rounded
            rounded = evaluation_pj(len(problem.hardware.levels)), 0.0
            rows[problem.key] = np.maximum(least_of(problem) - rounded, 0.0)

    def bound(tile: Tile, due_pj: float) -> float:
        energy_pj, cycles = rows[tile.problem.key].T
        return float((energy_pj + due_pj * cycles).min())

    return [(price, tiles.line(price, bound)) for price in prices]


def _least(problem: MappingProblem) -> Floats:
    """Return float64[1, 2], the least energy (pJ, without leakage) and the fewest cycles."""
    return np.array([least_costs(problem)])


def _by_way(problem: MappingProblem) -> Floats:
    """Return float64[W, 2], the same for each way to keep tensors."""
    nests, design, prices = nests_of_problem(problem)
    every: Floats = np.maximum(nests.by_way(design, prices)[:, 0], _least(problem))
    return every


def _close(tile: Tile, due_pj: float) -> float:
    """Return energy plus priced cycles that no mapping of a tile is below."""
    problem = tile.problem
    priced = replace(problem, weights=(1.0, 0.0), cycle_pj=tile.price_pj(due_pj))
    found = settled(priced, replace(tile.run.cost, gap_percent=inf), 0)
    whole = found.dynamic_pj + max(due_pj, problem.setup.leakage_pj) * found.latency_cycles
    # the mapping's own energy is rounded, and that of others
    rounded_pj = 2 * evaluation_pj(len(problem.hardware.levels))
    return max(0.0, tile.part(due_pj) * (whole / (1 + found.gap_percent / 100) - rounded_pj))
