"""Timeloop architectures as a tree (``subtree``, v0.2 to v0.4) or as a list (``arch``)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from ....yaml_reader import Faults, Place
from ..values import Entry, Scope, items, nearest, refuse_others, section, word
from .attributes import (
    COMPUTE_NAMES,
    MESH,
    NETWORK,
    STORAGE_NAMES,
    Attributes,
    compute_energy,
    refuse_unknown,
    storage_fields,
)
from .parts import Compute, Context, Fanout, Memory, Mesh, Parts, kind_of, mesh_of, name_and_count

_NODE: Final = ("name", "attributes", "local", "subtree")
_COMPONENT: Final = ("name", "class", "subclass", "attributes", "required_actions", "enabled")
_NETWORK: Final = ("net_energy_per_hop_pJ", "net_router_energy_pJ")
_ARCH: Final = ("version", "arithmetic", "storage")


@dataclass(frozen=True)
class _Enclosing:
    """What a component has from the branches around it."""

    inherited: Mapping[str, Entry]
    scope: Scope
    count: int


def read_tree(entry: Entry, context: Context) -> Parts:
    """Return the parts of an architecture whose branches nest in ``subtree``."""
    faults = context.faults
    top = section(entry, faults)
    refuse_others(top, ("version", "subtree"), faults)
    parts = Parts()
    memories: list[Memory] = []
    around = _Enclosing({}, context.variables, 1)
    branch = top.get("subtree")
    while branch is not None:
        listed = items(branch, faults)
        if len(listed) != 1:
            faults.add(branch.place, f"must hold exactly one branch, got {len(listed)}")
        if not listed:
            break
        node = section(listed[0], faults)
        refuse_others(node, _NODE, faults)
        name = word(node.get("name"), listed[0].place, "name", faults)
        around = _inside(node, name, listed[0].place, around, context)
        parts.name = parts.name or name.partition("[")[0]
        for local in items(node.get("local"), faults):
            _component(local, around, context, parts, memories)
        branch = node.get("subtree")
    _link(memories, parts, faults)
    return parts


def read_list(entry: Entry, context: Context) -> Parts:
    """Return the parts of an ``arch`` with its storage listed from the innermost."""
    faults = context.faults
    top = section(entry, faults)
    refuse_others(top, _ARCH, faults)
    parts = Parts(name="arch")
    memories: list[Memory] = []
    around = _Enclosing({}, context.variables, 1)
    for stored in items(top.get("storage"), faults):
        own = section(stored, faults)
        name = word(own.pop("name", None), stored.place, "name", faults)
        _need_instances(own, stored.place, faults)
        memories.insert(0, _memory(stored, name, own, "", around, context))
    if "arithmetic" in top:
        own = section(top["arithmetic"], faults)
        name = str(own.pop("name", Entry(entry.place, "mac")).value)
        _need_instances(own, top["arithmetic"].place, faults)
        parts.add_compute(_compute(top["arithmetic"], name, own, around, context), faults)
    _link(memories, parts, faults)
    return parts


def _need_instances(own: Mapping[str, Entry], place: Place, faults: Faults) -> None:
    if "instances" not in own:
        faults.add(place, "has no instances")


def _inside(
    node: Mapping[str, Entry], name: str, place: Place, around: _Enclosing, context: Context
) -> _Enclosing:
    """Return what the components of a branch have from it and from those around it."""
    faults = context.faults
    own = section(node["attributes"], faults) if "attributes" in node else {}
    refuse_unknown(own, (*STORAGE_NAMES, *COMPUTE_NAMES), context.mentioned, faults)
    for side in MESH:
        if side in own:
            faults.add(own[side].place, "is allowed at a component only, not at a branch")
    inherited = {**around.inherited, **{k: v for k, v in own.items() if k not in MESH}}
    scope = Scope(own, around.scope)
    count = name_and_count(name, place, scope, faults)[1]
    return _Enclosing(inherited, scope, around.count * count)


def _component(
    local: Entry, around: _Enclosing, context: Context, parts: Parts, memories: list[Memory]
) -> None:
    faults = context.faults
    keys = section(local, faults)
    refuse_others(keys, _COMPONENT, faults)
    own = section(keys["attributes"], faults) if "attributes" in keys else {}
    text = word(keys.get("name"), local.place, "name", faults)
    name, count = name_and_count(text, local.place, Scope(own, around.scope), faults)
    around = replace(around, count=around.count * count)
    class_name = word(keys.get("class"), local.place, "class", faults)
    kind = kind_of(class_name)
    context = context.of_classes(keys.get("class"), keys.get("subclass"))
    if kind == "memory":
        memories.append(_memory(local, name, own, class_name, around, context))
    elif kind == "compute":
        parts.add_compute(_compute(local, name, own, around, context), faults)
    elif kind == "network":
        refuse_network_energy(own, context)
        parts.networks.append(name)
    elif kind == "unknown" and class_name != "?":
        known = ("DRAM", "SRAM", "regfile", "smartbuffer_SRAM", "storage", "intmac", "compute")
        hint = nearest(class_name, known)
        faults.add(
            keys["class"].place, f"{class_name} is neither a memory nor a compute class; {hint}"
        )


def refuse_network_energy(own: Mapping[str, Entry], context: Context) -> None:
    """Accept a network component that costs nothing by itself."""
    names = {*STORAGE_NAMES, *COMPUTE_NAMES} - {*NETWORK, "wire_energy", "energy_per_ingress"}
    refuse_unknown(own, names, context.mentioned, context.faults, context.hint)


def _memory(
    at: Entry,
    name: str,
    own: Mapping[str, Entry],
    class_name: str,
    around: _Enclosing,
    context: Context,
) -> Memory:
    attributes = Attributes(at, own, around.inherited, Scope(own, around.scope))
    refuse_unknown(own, STORAGE_NAMES, context.mentioned, context.faults, context.hint)
    fields = storage_fields(attributes, class_name, context.faults)
    if class_name == "dummy_storage":
        # what Timeloop's front end writes for a fan-out; its size of one word is made up
        fields["size_words"] = 0
    mesh = mesh_of(attributes, around.count, context.faults)
    return Memory(name, mesh, fields, at.place)


def _compute(
    at: Entry, name: str, own: Mapping[str, Entry], around: _Enclosing, context: Context
) -> Compute:
    attributes = Attributes(at, own, around.inherited, Scope(own, around.scope))
    refuse_unknown(own, COMPUTE_NAMES, context.mentioned, context.faults, context.hint)
    mesh = mesh_of(attributes, around.count, context.faults)
    return Compute(mesh, compute_energy(attributes, context.faults), at.place, name)


def _link(memories: list[Memory], parts: Parts, faults: Faults) -> None:
    """Put between neighbours the fan-out that their meshes give."""
    meshes = [memory.mesh for memory in memories]
    if parts.compute is not None:
        meshes.append(parts.compute.mesh)
    fans = [_ratio(outer, inner) for outer, inner in pairwise(meshes)]
    for i, memory in enumerate(memories):
        parts.chain.append(memory)
        if i >= len(fans):
            continue
        fan = fans[i]
        if fan is None:
            inner = memories[i + 1].name if i + 1 < len(memories) else "the multipliers"
            faults.add(
                memory.place,
                f"has a mesh of {_text(meshes[i])}, which does not divide that of {inner}, "
                f"{_text(meshes[i + 1])}",
            )
        network = {name: memory.fields[name] for name in _NETWORK}
        parts.chain.append(Fanout((memory.name,), fan or (1, 1), network, memory.place))


def _ratio(outer: Mesh, inner: Mesh) -> Mesh | None:
    if inner[0] % outer[0] or inner[1] % outer[1]:
        return None
    return inner[0] // outer[0], inner[1] // outer[1]


def _text(mesh: Mesh) -> str:
    return f"{mesh[0]} x {mesh[1]}"
