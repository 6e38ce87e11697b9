"""Plans beside a plan: two of its groups run as one.

Paths through cuts leave plans out where there would be too many steps, such as large groups beside
maps that lie pinned (:mod:`.cuts`). These are looked at from the best path, one border at a time,
each at its price.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from archloom.search.fusion.nest import NestFacts, best_nests, nestable
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan, group_order, plan_violations
from archloom.space.workload import Network

from ..plan_evaluator import MemoizedPlanEvaluator, ln_edp

#: two groups, of which the second reads what the first makes
GroupPair = tuple[FusionGroup, FusionGroup]

#: difference of ln EDP that counts as better; sums in another order make less
_LEAST_GAIN: Final = 1e-9


def better_joins(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> Iterator[FusionPlan]:
    """Yield plans in which two groups of the best so far are one, until no such plan is better.

    Groups of kinds that led nowhere are not tried again.

    Args:
        evaluator: prices what is yielded.
        plan: where to begin; it can run.
    """
    network, least = evaluator.network, ln_edp(evaluator, plan)
    failed = set[tuple[int, ...]]()
    at, since = 0, 0  # how many borders in a row led nowhere
    pairs = list(neighbour_pairs(network, plan))
    while since < len(pairs):
        at %= len(pairs)
        pair = pairs[at]
        kind = evaluator.kind(members(pair))
        better: FusionPlan | None = None
        for way in () if kind in failed else ways_together(evaluator, members(pair)):
            joined = join(network, plan, pair, way)
            yield joined
            cost = ln_edp(evaluator, joined)
            if cost < least - _LEAST_GAIN:
                better, least = joined, cost
        if better is None:
            failed.add(kind)
            at, since = at + 1, since + 1
            continue
        plan, since = better, 0
        pairs = list(neighbour_pairs(network, plan))
        # go on where it was: the group that is new, and those behind it
        at = next((k for k, x in enumerate(pairs) if x[1].layers[-1] >= pair[1].layers[-1]), 0)


def members(pair: GroupPair) -> tuple[int, ...]:
    """Return the layers of both groups, ascending."""
    return tuple(sorted((*pair[0].layers, *pair[1].layers)))


def neighbour_pairs(network: Network, plan: FusionPlan) -> Iterator[GroupPair]:
    """Yield groups that could be one: the second reads the first, and nothing must run between."""
    owner = {i: g for g, group in enumerate(plan.groups) for i in group.layers}
    reads = [
        sorted({owner[p] for i in group.layers for p in network.producers[i]} - {g})
        for g, group in enumerate(plan.groups)
    ]
    for after, makers in enumerate(reads):
        for before in makers:
            between = {before}
            for other in range(before + 1, after):
                if between & set(reads[other]):
                    between.add(other)
            if not (between - {before}) & set(makers):
                yield plan.groups[before], plan.groups[after]


def ways_together(
    evaluator: MemoizedPlanEvaluator, layers: tuple[int, ...]
) -> Iterator[FusionGroup]:
    """Yield the tiling and the nest of a group that are estimated best, as far as there are any."""
    network, hardware = evaluator.network, evaluator.hardware
    tiled = evaluator.tiling(layers)
    if not isinstance(tiled, Infeasible):
        yield tiled
    if hardware.fusion_level is not None and nestable(network, layers) is not None:
        for choice in best_nests(NestFacts(network, layers, hardware))[:1]:
            yield FusionGroup(layers, nest=choice.nest)


def join(network: Network, plan: FusionPlan, pair: GroupPair, way: FusionGroup) -> FusionPlan:
    """Return a plan with two neighbours as one group, which keeps their pins for other groups.

    It runs when the second or the first of the two does, so that all others keep their order, and
    what is pinned meanwhile stays the same; where neither can be, in any order.
    """
    pins = tuple(pin for group in pair for pin in group.pins if pin.reader not in way.layers)
    steady = tuple(sorted((*pair[0].steady, *pair[1].steady)))
    together = replace(
        way,
        pins=tuple(sorted(pins, key=lambda pin: pin.layer)),
        steady=steady,
        resident=tuple(i for i in way.resident if i not in steady),
    )
    for place in reversed(pair):
        groups = [
            together if group is place else group
            for group in plan.groups
            if group is place or group not in pair
        ]
        if not plan_violations(network, FusionPlan(tuple(groups))):
            return FusionPlan(tuple(groups))
    order = group_order(network, [group.layers for group in groups])
    assert order is not None, "only neighbours are joined"
    return FusionPlan(tuple(groups[k] for k in order))
