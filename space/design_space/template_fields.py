"""Optional switches of a template: ports, buffering, word widths, energies, effects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from archloom.space.hardware import EFFECT_CHOICES, AccessEnergy, Effects
from archloom.space.workload import TENSORS, Tensor

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
LEVEL_KEYS: Final = (*NUMBERS, "multicast", "tensor_bits", "energy")
ENERGY_KEYS: Final = tuple(field.name for field in fields(AccessEnergy))
EFFECT_KEYS: Final = tuple(EFFECT_CHOICES)


@dataclass(frozen=True, slots=True)
class LevelSwitches:
    """Optional fields of a level that the template gives; see StorageLevel for their meaning.

    ``numbers``, ``tensor_bits`` and ``energy`` are (name, field) pairs; None where a default
    stands.
    """

    numbers: Fields = ()
    multicast: tuple[Tensor, ...] = TENSORS
    tensor_bits: Fields = ()
    energy: Fields | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields that are given."""
        pairs = (*self.numbers, *self.tensor_bits, *(self.energy or ()))
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
        return made


NO_SWITCHES: Final = LevelSwitches()


def effects_of(given: Fields, names: Names) -> Effects:
    """Return the effects for the given values of the names; raises ValueError as Effects does."""
    return Effects(**{key: cast(Any, _value(field, names)) for key, field in given})


def _value(field: Field, names: Names) -> Value:
    return field.evaluate(names) if isinstance(field, Expression) else field


def _amount(key: str, field: Field, names: Names, whole: bool = False) -> float | int:
    value = _value(field, names)
    if isinstance(value, str):
        raise ValueError(f"{key}: must be a number, got {value!r}")
    if (whole or key in WHOLE) and not float(value).is_integer():
        raise ValueError(f"{key}: must be a whole number, got {value}")
    return int(value) if whole or key in WHOLE else value


def missing_hint(key: str, data: Mapping[str, Any]) -> str:
    """Say what a key that is missing would be, where people may not know it."""
    if key != "vector_lanes":
        return ""
    about = "operations a cycle of the unit for pooling, activations and softmax"
    mesh = data.get("pe_mesh")
    if not isinstance(mesh, list) or not mesh or not isinstance(mesh[0], int | str):
        return f": {about}"
    return f": {about}; {json.dumps(mesh[0])} is one for each column of PEs"
