"""Hardware template: storage levels and rules whose numbers are expressions over parameters.

:mod:`archloom.space.design_space.template_reader` reads templates from YAML.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field as dataclass_field, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args

from archloom.space.workload import Dim, Tensor

from ..errors import Infeasible, did_you_mean
from .assumptions import AssumedValue, Assumption, assumed_values
from .expression import Expression, ExpressionError, Value
from .parameter import Parameter
from .template_fields import NO_SWITCHES, Fields, LevelSwitches, effects_of

if TYPE_CHECKING:
    from archloom.space.hardware import Hardware, Pair, Storage, StorageLevel

#: whole numbers up to here are exact as floating point, too
_LARGEST = 2**53

_OPERANDS: Final[tuple[Tensor, Tensor]] = ("weights", "inputs")

#: parts of each kind that are remembered
_PARTS_KEPT: Final = 1024

Built = TypeVar("Built")

Field = Value | Expression
Names = Mapping[str, Value]


class TemplateError(ValueError):
    """Everything that is wrong with a template, each with its file and key path.

    Attributes:
        errors: one sentence for each fault.
    """

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(self.errors))


def value_of(field: Field, names: Names) -> Value:
    """Return the value of a field: itself, or what its expression gives."""
    return field.evaluate(names) if isinstance(field, Expression) else field


def _number(field: Field, names: Names) -> float:
    value = value_of(field, names)
    if isinstance(value, str):
        raise ExpressionError(f"{_shown(field, value)} must be a number")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ExpressionError(f"whole numbers must be at most {_LARGEST}")
    return value


def _integer(field: Field, names: Names) -> int:
    value = _number(field, names)
    if not float(value).is_integer():
        raise ExpressionError(f"{_shown(field, value)} must be a whole number")
    return int(value)


def _shown(field: Field, value: Value) -> str:
    return f"{field.source!r} = {value!r}" if isinstance(field, Expression) else repr(value)


def _storage(field: Field, names: Names) -> "Storage":
    from archloom.space.hardware import Storage

    value = value_of(field, names)
    if value not in get_args(Storage):
        hint = did_you_mean(str(value), get_args(Storage))
        raise ExpressionError(f"storage {value!r} is not known; {hint}")
    return cast("Storage", value)


def missing_hint(key: str, section: Mapping[str, Any]) -> str:
    """Say what a key that is missing would be, where people may not know it."""
    if key != "vector_lanes":
        return ""
    about = "operations a cycle of the unit for pooling, activations and softmax"
    mesh = section.get("pe_mesh")
    if not isinstance(mesh, list) or not mesh or not isinstance(mesh[0], int | str):
        return f": {about}"
    return f": {about}; {json.dumps(mesh[0])} is one for each column of PEs"


@dataclass(frozen=True, slots=True)
class LevelTemplate:
    """A storage level; see :class:`archloom.space.hardware.hardware.StorageLevel` for the fields.

    ``capacity_bytes`` is None for DRAM, one field, or (tensor, field) pairs. The level is
    there when ``when`` holds.
    """

    name: str
    storage: Field
    keeps: tuple[Tensor, ...]
    mesh: tuple[Field, Field]
    capacity_bytes: Field | tuple[tuple[Tensor, Field], ...] | None
    bandwidth_words: Field
    width_words: Field
    spatial_x: tuple[Dim, ...]
    spatial_y: tuple[Dim, ...]
    optional: bool
    when: Expression | None
    switches: LevelSwitches = NO_SWITCHES

    @property
    def names(self) -> tuple[str, ...]:
        """Names that any of its expressions reads."""
        return tuple(sorted({*_names_in(*self.mesh), *self.names_beside_mesh}))

    @property
    def names_beside_mesh(self) -> tuple[str, ...]:
        """Names that all but its mesh depends on."""
        capacity = self.capacity_bytes
        by_tensor = [f for _, f in capacity] if isinstance(capacity, tuple) else [capacity]
        numbers = [*by_tensor, self.bandwidth_words, self.width_words]
        return _names_in(self.storage, *numbers, self.when, *self.switches.fields)

    def mesh_at(self, names: Names) -> "Pair":
        """Return the mesh for the given values.

        Raises:
            ValueError: a side that is no whole number.
        """
        return _integer(self.mesh[0], names), _integer(self.mesh[1], names)

    def build(self, names: Names) -> "StorageLevel | None":
        """Return the level for the given values; None where it is left out.

        Raises:
            ValueError: a value that no level can have.
        """
        if self.when is not None and not self.when.evaluate(names):
            return None
        from archloom.space.hardware import StorageLevel

        return StorageLevel(
            name=self.name,
            storage=_storage(self.storage, names),
            keeps=self.keeps,
            mesh=self.mesh_at(names),
            capacity_bytes=self._capacity(names),
            bandwidth_words=_number(self.bandwidth_words, names),
            width_words=_integer(self.width_words, names),
            spatial_x=self.spatial_x,
            spatial_y=self.spatial_y,
            optional=self.optional,
            **self.switches.arguments(names),
        )

    def _capacity(self, names: Names) -> int | tuple[tuple[Tensor, int], ...] | None:
        if self.capacity_bytes is None:
            return None
        if isinstance(self.capacity_bytes, tuple):
            return tuple((tensor, _integer(f, names)) for tensor, f in self.capacity_bytes)
        return _integer(self.capacity_bytes, names)


def _names_in(*fields: Field | None) -> tuple[str, ...]:
    """Return the names that any of some fields reads."""
    return tuple(sorted({n for f in fields if isinstance(f, Expression) for n in f.names}))


def _remembering(
    read: tuple[str, ...], build: Callable[[Names], Built]
) -> Callable[[Names], Built]:
    """Return what builds a part of a hardware from the values with these names; where it reads the
    same values again it is the same object.

    Designs have many parts in common: to build them takes half of the time of a design's first
    bound.
    """

    # 4 and 4.0 are shown differently
    @lru_cache(maxsize=_PARTS_KEPT, typed=True)
    def built(*values: Value) -> Built:
        return build(dict(zip(read, values, strict=True)))

    return lambda names: built(*[names[name] for name in read])


def _level_builder(level: LevelTemplate) -> "Callable[[Names], StorageLevel | None]":
    """Return what builds a level: by :meth:`StorageLevel.with_mesh` where only its mesh is new, and
    else there are few that differ.
    """
    mesh_at = _remembering(_names_in(*level.mesh), level.mesh_at)
    # what was built last with the same values, in a list that holds nothing where that failed
    last: Callable[[Names], list[StorageLevel | None]]
    last = _remembering(level.names_beside_mesh, lambda _: [])

    def build(names: Names) -> "StorageLevel | None":
        found = last(names)
        if not found:
            found.append(level.build(names))
        if (built := found[0]) is None:
            return None
        mesh = mesh_at(names)
        return built if built.mesh == mesh else built.with_mesh(mesh)

    return _remembering(level.names, build)


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit on the points of a space: ``needed`` may not exceed ``available``."""

    name: str
    needed: Field
    available: Field
    unit: str
    hint: str

    def broken(self, names: Names) -> Infeasible | None:
        """Return the record of a point that breaks the rule, or None."""
        needed, available = _number(self.needed, names), _number(self.available, names)
        if needed <= available:
            return None
        read = self.needed.names if isinstance(self.needed, Expression) else ()
        where = ", ".join(f"{name} = {names[name]}" for name in read)
        return Infeasible(self.name, where, needed, available, self.unit, self.hint)


@dataclass(frozen=True)
class Template:
    """A family of hardware: parameters, definitions over them, rules, and the parts.

    Attributes:
        name: its name in the catalogue, or that of the user's file.
        file: where it was read from, for messages.
        parameters: in the order of the file.
        define: (name, field) of values that the file derives, in order.
        lines: of definitions, rules and levels in the file, by key path; for messages.
        marks: values that no source gives, of which nothing of the hardware depends.
        content: of the file, as plain values.
    """

    name: str
    file: str
    parameters: tuple[Parameter, ...]
    define: tuple[tuple[str, Field], ...]
    rules: tuple[Rule, ...]
    technology: str
    dram: str
    frequency_mhz: Field
    word_bits: Field
    pe_mesh: tuple[Field, Field]
    array: tuple[Field, Field]
    vector_lanes: Field
    native_batch: Field
    levels: tuple[LevelTemplate, ...]
    mac_pj: Field | None = None
    effects: Fields = ()
    mac_bits: Field | None = None
    lines: Mapping[str, int] = dataclass_field(default_factory=dict, compare=False)
    marks: tuple[Assumption, ...] = dataclass_field(default=(), compare=False)
    content: Mapping[str, Any] = dataclass_field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is remembered behind."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _builders(self) -> "tuple[Callable[[Names], StorageLevel | None], ...]":
        """What builds each level."""
        return tuple(_level_builder(level) for level in self.levels)

    @cached_property
    def _broken(self) -> tuple[Callable[[Names], Infeasible | None], ...]:
        """What says whether a point breaks each rule."""
        return tuple(
            _remembering(_names_in(rule.needed, rule.available), rule.broken) for rule in self.rules
        )

    @cached_property
    def _beside_levels(self) -> Callable[[Names], dict[str, Any]]:
        """What gives all other fields of the hardware that are expressions."""
        numbers = (self.frequency_mhz, self.word_bits, *self.pe_mesh, *self.array)
        counts = (self.vector_lanes, self.native_batch, self.mac_pj, self.mac_bits)
        others = (field for _, field in self.effects)
        return _remembering(_names_in(*numbers, *counts, *others), self._other_fields)

    def build(self, values: Mapping[str, Value], label: str) -> "Hardware | Infeasible":
        """Return the hardware called ``label`` for one value of each parameter.

        Raises:
            TemplateError: the template has no hardware there and no rule says so.
        """
        names = dict(values)
        where = ""
        try:
            for name, field in self.define:
                where = f"define.{name}"
                names[name] = value_of(field, names)
            for i, broken in enumerate(self._broken):
                where = f"rules[{i}]"
                if (infeasible := broken(names)) is not None:
                    return infeasible
            levels = []
            for i, level in enumerate(self._builders):
                where = f"levels[{i}]"
                if (built := level(names)) is not None:
                    levels.append(built)
            where = "design"
            return self._hardware(names, label, tuple(levels))
        except ValueError as error:
            line = f"line {self.lines[where]}: " if where in self.lines else ""
            raise TemplateError([f"{self.file}: {line}{where} of {label}: {error}"]) from error

    def word_width(self, values: Mapping[str, Value]) -> int:
        """Return the bits of a word for one value of each parameter, whatever the rules say."""
        return _integer(self.word_bits, self._names(values))

    def assumed(self, values: Mapping[str, Value]) -> tuple[AssumedValue, ...]:
        """Return the marked values of the design with one value of each parameter."""
        return assumed_values(self.marks, self.content, self._names(values))

    def _names(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return values of parameters with those of the definitions."""
        names = dict(values)
        for name, field in self.define:
            names[name] = value_of(field, names)
        return names

    @cached_property
    def width_names(self) -> frozenset[str]:
        """Names of the parameters that :meth:`operand_widths` depends on."""
        levels = [
            field for v in self.levels for field in (v.when, *dict(v.switches.tensor_bits).values())
        ]
        known = {name: _names_in(field) for name, field in self.define}
        known |= {p.name: p.when.names if p.when else () for p in self.parameters}
        found: set[str] = set()
        waiting = list(_names_in(self.word_bits, self.mac_bits, *levels))
        while waiting:
            if (name := waiting.pop()) not in found:
                found.add(name)
                waiting += known[name]
        return frozenset(p.name for p in self.parameters if p.name in found)

    def operand_widths(self, values: Mapping[str, Value]) -> "Pair":
        """Return :attr:`archloom.space.hardware.Hardware.operand_widths` for one value of each
        parameter, whatever the rules say.
        """
        names = self._names(values)
        word = _integer(self.word_bits, names)
        operand = word if self.mac_bits is None else _integer(self.mac_bits, names)
        there = [v for v in self.levels if v.when is None or v.when.evaluate(names)]
        own = [(v.keeps, dict(v.switches.tensor_bits)) for v in there]
        weights, inputs = (
            min(_integer(bits.get(tensor, word), names) for keeps, bits in own if tensor in keeps)
            for tensor in _OPERANDS
        )
        return min(weights, operand), min(inputs, operand)

    def _hardware(self, names: Names, label: str, levels: "tuple[StorageLevel, ...]") -> "Hardware":
        from archloom.space.hardware import Hardware

        return Hardware(
            name=label,
            technology=self.technology,
            levels=levels,
            dram=self.dram,
            **self._beside_levels(names),
        )

    def _other_fields(self, names: Names) -> dict[str, Any]:
        """Return the fields of the hardware that are expressions, levels aside."""

        def pair(fields: tuple[Field, Field]) -> "Pair":
            return (_integer(fields[0], names), _integer(fields[1], names))

        return {
            "frequency_mhz": _number(self.frequency_mhz, names),
            "word_bits": _integer(self.word_bits, names),
            "pe_mesh": pair(self.pe_mesh),
            "array": pair(self.array),
            "vector_lanes": _integer(self.vector_lanes, names),
            "native_batch": _integer(self.native_batch, names),
            "mac_pj": None if self.mac_pj is None else _number(self.mac_pj, names),
            "effects": effects_of(self.effects, names),
            "mac_bits": None if self.mac_bits is None else _integer(self.mac_bits, names),
        }
