"""Constraints on mappings in study files and in files of their own."""

from collections.abc import Iterator
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.space import Fault, Faults, Infeasible, Place
from archloom.space.mapping import (
    DATAFLOWS,
    UNCONSTRAINED,
    ConstraintsError,
    LevelConstraints,
    MappingConstraints,
    constraints_data,
    read_constraints,
)
from archloom.space.workload import DIMS, TENSORS

from ..errors import ConfigError, EntryError, read_document
from ..sections import Form, Key, Reading

if TYPE_CHECKING:
    from archloom.space.design_space import HardwareSpace


def _read(data: Any, _: Reading) -> MappingConstraints:
    if isinstance(data, MappingConstraints):
        return data
    try:
        return read_constraints(data)
    except ConstraintsError as error:
        raise EntryError(error.faults) from None


def _form() -> Form:
    number = {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["any"]}]}
    dims = {"type": "array", "items": {"enum": list(DIMS)}}
    unrolled = {
        "type": "object",
        "properties": dict.fromkeys(DIMS, number),
        "additionalProperties": False,
    }
    order = {"type": "string", "pattern": f"^[{''.join(DIMS)}]+$", "examples": ["RS"]}
    tensors = {"type": "array", "items": {"enum": list(TENSORS)}}
    level = {
        "type": "object",
        "description": getdoc(LevelConstraints) or "",
        "properties": {
            "unroll_x": {"anyOf": [dims, unrolled]},
            "unroll_y": {"anyOf": [dims, unrolled]},
            "orders": {"anyOf": [order, {"type": "array", "items": order}]},
            "keep": tensors,
            "bypass": tensors,
        },
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": getdoc(MappingConstraints) or "",
        "properties": {
            "dataflow": {"enum": list(DATAFLOWS), "default": "any"},
            "both_axes": {"type": "boolean", "default": True},
            "levels": {"type": "object", "additionalProperties": level},
        },
        "additionalProperties": False,
    }


#: the key that holds constraints
CONSTRAINTS: Final = Key(_read, constraints_data, form=_form).like(
    {"dataflow": "output_stationary", "levels": {"l2": {"unroll_x": {"K": 16}, "orders": ["PQ"]}}}
)


def unfit(constraints: MappingConstraints, space: "HardwareSpace") -> Faults:
    """Return what no design of a space can obey, but for meshes, which designs differ in."""
    found, top = Faults(), Place()
    levels = {level.name: level for level in space.levels}
    for name, near in constraints.unknown_levels(levels):
        found.add(top.key("levels").key(name), f"is no level of {space.name}; {near}")
    for rules in constraints.levels:
        if rules.level in levels:
            for key, message in rules.misfits(levels[rules.level]):
                found.add(top.key("levels").key(rules.level).key(key), message)
    if not found and constraints != UNCONSTRAINED:
        for broken in _contradictions(constraints, space):
            found.add(top, str(broken))
    return found


def _contradictions(
    constraints: MappingConstraints, space: "HardwareSpace"
) -> Iterator[Infeasible]:
    """Yield orders that the dataflow does not permit in the first design."""
    from archloom.evaluators.loopnest import conflicts

    design = space.build({p.name: p.values[0] for p in space.parameters})
    if not isinstance(design, Infeasible):
        names = [level.name for level in design.levels]
        found = conflicts(constraints.within(names), design)
        yield from (broken for broken in found if broken.reason == "orders_constraint")


def read_constraints_file(path: Path) -> MappingConstraints:
    """Return the constraints of a YAML file, which holds what ``software.constraints`` may hold.

    Raises:
        ConfigError: everything that is wrong in it.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    faults = Faults()
    document = read_document(path, path.read_text(encoding="utf-8"), faults)
    try:
        found = read_constraints(document.data)
    except ConstraintsError as error:
        faults.include(
            Fault(document.place(fault.place.keys), fault.message) for fault in error.faults
        )
    if faults:
        raise ConfigError(path, faults)
    return found
