"""The best plan of a small network by enumeration: all partitions, and all tilings of each group.

    python -m tests.oracles.enumerated_plans 0 200

prints how often the genetic searches find it within 2,000 plans, for so many drawn networks.

Independent of: the genetic operators and their pruning; plans are priced by the common evaluator.
"""

import sys
from collections.abc import Callable, Iterable
from math import inf

import numpy as np

from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.casco.genetic_tilings import GeneticTilingPlanner
from archloom.search.fusion.partition import Group
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator, ln_edp
from archloom.search.fusion.protocol import FusionSearch
from archloom.search.fusion.tiling.candidates import tilings
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer
from archloom.space.fusion.running_order import group_order
from archloom.space.workload.graph import bits, positions

from ..cases.drawn_networks import all_groups, drawn_network, partitions
from ..cases.small_designs import cheap_evaluator, three_levels

#: energy without leakage, cycles, and the groups that they are of
Point = tuple[float, int, tuple[FusionGroup, ...]]

Ways = Callable[[MemoizedPlanEvaluator, Group], Iterable[FusionGroup]]


def every_tiling(price: MemoizedPlanEvaluator, layers: Group) -> Iterable[FusionGroup]:
    return tilings(price.network, layers, price.hardware)


def chosen_tiling(price: MemoizedPlanEvaluator, layers: Group) -> Iterable[FusionGroup]:
    tiled = price.tiling(layers)
    return () if isinstance(tiled, Infeasible) else (tiled,)


def front(points: Iterable[Point]) -> list[Point]:
    """The points that no other one is below in both figures."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: p[:2]):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def least_ln_edp(price: MemoizedPlanEvaluator, ways: Ways) -> float:
    """The least ln EDP of all valid partitions, each group tiled in any of its ways."""
    able: dict[int, list[Point]] = {}
    for group in all_groups(price.network):
        costs = [(price.group(way), way) for way in ways(price, positions(group))]
        able[group] = front(
            (cost.dynamic_pj, cost.latency_cycles, (way,))
            for cost, way in costs
            if not isinstance(cost, Infeasible)
        )
    alone = price.plan(layer_by_layer(price.network))
    if isinstance(alone, Infeasible):
        return inf
    leakage, best, plan = alone.leakage_pj / alone.latency_cycles, inf, ()
    for partition in partitions(price.network, [group for group in able if able[group]]):
        points: list[Point] = [(0.0, 0, ())]
        for group in map(bits, partition):
            points = front((a + d, b + e, c + f) for a, b, c in points for d, e, f in able[group])
        for energy, cycles, groups in points:
            product = (energy + leakage * cycles) * cycles
            best, plan = min((best, plan), (product, groups), key=lambda found: found[0])
    order = group_order(price.network, [group.layers for group in plan])
    assert order is not None
    return ln_edp(price, FusionPlan(tuple(plan[i] for i in order)))


def drawn_pricer(seed: int, most: int = 10) -> MemoizedPlanEvaluator | None:
    """A drawn network on a small design; None if it is too small to fuse, or cannot run there."""
    rng = np.random.default_rng(seed)
    network = drawn_network(rng, most)
    price = cheap_evaluator(network, three_levels(int(2 ** rng.uniform(9, 13)), (8, 8, 8)))
    able = not isinstance(price.plan(layer_by_layer(network)), Infeasible)
    return price if len(network.layers) > 2 and able else None


def finds(search: FusionSearch, seed: int, least: float, plans: int = 2000) -> bool:
    """Whether a search finds the least within so many plans."""
    state = search.start(seed)
    while state.evaluations < plans:
        state = search.advance(state, 50)
        if state.history[-1] <= least + 1e-9:
            return True
    return False


def main(first: int, last: int) -> None:
    found, cases = [0, 0], 0
    for seed in range(first, last):
        price = drawn_pricer(seed)
        if price is None:
            continue
        cases += 1
        found[0] += finds(GeneticPlanner(price), seed, least_ln_edp(price, chosen_tiling))
        found[1] += finds(GeneticTilingPlanner(price), seed, least_ln_edp(price, every_tiling))
    print(f"{cases} networks: genetic found {found[0]}, genetic_full {found[1]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
