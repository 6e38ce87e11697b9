"""A fusion plan in a file: groups as ``archloom schedule --json`` prints them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, TypeAdapter, ValidationError

from archloom.space import bounded_json, did_you_mean
from archloom.space.fusion import (
    FusionGroup,
    FusionPlan,
    HaloPolicy,
    Pin,
    TileRect,
    computations,
    group_order,
    plan_violations,
)
from archloom.space.workload import Network

from ...errors import UserError
from .nest_file import Nest, loop_nest_of

_Start = Annotated[int, Field(ge=0)]
_Rectangle = tuple[_Start, _Start, PositiveInt, PositiveInt]


class _Pin(BaseModel):
    """A map that stays in the buffer until a reader of it has run."""

    layer: str
    reader: str


class _Group(BaseModel):
    """One group; figures that stand beside are left alone."""

    model_config = ConfigDict(extra="ignore")

    layers: Annotated[list[str], Field(min_length=1)]
    tile: tuple[PositiveInt, PositiveInt] | None = None
    halo: HaloPolicy = "recompute"
    resident: list[str] = []
    faces: list[_Rectangle] = []
    pins: list[_Pin] = []
    steady: list[str] = []
    nest: Nest | None = None
    sub_batches: PositiveInt = 1
    loaded_once: list[str] = []


def read_plan(path: Path, network: Network, option: str = "--plan") -> FusionPlan:
    """Return the plan of a file for a network.

    The file holds the JSON that ``archloom schedule --json`` prints, or its ``groups`` alone.
    Layers that no group names run by themselves, where what they read is there. ``option`` is what
    messages call it.

    Raises:
        UserError: the file cannot be read, or all that is wrong with the plan.
    """
    try:
        data = bounded_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{option} {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{option} {path}: is not JSON: {error}") from None
    return plan_of(data, network, f"{option} {path}")


def plan_of(data: object, network: Network, place: str) -> FusionPlan:
    """Return the plan of what a plan file holds.

    Raises:
        UserError: all that is wrong with it, each after ``place``.
    """
    groups = data.get("groups") if isinstance(data, dict) else data
    if isinstance(groups, list) and len(groups) > len(network.layers):
        count, most = len(groups), len(network.layers)
        raise _wrong(place, [f"has {count} groups; {network.name} has {most} layers"])
    try:
        found = TypeAdapter(list[_Group]).validate_python(groups)
    except ValidationError as error:
        raise _wrong(place, [_sentence(fault) for fault in error.errors()]) from None
    if faults := _unknown(found, network):
        raise _wrong(place, faults)
    try:
        plan = _complete([_group(g, group, network) for g, group in enumerate(found)], network)
    except ValueError as error:
        raise _wrong(place, [str(error)]) from None
    if faults := plan_violations(network, plan):
        raise _wrong(place, faults)
    return plan


def _wrong(place: str, faults: Sequence[str]) -> UserError:
    return UserError("\n".join(f"{place}: {fault}" for fault in faults))


def _sentence(fault: Any) -> str:
    where = ".".join(map(str, fault["loc"]))
    return f"groups.{where}: {fault['msg']}" if where else f"groups: {fault['msg']}"


def _unknown(groups: Sequence[_Group], network: Network) -> list[str]:
    """Return what is wrong with names."""
    known = [layer.name for layer in network.layers]
    faults = []
    for g, group in enumerate(groups):
        pinned = [name for pin in group.pins for name in (pin.layer, pin.reader)]
        staying = [*group.resident, *pinned, *group.steady, *group.loaded_once]
        for name in dict.fromkeys([*group.layers, *staying]):
            if name not in known:
                hint = did_you_mean(name, known)
                faults.append(f"groups.{g}: {network.name} has no layer {name!r}; {hint}")
    return faults


def _group(number: int, group: _Group, network: Network) -> FusionGroup:
    def places(names: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(map(network.index, names)))

    pins = sorted((network.index(p.layer), network.index(p.reader)) for p in group.pins)
    members, nest = places(group.layers), None
    if group.nest is not None:
        nest = loop_nest_of(group.nest, network, members, f"groups.{number}.nest")
    return FusionGroup(
        members,
        group.tile,
        group.halo,
        places(group.resident),
        tuple(TileRect(*face) for face in group.faces),
        tuple(Pin(*pin) for pin in pins),
        places(group.steady),
        nest,
        group.sub_batches,
        places(group.loaded_once),
    )


def _complete(groups: list[FusionGroup], network: Network) -> FusionPlan:
    """Add the layers that are missing, and put the groups into an order in which they can run."""
    there = {i for group in groups for i in group.layers}
    missing = [
        FusionGroup(layers, sub_batches=FusionPlan(tuple(groups)).sub_batches)
        for one in computations(network)
        # of what is folded in a group of the file all runs there, or each layer by itself
        for layers in ([one.layers] if there.isdisjoint(one.layers) else [(i,) for i in one.layers])
        if there.isdisjoint(layers)
    ]
    if not missing:
        return FusionPlan(tuple(groups))
    groups = [*groups, *missing]
    order = group_order(network, [group.layers for group in groups])
    return FusionPlan(tuple(groups[g] for g in order or range(len(groups))))
