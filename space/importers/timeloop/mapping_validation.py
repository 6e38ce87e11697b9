"""Validation of a complete Timeloop mapping: bounds, meshes and constraints."""

from math import prod

from ...yaml_reader import Faults, Place
from .architecture import Architecture
from .directives import Directive
from .mapping import Loops, Resolved, Slot, used_multipliers
from .problem import TENSORS, Problem


def check_mapping(
    resolved: Resolved,
    architecture: Architecture,
    problem: Problem,
    place: Place,
    faults: Faults,
) -> None:
    """Name everything in a mapping that the architecture or a constraint does not allow."""
    if resolved.whole:
        _check_products(resolved, problem, place, faults)
    _check_fans(resolved, architecture, place, faults)
    _check_memories(resolved, architecture, place, faults)
    for slot, directive in resolved.limits:
        if slot[0] == "utilization":
            _check_utilization(resolved, directive, architecture, faults)
        elif slot[0] == "dataspace":
            _check_tensors(resolved, slot, directive, faults)
        elif slot in resolved.loops:
            _check_loops(resolved.loops[slot], slot, directive, faults)


def _where(resolved: Resolved, slot: Slot, place: Place) -> Place:
    return resolved.given[slot].place if slot in resolved.given else place


def _check_products(resolved: Resolved, problem: Problem, place: Place, faults: Faults) -> None:
    for dim, bound in problem.dims.items():
        product = prod(loops.factors[dim] for loops in resolved.loops.values())
        if product != bound:
            faults.add(
                place,
                f"factors of {dim} multiply to {product}, must multiply to the bound "
                f"{bound} of the problem",
            )


def _check_fans(
    resolved: Resolved, architecture: Architecture, place: Place, faults: Faults
) -> None:
    for level in architecture.levels:
        flags = []
        for fan in level.fans:
            slot: Slot = ("spatial", fan.names[0])
            loops = resolved.loops[slot]
            for axis, room in zip("XY", fan.mesh, strict=True):
                along = {d: f for d, f in loops.along(axis).items() if f > 1}
                if prod(along.values()) > room:
                    text = " ".join(f"{d}={f}" for d, f in along.items())
                    other = fan.mesh[1 if axis == "X" else 0]
                    hint = "; split is the number of dimensions along X" if other > 1 else ""
                    faults.add(
                        _where(resolved, slot, place),
                        f"puts {text} along {axis} of {fan.names[0]}, which has only {room}{hint}",
                    )
            if prod(loops.factors.values()) > 1:
                flags.append(loops.no_reuse)
        if len(set(flags)) > 1:
            faults.add(place, f"no_reuse differs between the fan-outs in a row below {level.name}")


def _check_memories(
    resolved: Resolved, architecture: Architecture, place: Place, faults: Faults
) -> None:
    for memory in (m for m in architecture.memories if m.hollow):
        slot: Slot = ("temporal", memory.name)
        if prod(resolved.loops[slot].factors.values()) > 1:
            faults.add(
                _where(resolved, slot, place),
                f"puts loops at {memory.name}, which holds no tensor; move them to the next memory",
            )
        kept = resolved.given.get(("dataspace", memory.name))
        if kept is not None and kept.keep:
            faults.add(kept.place, f"keeps {', '.join(kept.keep)} at {memory.name}, of size 0")
    held = {t for level in architecture.levels for t in resolved.keeps[level.name]}
    for tensor in (t for t in TENSORS if t not in held):
        faults.add(place, f"no memory keeps {tensor}")


def _check_utilization(
    resolved: Resolved, limit: Directive, architecture: Architecture, faults: Faults
) -> None:
    used, there = used_multipliers(resolved), architecture.multipliers
    if used < limit.least * there:
        faults.add(
            limit.place,
            f"needs a share of {limit.least:g} of the multipliers in use; the mapping "
            f"uses {used} of {there}",
        )


def _check_tensors(resolved: Resolved, slot: Slot, limit: Directive, faults: Faults) -> None:
    keeps = resolved.keeps.get(slot[1])
    if keeps is None:
        return
    for tensor in TENSORS:
        if tensor in limit.keep and tensor not in keeps:
            faults.add(limit.place, f"needs {tensor} kept at {slot[1]}; the mapping bypasses it")
        if tensor in limit.bypass and tensor in keeps:
            faults.add(limit.place, f"needs {tensor} to bypass {slot[1]}; the mapping keeps it")


def _check_loops(loops: Loops, slot: Slot, limit: Directive, faults: Faults) -> None:
    for factor in limit.factors:
        has = loops.factors[factor.dim]
        if not factor.allows(has):
            faults.add(
                factor.place,
                f"needs {factor.dim}{factor.sign}{factor.value} at {slot[1]}; "
                f"the mapping has {factor.dim}={has}",
            )
    busy = [dim for dim in loops.permutation if loops.factors[dim] > 1]
    if limit.permutation:
        # the constraint names the innermost loops; loops of one step can stand anywhere
        wanted = [dim for dim in limit.permutation if dim in busy]
        if busy[: len(wanted)] != wanted:
            faults.add(
                limit.place,
                f"needs the loops at {slot[1]}, from the innermost, as {' '.join(wanted)}; "
                f"the mapping has {' '.join(busy)}",
            )
    for tensor in limit.no_reuse:
        if tensor not in loops.no_reuse:
            faults.add(limit.place, f"needs no reuse of {tensor} below {slot[1]}")
    if slot[0] == "spatial" and limit.split is not None:
        _check_split(loops, slot, limit, limit.split, faults)


def _check_split(loops: Loops, slot: Slot, limit: Directive, split: int, faults: Faults) -> None:
    """Each dimension of the constraint's order must be on its side of the split."""
    order = limit.permutation or ()
    if not order and 0 < split < len(loops.permutation) and split != loops.split:
        faults.add(limit.place, f"needs a split of {split}; the mapping has {loops.split}")
        return
    sides = {dim: "X" if i < split else "Y" for i, dim in enumerate(order)}
    if split == 0 or split >= len(loops.permutation):
        side = "Y" if split == 0 else "X"
        sides = {**dict.fromkeys(loops.permutation, side), **sides}
    for axis in "XY":
        for dim, factor in loops.along(axis).items():
            if factor > 1 and sides.get(dim, axis) != axis:
                faults.add(
                    limit.place,
                    f"needs {dim} along {sides[dim]} of {slot[1]}; the mapping has it along {axis}",
                )
