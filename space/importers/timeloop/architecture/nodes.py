"""Timeloop architectures as a list of tagged nodes (``nodes``, v0.4).

Fan-outs stand at containers or components, as Timeloop's front end expands them (timeloopfe,
common/version_transpilers/v4_to_v3.py): everything behind such a node is replicated, and
attributes of a container hold for every component behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ....yaml_reader import shown
from ..values import Entry, NoValueError, Scope, items, nearest, refuse_others, section, truth, word
from ..yaml_dialect import TaggedSection
from .attributes import (
    COMPUTE_NAMES,
    MESH,
    STORAGE_NAMES,
    Attributes,
    compute_energy,
    network_energies,
    refuse_unknown,
    storage_fields,
)
from .parts import Branch, Compute, Constraint, Context, Fanout, Memory, Mesh, Parts, kind_of
from .tree import refuse_network_energy

_BRANCHES: Final = ("Hierarchical", "Pipelined", "Parallel")
_CONTAINERS: Final = ("Container", "ArrayContainer")
_TAGS: Final = ("Component", *_CONTAINERS, *_BRANCHES, "Nothing")
_LEAF: Final = (
    *("name", "class", "subclass", "attributes", "spatial", "constraints", "networks"),
    *("sparse_optimizations", "required_actions", "enabled"),
    *("area_share", "area_scale", "energy_scale"),
)


@dataclass
class _NodeState:
    """The state behind the nodes read so far."""

    context: Context
    parts: Parts
    mesh: Mesh = (1, 1)
    inherited: dict[str, Entry] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)


def read_nodes(entry: Entry, context: Context) -> Parts:
    """Return the parts of an architecture that lists ``nodes`` from the outermost."""
    faults = context.faults
    top = section(entry, faults)
    refuse_others(top, ("version", "nodes"), faults)
    state = _NodeState(context, Parts(constraints_complete=True), scope=context.variables)
    _nodes(top.get("nodes"), state, parallel=False)
    return state.parts


def _nodes(entry: Entry | None, state: _NodeState, parallel: bool) -> list[Branch]:
    """Read nodes one after another; for a parallel node, return its branches."""
    branches = []
    for node in items(entry, state.context.faults):
        before, direct = len(state.parts.chain), _node(node, state, parallel)
        new = state.parts.chain[before:]
        names = tuple(part.name for part in new if isinstance(part, Memory))
        branches.append(Branch(names, tuple(direct), node.place))
    return branches


def _node(node: Entry, state: _NodeState, parallel: bool) -> list[Entry]:
    """Read one node; return the tensors that it passes by, if it is a direct path."""
    faults = state.context.faults
    tag = node.value.tag if isinstance(node.value, TaggedSection) else ""
    if tag not in _TAGS:
        what = f"the tag !{tag}" if tag else f"{shown(node.value)}, which has no tag,"
        faults.add(node.place, f"{what} is not a node; {nearest(tag, _TAGS)}")
        return []
    keys = section(node, faults)
    if tag in _BRANCHES:
        refuse_others(keys, ("nodes", "name", "enabled"), faults)
        branches = _nodes(keys.get("nodes"), state, parallel=tag == "Parallel")
        if tag == "Parallel":
            state.parts.parallels.append(tuple(branches))
        return []
    refuse_others(keys, _LEAF, faults)
    if "enabled" in keys and truth(keys["enabled"].value) is False:
        return []
    _refuse_sparse(keys, state)
    if tag == "Nothing":
        return _direct_path(keys, state)
    _leaf(node, keys, tag in _CONTAINERS, state, parallel)
    return []


def _refuse_sparse(keys: Mapping[str, Entry], state: _NodeState) -> None:
    for name in ("sparse_optimizations", "networks"):
        entry = keys.get(name)
        if entry is not None and entry.value:
            state.context.faults.add(entry.place, "is not modelled; only dense cases are supported")


def _direct_path(keys: Mapping[str, Entry], state: _NodeState) -> list[Entry]:
    faults = state.context.faults
    constraints = section(keys["constraints"], faults) if "constraints" in keys else {}
    refuse_others(constraints, ("dataspace",), faults)
    dataspace = section(constraints["dataspace"], faults) if "dataspace" in constraints else {}
    refuse_others(dataspace, ("keep", "bypass", "keep_only"), faults)
    return [dataspace[key] for key in ("keep", "keep_only") if key in dataspace]


def _leaf(
    node: Entry, keys: Mapping[str, Entry], container: bool, state: _NodeState, parallel: bool
) -> None:
    faults = state.context.faults
    name = word(keys.get("name"), node.place, "name", faults)
    own = section(keys["attributes"], faults) if "attributes" in keys else {}
    for side in MESH:
        if side in own:
            faults.add(own[side].place, f"has no effect in v0.4; use spatial: {{{side}: ...}}")
    scope = Scope(own, state.scope)
    fanout = _fanout(keys.get("spatial"), scope, state)
    if parallel and (container or fanout != (1, 1)):
        faults.add(node.place, "has a fan-out or is a container inside !Parallel")
    if container:
        state.parts.name = state.parts.name or name
        refuse_unknown(own, (*STORAGE_NAMES, *COMPUTE_NAMES), state.context.mentioned, faults)
        state.inherited.update({k: v for k, v in own.items() if k not in MESH})
        state.scope = scope
    _fan(node, name, fanout, container, state)
    if not container:
        _component(node, name, keys, own, state)
    _constraints(name, keys, container, fanout, state)


def _fanout(entry: Entry | None, scope: Scope, state: _NodeState) -> Mesh:
    faults = state.context.faults
    spatial = section(entry, faults) if entry is not None else {}
    refuse_others(spatial, ("meshX", "meshY"), faults)
    sides = []
    for side in ("meshX", "meshY"):
        value: Any = 1
        if side in spatial and spatial[side].value is not None:
            try:
                value = scope.number(spatial[side].value)
            except NoValueError as error:
                faults.add(spatial[side].place, str(error))
            if value < 1 or value != int(value):
                faults.add(spatial[side].place, f"must be 1, 2, 3, ..., got {shown(value)}")
                value = 1
        sides.append(int(value))
    return sides[0], sides[1]


def _fan(node: Entry, name: str, fanout: Mesh, container: bool, state: _NodeState) -> None:
    if fanout == (1, 1) and not container:
        return
    # the level that the front end puts here has the containers' attributes, and no others
    around = Attributes(node, {}, state.inherited, state.scope)
    network = network_energies(around, state.context.faults) if fanout != (1, 1) else {}
    if state.parts.compute is not None:
        state.context.faults.add(node.place, "is behind the multipliers, which must come last")
    names = (name, f"inter_{name}_spatial")
    state.parts.chain.append(Fanout(names, fanout, network, node.place))
    state.mesh = (state.mesh[0] * fanout[0], state.mesh[1] * fanout[1])


def _component(
    node: Entry, name: str, keys: Mapping[str, Entry], own: Mapping[str, Entry], state: _NodeState
) -> None:
    faults = state.context.faults
    if "[" in name:
        faults.add(
            node.place,
            f"{shown(name)}: v0.4 gives the number of instances by spatial, not by a range",
        )
    class_name = word(keys.get("class"), node.place, "class", faults)
    kind = kind_of(class_name)
    context = state.context.of_classes(keys.get("class"), keys.get("subclass"))
    attributes = Attributes(node, own, state.inherited, Scope(own, state.scope))
    if kind == "memory":
        refuse_unknown(own, STORAGE_NAMES, context.mentioned, faults, context.hint)
        fields = storage_fields(attributes, class_name, faults)
        state.parts.chain.append(Memory(name, state.mesh, fields, node.place))
    elif kind == "compute":
        refuse_unknown(own, COMPUTE_NAMES, context.mentioned, faults, context.hint)
        energy = compute_energy(attributes, faults)
        state.parts.add_compute(Compute(state.mesh, energy, node.place, name), faults)
    elif kind == "network":
        refuse_network_energy(own, context)
        state.parts.networks.append(name)
    elif class_name != "?":
        known = ("DRAM", "SRAM", "regfile", "smartbuffer_SRAM", "storage", "intmac", "compute")
        hint = nearest(class_name, known)
        faults.add(
            keys["class"].place, f"{class_name} is neither a memory nor a compute class; {hint}"
        )


def _constraints(
    name: str, keys: Mapping[str, Entry], container: bool, fanout: Mesh, state: _NodeState
) -> None:
    faults = state.context.faults
    found = section(keys["constraints"], faults) if "constraints" in keys else {}
    target = Entry(keys["constraints"].place, name) if found else None
    for kind, entry in found.items():
        if target is None or not entry.value:
            continue
        if container and kind != "spatial":
            faults.add(entry.place, "has no effect at a container, which has no loops and tensors")
        elif not container or fanout != (1, 1):
            state.parts.constraints.append(Constraint(target, Entry(entry.place, kind), entry))
