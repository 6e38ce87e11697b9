"""Optional switches of a template: ports, buffering, word widths, energies, effects."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from archloom.space.hardware import (
    DRAM_CHOICES,
    DRAM_COUNTS,
    EFFECT_CHOICES,
    AccessEnergy,
    DramTiming,
    Effects,
)
from archloom.space.workload import TENSORS, Tensor

from ..errors import whole_fault
from .expression import Expression, Value

Field = Value | Expression
Names = Mapping[str, Value]
Fields = tuple[tuple[str, Field], ...]

#: numbers of a level that are whole, and the others
WHOLE: Final = ("cluster_size",)
NUMBERS: Final = (
    "read_bandwidth_words",
    "write_bandwidth_words",
    "multiple_buffering",
    *WHOLE,
)
#: keys of a level, beside the numbers
_LEVEL_KEYS: Final = (*NUMBERS, "multicast", "tensor_bits", "energy", "timing")
ENERGY_KEYS: Final = tuple(field.name for field in fields(AccessEnergy))
TIMING_KEYS: Final = tuple(field.name for field in fields(DramTiming))
EFFECT_KEYS: Final = tuple(EFFECT_CHOICES)

#: keys of a level, of a parameter and of a rule
LEVEL: Final = {
    "required": ("name", "storage", "keeps", "mesh", "bandwidth_words"),
    "optional": (
        *("capacity_bytes", "width_words", "spatial_x", "spatial_y", "optional", "when"),
        *_LEVEL_KEYS,
    ),
}
PARAMETER: Final = {"required": (), "optional": ("values", "low", "high", "step", "scale", "when")}
RULE: Final = {"required": ("name", "needed", "available", "unit", "hint"), "optional": ()}


@dataclass(frozen=True, slots=True)
class LevelSwitches:
    """Optional fields of a level that the template gives; see StorageLevel for their meaning.

    ``numbers``, ``tensor_bits``, ``energy`` and ``timing`` are (name, field) pairs; None where a
    default stands.
    """

    numbers: Fields = ()
    multicast: tuple[Tensor, ...] = TENSORS
    tensor_bits: Fields = ()
    energy: Fields | None = None
    timing: Fields | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields that are given."""
        pairs = (*self.numbers, *self.tensor_bits, *(self.energy or ()), *(self.timing or ()))
        return tuple(field for _, field in pairs)

    def arguments(self, names: Names) -> dict[str, Any]:
        """Return them as arguments of a StorageLevel, for the given values of the names.

        Raises:
            ValueError: a value that its field cannot have.
        """
        made: dict[str, Any] = {key: _amount(key, field, names) for key, field in self.numbers}
        made["multicast"] = self.multicast
        made["tensor_bits"] = tuple(
            (cast(Tensor, tensor), int(_amount("tensor_bits", field, names, whole=True)))
            for tensor, field in self.tensor_bits
        )
        if self.energy is not None:
            made["energy"] = AccessEnergy(
                **{key: float(_amount(key, field, names)) for key, field in self.energy}
            )
        if self.timing is not None:
            made["timing"] = DramTiming(**{k: _timing_value(k, f, names) for k, f in self.timing})
        return made


NO_SWITCHES: Final = LevelSwitches()


def effects_of(given: Fields, names: Names) -> Effects:
    """Return the effects for the given values of the names; raises ValueError as Effects does."""
    return Effects(**{key: cast(Any, _value(field, names)) for key, field in given})


def timing_fault(key: str, field: Field) -> str:
    """Say what is wrong with a number of ``timing`` that is no expression; empty if nothing is."""
    most = DRAM_COUNTS.get(key)
    if most is None or isinstance(field, Expression):
        return ""
    whole = isinstance(field, float) and field.is_integer()
    return whole_fault("this", int(field) if whole else field, 1, most).removeprefix("this ")


def _value(field: Field, names: Names) -> Value:
    return field.evaluate(names) if isinstance(field, Expression) else field


def _timing_value(key: str, field: Field, names: Names) -> Any:
    return _value(field, names) if key in DRAM_CHOICES else _amount(key, field, names, whole=True)


def _amount(key: str, field: Field, names: Names, whole: bool = False) -> float | int:
    value = _value(field, names)
    if isinstance(value, str):
        raise ValueError(f"{key}: must be a number, got {value!r}")
    if (whole or key in WHOLE) and not float(value).is_integer():
        raise ValueError(f"{key}: must be a whole number, got {value}")
    return int(value) if whole or key in WHOLE else value
