"""Plans beside a plan: two of its groups as one, one as two, or a layer in the other of two.

Paths through cuts leave plans out where there would be too many steps, such as large groups beside
maps that lie pinned (:mod:`.cuts`). They are looked at from the best path, in its neighbourhood
and each at its price.
"""

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping as Dict, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Final

from archloom.search.fusion.nest import nestable
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan, Pin, group_order, plan_violations
from archloom.space.hardware import fusion_cores
from archloom.space.workload import Network, connected

from ..plan_evaluator import MemoizedPlanEvaluator

#: difference of ln EDP that counts as better; sums in another order make less
_LEAST_GAIN: Final = 1e-9


@dataclass(frozen=True)
class Regrouping:
    """Groups of a plan whose layers are grouped anew.

    Attributes:
        old: one group, or two of which the second reads the first, in running order.
        new: layers of the groups in their place, ascending, in running order; one or two.
    """

    old: tuple[FusionGroup, ...]
    new: tuple[tuple[int, ...], ...]

    @property
    def layers(self) -> tuple[int, ...]:
        """All layers, ascending."""
        return tuple(sorted(i for group in self.old for i in group.layers))

    def kind(self, evaluator: MemoizedPlanEvaluator) -> Hashable:
        """Return what is the same where groups differ in names and positions only."""
        layers = self.layers
        member = {i: m for m, i in enumerate(layers)}
        parts = [*(group.layers for group in self.old), *self.new]
        return evaluator.kind(layers), tuple(tuple(member[i] for i in part) for part in parts)


Moves = Callable[[Network, FusionPlan], list[Regrouping]]


def better_neighbours(
    evaluator: MemoizedPlanEvaluator, costs: Dict[FusionPlan, float]
) -> Iterator[FusionPlan]:
    """Yield plans beside the best so far, until none of them is better: first joins alone.

    Args:
        evaluator: of the plans.
        costs: ln EDP of plans; whoever takes a plan puts its own there before the next one. Nothing
            is yielded if none of them can run.
    """
    best = min(costs, key=costs.__getitem__)
    if costs[best] < inf:
        for moves in (joins, all_moves):
            best = yield from _descent(evaluator, best, costs, moves)


def _descent(
    evaluator: MemoizedPlanEvaluator, best: FusionPlan, costs: Dict[FusionPlan, float], moves: Moves
) -> Generator[FusionPlan, None, FusionPlan]:
    """Yield plans one move away from the best so far, which is returned; kinds of moves that led
    nowhere are not tried again."""
    network, failed = evaluator.network, set[Hashable]()
    some, at, since = moves(network, best), 0, 0  # how many moves in a row led nowhere
    while since < len(some):
        at %= len(some)
        move = some[at]
        kind, before = move.kind(evaluator), best
        for groups in () if kind in failed else ways(evaluator, move):
            for other in regrouped(network, before, move, groups):
                if other not in costs:
                    yield other
                if costs[other] < costs[best] - _LEAST_GAIN:
                    best = other
        if best is before:
            failed.add(kind)
            at, since = at + 1, since + 1
            continue
        since = 0
        some = moves(network, best)
        # go on where it was: at what is new, and behind it
        last = move.layers[-1]
        at = next((k for k, x in enumerate(some) if x.layers[-1] >= last), 0)
    return best


def joins(network: Network, plan: FusionPlan) -> list[Regrouping]:
    """Return all two groups that could be one: the second reads the first, and nothing must run
    between."""
    owner = {i: g for g, group in enumerate(plan.groups) for i in group.layers}
    reads = [
        sorted({owner[p] for i in group.layers for p in network.producers[i]} - {g})
        for g, group in enumerate(plan.groups)
    ]
    found = list[Regrouping]()
    for after, makers in enumerate(reads):
        for before in makers:
            between = {before}
            for other in range(before + 1, after):
                if between & set(reads[other]):
                    between.add(other)
            if not (between - {before}) & set(makers):
                pair = plan.groups[before], plan.groups[after]
                layers = tuple(sorted((*pair[0].layers, *pair[1].layers)))
                found.append(Regrouping(pair, (layers,)))
    return found


def all_moves(network: Network, plan: FusionPlan) -> list[Regrouping]:
    """Return joins, groups cut in two, and pairs of which a layer changes sides, in running
    order."""
    found = joins(network, plan)
    for pair in list(found):
        first, second = (group.layers for group in pair.old)
        if len(first) > 1:
            moved = first[:-1], tuple(sorted((*second, first[-1])))
            found.append(Regrouping(pair.old, moved))
        if len(second) > 1:
            moved = tuple(sorted((*first, second[0]))), second[1:]
            found.append(Regrouping(pair.old, moved))
    for group in plan.groups:
        for at in range(1, len(group.layers)):
            found.append(Regrouping((group,), (group.layers[:at], group.layers[at:])))
    able = [move for move in found if all(connected(network, part) for part in move.new)]
    return sorted(able, key=lambda move: move.layers[-1])


def ways(evaluator: MemoizedPlanEvaluator, move: Regrouping) -> Iterator[tuple[FusionGroup, ...]]:
    """Yield new groups of a move, each in the tiling and in the nest that are estimated best;
    nothing if one of them has neither."""
    yield from product(*(list(_ways_of(evaluator, layers)) for layers in move.new))


def _ways_of(evaluator: MemoizedPlanEvaluator, layers: tuple[int, ...]) -> Iterator[FusionGroup]:
    network, hardware = evaluator.network, evaluator.hardware
    tiled = evaluator.tiling(layers)
    if not isinstance(tiled, Infeasible):
        yield tiled
    cores = not isinstance(fusion_cores(hardware), Infeasible)
    if cores and nestable(network, layers) is not None:
        for choice in evaluator.nests(layers)[:1]:
            yield FusionGroup(layers, nest=choice.nest)


def regrouped(
    network: Network, plan: FusionPlan, move: Regrouping, groups: tuple[FusionGroup, ...]
) -> Iterator[FusionPlan]:
    """Yield a plan with other groups for some layers, which keep their pins for later groups, and
    if they have any the same without; nothing if the groups would wait for each other.

    One group for two runs when the second or the first of them does, so that all others keep their
    order, and what is pinned meanwhile stays the same; where neither can be, in any order.
    """
    keeping = tuple(_keeping(move.old, group) for group in groups)
    bare = tuple(replace(group, pins=()) for group in keeping)
    plan = _without_shared(network, plan, move)
    for new in dict.fromkeys((keeping, bare)):
        order = _ordered(network, plan, move, new)
        if order is not None:
            yield _to_last_readers(network, order)


def _without_shared(network: Network, plan: FusionPlan, move: Regrouping) -> FusionPlan:
    """Return a plan that loads no weights once of which a regrouped layer has a share."""
    lost = {network.weight_owner(i) for group in move.old for i in group.loaded_once}
    if not lost:
        return plan

    def left(group: FusionGroup) -> tuple[int, ...]:
        return tuple(i for i in group.loaded_once if network.weight_owner(i) not in lost)

    return FusionPlan(tuple(replace(group, loaded_once=left(group)) for group in plan.groups))


def _ordered(
    network: Network, plan: FusionPlan, move: Regrouping, new: tuple[FusionGroup, ...]
) -> list[FusionGroup] | None:
    """Return all groups in an order in which they can run; None if there is none."""
    order = list[FusionGroup]()
    for place in _places(len(move.old), new):
        at = {group.layers: some for group, some in zip(move.old, place, strict=True)}
        order = [g for group in plan.groups for g in at.get(group.layers, (group,))]
        if not plan_violations(network, FusionPlan(tuple(order))):
            return order
    turns = group_order(network, [group.layers for group in order])
    return None if turns is None else [order[k] for k in turns]


def _to_last_readers(network: Network, groups: Sequence[FusionGroup]) -> FusionPlan:
    """Return a plan whose pins last to the readers that run last, as those of paths do."""
    turns = {i: turn for turn, group in enumerate(groups) for i in group.layers}

    def lasting(pin: Pin) -> Pin:
        return Pin(pin.layer, max(network.consumers[pin.layer], key=lambda i: (turns[i], i)))

    return FusionPlan(
        tuple(replace(group, pins=tuple(map(lasting, group.pins))) for group in groups)
    )


def _places(
    old: int, new: tuple[FusionGroup, ...]
) -> tuple[tuple[tuple[FusionGroup, ...], ...], ...]:
    """For each way to put new groups in the places of old ones, those in each place."""
    if old == 1:
        return ((new,),)
    return ((new[:1], new[1:]),) if len(new) > 1 else (((), new), (new, ()))


def _keeping(old: tuple[FusionGroup, ...], group: FusionGroup) -> FusionGroup:
    """Return a group with the pins, steady weights and sub-batches of others with its layers.

    Weights that were loaded once come for each sub-batch, since not all groups can load them so.
    """
    mine = set(group.layers)
    pins = [pin for x in old for pin in x.pins if pin.layer in mine and pin.reader not in mine]
    steady = sorted(i for x in old for i in x.steady if i in mine)
    return replace(
        group,
        pins=tuple(sorted(pins, key=lambda pin: pin.layer)),
        steady=tuple(steady),
        resident=tuple(i for i in group.resident if i not in steady),
        sub_batches=old[0].sub_batches,
    )
