"""Timeloop mappings as the loops of a case record.

Conventions are those of Timeloop's parser (NVlabs/timeloop, src/mapping/parser.cpp): permutations
start with the innermost loop; the first ``split`` dimensions of a spatial one go along x, all of
them without it; dimensions that a permutation leaves out follow in the order of the shape;
missing factors are 1; tensors are kept unless they bypass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final, Literal

from ...yaml_reader import Faults, shown
from .architecture import Architecture, Constraint, Fanout, Level, Memory
from .directives import Directive, read_directive, read_tensors
from .problem import TENSORS, Problem
from .values import Entry, items, nearest, section

Slot = tuple[Literal["temporal", "spatial", "dataspace", "utilization"], str]
"""What a directive is about: a kind, and the first name of a memory or fan-out."""

_WHOLE: Final[Slot] = ("utilization", "")


@dataclass(frozen=True)
class Loops:
    """The loops of one slot, complete.

    Attributes:
        factors: steps by dimension.
        permutation: all dimensions from the innermost.
        split: how many of them go along x.
        no_reuse: tensors without multicast and reduction.
    """

    factors: Mapping[str, int]
    permutation: tuple[str, ...]
    split: int
    no_reuse: tuple[str, ...]

    def along(self, axis: str) -> dict[str, int]:
        """Return the factors along ``X`` or ``Y``, from the innermost."""
        dims = self.permutation[: self.split] if axis == "X" else self.permutation[self.split :]
        return {dim: self.factors[dim] for dim in dims}


@dataclass
class Resolved:
    """A mapping with nothing left open.

    Attributes:
        loops: by slot.
        keeps: tensors that each memory keeps.
        given: directives that the mapping's file has, by slot.
        limits: constraints, by slot.
        whole: whether every directive of the mapping could be placed.
    """

    loops: dict[Slot, Loops] = field(default_factory=dict)
    keeps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    given: dict[Slot, Directive] = field(default_factory=dict)
    limits: list[tuple[Slot, Directive]] = field(default_factory=list)
    whole: bool = True


def read_mapping(
    entry: Entry,
    architecture: Architecture,
    problem: Problem,
    constraints: Sequence[Constraint],
    faults: Faults,
) -> Resolved:
    """Return the mapping that stands under ``mapping``, completed from the constraints of v0.4.

    Args:
        entry: the list of directives.
        architecture, problem: what is mapped on what.
        constraints: those of the architecture and of files beside it.
        faults: where to note what is wrong.
    """
    resolved = Resolved()
    for item in items(entry, faults):
        keys = section(item, faults)
        kind = keys.get("type", Entry(item.place, None))
        known = len(faults.sentences)
        directive = read_directive(item, kind, problem, faults)
        target = keys.get("target", Entry(item.place, None))
        slot = _slot(target, directive, architecture, faults) if directive else None
        if directive is None or slot is None:
            # the loops of a directive without a place would only be missed
            resolved.whole &= len(faults.sentences) == known
            continue
        if directive.kind == "utilization":
            faults.add(kind.place, f"{kind.value} is a constraint, which a mapping may not have")
        if any(f.sign != "=" for f in directive.factors):
            faults.add(item.place, "factors of a mapping must be written with =")
        if slot in resolved.given:
            faults.add(
                item.place,
                f"is a second directive of its type, besides {resolved.given[slot].place.path}",
            )
        resolved.given[slot] = directive
    for constraint in constraints:
        directive = read_directive(constraint.entry, constraint.kind, problem, faults)
        slot = _slot(constraint.target, directive, architecture, faults) if directive else None
        if directive is not None and slot is not None:
            resolved.limits.append((slot, _clipped(directive, problem)))
    _complete(resolved, architecture, problem, faults)
    return resolved


def _clipped(directive: Directive, problem: Problem) -> Directive:
    """Return a constraint whose factors end at the bounds (Constraints::ParseFactors)."""
    factors = (
        replace(f, value=min(f.value, problem.dims[f.dim])) if f.sign == "=" else f
        for f in directive.factors
    )
    return replace(directive, factors=tuple(factors))


def _slot(
    target: Entry, directive: Directive, architecture: Architecture, faults: Faults
) -> Slot | None:
    """Return what a target means for a directive; None after a fault."""
    if directive.kind == "utilization":
        return _WHOLE
    value = target.value
    if value is None:
        faults.add(target.place, "has no target")
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < len(architecture.memories):
            last = len(architecture.memories) - 1
            faults.add(target.place, f"{value} is not a memory; memories are numbered 0 to {last}")
            return None
        value = architecture.memories[value].name
    if directive.kind == "spatial":
        fan = _fan(value, target, architecture, faults)
        return None if fan is None else ("spatial", fan.names[0])
    names = [memory.name for memory in architecture.memories]
    if value in names:
        return directive.kind, str(value)
    if any(value in fan.names for fan in architecture.fans):
        # the front end puts a level there that holds nothing, so there is nothing to say of it
        if directive.keep or any(factor > 1 for factor in directive.exact().values()):
            faults.add(
                target.place,
                f"{value} is a fan-out, which has no loops in time and keeps no tensors",
            )
        return None
    faults.add(target.place, f"{shown(value)} is not a memory; {nearest(str(value), names)}")
    return None


def _fan(value: Any, target: Entry, architecture: Architecture, faults: Faults) -> Fanout | None:
    fans = architecture.fans
    for fan in fans:
        if value in fan.names:
            return fan
    below = _below(value, architecture.parts.chain)
    wide = [fan for fan in below or [] if fan.mesh != (1, 1)]
    if len(wide) == 1:
        return wide[0]
    if wide:
        names = ", ".join(fan.names[0] for fan in wide)
        faults.add(target.place, f"{value} has several fan-outs below it; name one of {names}")
    elif below is not None:
        faults.add(target.place, f"{value} has no fan-out below it")
    else:
        known = [fan.names[0] for fan in fans if fan.mesh != (1, 1)]
        hint = f"; {nearest(str(value), known)}" if known else ""
        faults.add(target.place, f"{shown(value)} is not a fan-out{hint}")
    return None


def _below(name: Any, chain: Sequence[Memory | Fanout]) -> list[Fanout] | None:
    """Return the fan-outs between a memory and the next one; None if there is no such memory."""
    found: list[Fanout] | None = None
    for part in chain:
        if isinstance(part, Memory):
            if found is not None:
                return found
            found = [] if part.name == name else None
        elif found is not None:
            found.append(part)
    return found


def _complete(
    resolved: Resolved, architecture: Architecture, problem: Problem, faults: Faults
) -> None:
    """Fill in what the directives leave open."""
    extra = resolved.limits if architecture.parts.constraints_complete else []
    slots: list[Slot] = [("temporal", memory.name) for memory in architecture.memories]
    slots += [("spatial", fan.names[0]) for fan in architecture.fans]
    for slot in slots:
        also = [directive for other, directive in extra if other == slot]
        resolved.loops[slot] = _loops(resolved.given.get(slot), also, problem)
    for memory in architecture.memories:
        given = resolved.given.get(("dataspace", memory.name))
        held = [d for other, d in extra if other == ("dataspace", memory.name)]
        named = [given, *held] if given else held
        bypass = {t for directive in named for t in directive.bypass}
        if given:
            # what the mapping says counts; that constraints say otherwise is a fault of its own
            bypass -= set(given.keep)
        resolved.keeps[memory.name] = tuple(t for t in TENSORS if t not in bypass)
    _split_branches(resolved, extra, architecture, problem, faults)


def _loops(given: Directive | None, also: Sequence[Directive], problem: Problem) -> Loops:
    named = [given, *also] if given else list(also)
    factors: dict[str, int] = {}
    for directive in named:
        for dim, value in directive.exact().items():
            factors.setdefault(dim, value)
    order = next((d.permutation for d in named if d.permutation is not None), ())
    split = next((d.split for d in named if d.split is not None), len(problem.dims))
    reuse = {t for directive in named for t in directive.no_reuse}
    return Loops(
        {dim: factors.get(dim, 1) for dim in problem.dims},
        (*order, *(dim for dim in problem.dims if dim not in order)),
        split,
        tuple(t for t in TENSORS if t in reuse),
    )


def _split_branches(
    resolved: Resolved,
    extra: Sequence[tuple[Slot, Directive]],
    architecture: Architecture,
    problem: Problem,
    faults: Faults,
) -> None:
    """Let each tensor pass all branches of a parallel node but its own.

    Source: timeloopfe, processors/dataspace2branch.py.
    """
    named: dict[str, set[str]] = {}
    for slot, directive in [*resolved.given.items(), *extra]:
        if slot[0] == "dataspace":
            named.setdefault(slot[1], set()).update(directive.keep)
    for branches in architecture.parts.parallels:
        owner: dict[str, int] = {}
        for i, branch in enumerate(branches):
            here = {t for name in branch.memories for t in named.get(name, ())}
            here |= {t for e in branch.direct for t in read_tensors(e, problem, faults)}
            for tensor in (t for t in TENSORS if t in here):
                if tensor in owner:
                    faults.add(branch.place, f"keeps {tensor}, as another branch does")
                owner.setdefault(tensor, i)
        for i, branch in enumerate(branches):
            for name in branch.memories:
                kept = tuple(t for t in resolved.keeps[name] if owner.get(t) == i)
                resolved.keeps[name] = kept
        for tensor in (t for t in TENSORS if t not in owner and branches):
            faults.add(branches[0].place, f"neither it nor a branch beside it keeps {tensor}")


def mapping_record(resolved: Resolved, architecture: Architecture) -> list[dict[str, Any]]:
    """Return the mapping as a case record has it, levels from the innermost."""
    return [_level_record(level, resolved) for level in architecture.levels]


def _level_record(level: Level, resolved: Resolved) -> dict[str, Any]:
    temporal = Loops({}, (), 0, ())
    if not level.hollow:
        temporal = resolved.loops["temporal", level.name]
    keeps = () if level.hollow else resolved.keeps[level.name]
    fans = [(fan, resolved.loops["spatial", fan.names[0]]) for fan in level.fans]
    wide = [loops for fan, loops in fans if fan.mesh != (1, 1)]
    reuse = {t for loops in wide for t in loops.no_reuse}
    return {
        "level": level.name,
        "temporal": {
            "factors": dict(temporal.factors),
            "permutation_inner_to_outer": _order(temporal.permutation),
        },
        "spatial": _spatial(level, wide) if wide else None,
        "keep": list(keeps),
        "bypass": [t for t in TENSORS if t not in keeps],
        "no_multicast": [t for t in TENSORS if t in reuse],
    }


def _spatial(level: Level, wide: Sequence[Loops]) -> dict[str, Any]:
    """Return the loops over all children of a level, fan-outs in a row taken together."""
    busy = {dim for loops in wide for dim, factor in loops.factors.items() if factor > 1}
    tables: dict[str, dict[str, int]] = {"X": {}, "Y": {}}
    for i, loops in enumerate(wide):
        for axis, table in tables.items():
            for dim, factor in loops.along(axis).items():
                if factor > 1 or (i == 0 and dim not in busy) or (len(wide) == 1):
                    table[dim] = table.get(dim, 1) * factor
    x, y = level.fanout
    return {
        **tables,
        "order_X_inner_to_outer": _order(tuple(tables["X"])),
        "order_Y_inner_to_outer": _order(tuple(tables["Y"])),
        "fanoutX": x,
        "fanoutY": y,
    }


def _order(dims: tuple[str, ...]) -> str | list[str]:
    """Return dimensions as a word if each is one letter, else as a list."""
    return "".join(dims) if all(len(dim) == 1 for dim in dims) else list(dims)


def used_multipliers(resolved: Resolved) -> int:
    """Return the multipliers that the mapping uses."""
    spatial = [loops for slot, loops in resolved.loops.items() if slot[0] == "spatial"]
    return prod(factor for loops in spatial for factor in loops.factors.values())
