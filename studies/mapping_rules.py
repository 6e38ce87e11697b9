"""Constraints on mappings in study files and in files of their own."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, core_schema

from ..space.constraints_reader import ConstraintsError, Fault, constraints_data, read_constraints
from ..space.infeasible import Infeasible
from ..space.mapping_constraints import UNCONSTRAINED, MappingConstraints
from .config_errors import ConfigError, Problem, dotted, read_document

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

    from ..space.hardware_space import HardwareSpace


class Readable:
    """Lets a section of a study file be constraints, and be written as it was read."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: type, _handler: "GetCoreSchemaHandler"
    ) -> core_schema.CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(constraints_data)
        return core_schema.no_info_plain_validator_function(_read, serialization=dump)


def _read(data: Any) -> MappingConstraints:
    if isinstance(data, MappingConstraints):
        return data
    try:
        return read_constraints(data)
    except ConstraintsError as error:
        raise refused(error.faults, data) from None


def refused(faults: Iterable[Fault], data: Any) -> ValidationError:
    """Return the error of a section whose faults stand below it."""
    wrong: list[InitErrorDetails] = [
        {"type": "value_error", "loc": keys, "input": data, "ctx": {"error": message}}
        for keys, message in faults
    ]
    return ValidationError.from_exception_data("constraints", wrong)


def unfit(constraints: MappingConstraints, space: "HardwareSpace") -> list[Fault]:
    """Return what no design of a space can obey, but for meshes, which designs differ in."""
    levels = {level.name: level for level in space.levels}
    found: list[Fault] = [
        (("levels", name), f"is no level of {space.name}; {near}")
        for name, near in constraints.unknown_levels(levels)
    ]
    for rules in constraints.levels:
        if rules.level in levels:
            wrong = rules.misfits(levels[rules.level])
            found += [(("levels", rules.level, key), message) for key, _, message in wrong]
    if found or constraints == UNCONSTRAINED:
        return found
    return [((), str(broken)) for broken in _contradictions(constraints, space)]


def _contradictions(
    constraints: MappingConstraints, space: "HardwareSpace"
) -> Iterator[Infeasible]:
    """Yield orders that the dataflow does not permit in the first design."""
    from ..evaluators.constraint_arrays import conflicts

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
    document = read_document(path, path.read_text(encoding="utf-8"))
    problems = document.problems
    try:
        found = read_constraints(document.data)
    except ConstraintsError as error:
        problems = problems + [
            Problem(document.line(keys), dotted(keys), message) for keys, message in error.faults
        ]
    if problems:
        raise ConfigError(path, problems)
    return found
