"""Equivalence of groups that differ in names and positions only, so that they cost the same.

Blocks of a network repeat, and with them the groups that a fusion search evaluates. The kind of a
group, a canonical key as in colour refinement (Weisfeiler and Leman, 1968), holds all that its
tiling and cost depend on besides the hardware, so that groups of one kind are tiled and evaluated
once. What is read of a layer is its kind, counted once per network; what
groups add is who reads whom, what comes from the same place outside, what leaves, and whose
weights are shared.
"""

from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from operator import attrgetter
from typing import Final

from archloom.evaluators.fusion import (
    GroupCost,
    group_reads,
    group_sources,
    readers_outside,
    with_residents,
)
from archloom.evaluators.fusion.buffer import shape_of
from archloom.space.fusion import ALONE, FusionGroup, Residents, computation_of
from archloom.space.workload import Layer, Network, bits, remembered

#: tells groups of one network apart: those that are equal cost the same
KindOf = Callable[[Network, tuple[int, ...]], Hashable]

#: what no cost of a group depends on, or what its reads and owners of weights say already
_COST_FREE_FIELDS: Final = frozenset(("name", "activation", "extra_params", "slices", "weights_of"))
_COST_FIELDS: Final = attrgetter(
    *(f.name for f in fields(Layer) if f.name not in _COST_FREE_FIELDS)
)


def group_kind(network: Network, layers: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers that are the same for groups of ``network`` that cost the same.

    Members in order of position, for each: the kind of the layer; whether its result leaves the
    group; the first member with the same weights; for each map that it reads the member that
    makes it, or a number below 0 for what comes from outside, the same for the same box of the
    same map; whether it is a computation of a folded network. Groups that list equal members in
    another order are of different kinds.

    Args:
        network: where the group is.
        layers: its layers, ascending.
    """
    kinds, owners, sources = layer_kinds(network), _owners(network), group_sources(network)
    readers, members = readers_outside(network), bits(layers)
    number = {i: m for m, i in enumerate(layers)}
    outside: dict[int, int] = {}
    first: dict[int, int] = {}
    found: list[int] = []
    for m, i in enumerate(layers):
        found += kinds[i], readers[i] & ~members != 0, first.setdefault(owners[i], m)
        for source in sources[i]:
            member = number.get(source.layer)
            if member is None:
                member = outside.setdefault(source.box, -1 - len(outside))
            found.append(member)
    if network.folded:
        found.append(int(layers in computation_of(network)))
    return tuple(found)


@remembered
def layer_kinds(network: Network) -> tuple[int, ...]:
    """Return for each layer a number that is the same for layers that cost the same.

    All is the same of them but names, folded activations, learned values that no loop touches,
    and whose maps and weights they read.
    """
    numbers: dict[tuple[object, ...], int] = {}
    return tuple(
        numbers.setdefault((*_COST_FIELDS(layer), reads), len(numbers))
        for layer, reads in zip(network.layers, group_reads(network), strict=True)
    )


@remembered
def _owners(network: Network) -> tuple[int, ...]:
    """For each layer the one that brings its weights."""
    return tuple(map(network.weight_owner, range(len(network.layers))))


def resident_members(group: FusionGroup) -> tuple[int, ...]:
    """Return which members of a group have resident weights, by their numbers in the group."""
    return tuple(m for m, i in enumerate(group.layers) if i in group.resident)


def residents_kind(
    network: Network, group: FusionGroup, residents: Residents
) -> tuple[tuple[int, ...], ...]:
    """Return what of its residents a group's cost depends on, but for words: by numbers in
    the group, maps from outside in the buffer, results kept there, those not written, and members
    with weights that are steady, and loaded once."""
    if residents == ALONE and not group.staying:
        return ()
    shape = with_residents(network, shape_of(network, group.layers), residents)
    steady = tuple(m for m, i in enumerate(group.layers) if i in group.steady)
    once = tuple(m for m, i in enumerate(group.layers) if i in group.loaded_once)
    loads = tuple(m for m in once if network.weight_owner(group.layers[m]) == group.layers[m])
    return shape.held, shape.kept, shape.unwritten, steady, once, loads


def tiling_for_group(group: FusionGroup, layers: tuple[int, ...]) -> FusionGroup:
    """Return the tiling of a group for another one of its kind."""
    resident = tuple(layers[m] for m in resident_members(group))
    return FusionGroup(layers, group.tile, group.halo, resident, group.faces)


def cost_for_group(cost: GroupCost, group: FusionGroup, residents: Residents = ALONE) -> GroupCost:
    """Return the cost of a group for another one of its kind that is tiled and placed like it."""
    shares = zip(cost.layers, group.layers, strict=True)
    layers = tuple(replace(s, layer=i) for s, i in shares)
    part = cost.part and cost_for_group(cost.part, group.one_part, residents)
    return replace(cost, group=group, residents=residents, layers=layers, part=part)
