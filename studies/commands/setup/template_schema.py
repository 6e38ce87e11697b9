"""JSON schema of hardware templates, made from what their reader and the hardware say of each key.

Which keys there are, and which are needed, is what the reader has; meanings and defaults are those
of :class:`~archloom.space.hardware.Hardware` and its parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from inspect import getdoc
from math import isfinite
from typing import Any, Final, get_args

from archloom.evaluators.technology import technology, technology_names
from archloom.space.design_space import TEMPLATE_KEYS
from archloom.space.hardware import (
    DRAM_CHOICES,
    EFFECT_CHOICES,
    PLAIN,
    AccessEnergy,
    DramTiming,
    Effects,
    Hardware,
    Storage,
    StorageLevel,
)
from archloom.space.workload import DIMS, TENSORS

from .docstrings import attributes

Form = dict[str, Any]

_EXPRESSION: Final[Form] = {"type": "string", "pattern": "^="}
_ANY: Final[Form] = {"anyOf": [{"type": "number"}, _EXPRESSION]}
_ABOVE_0: Final[Form] = {"type": "number", "exclusiveMinimum": 0}
_POSITIVE: Final[Form] = {"anyOf": [_ABOVE_0, _EXPRESSION]}
_ENERGY: Final[Form] = {"anyOf": [{"type": "number", "minimum": 0}, _EXPRESSION]}
_AMOUNT: Final[Form] = {"type": ["number", "string"]}
_TEXT: Final[Form] = {"type": "string", "minLength": 1}
_PAIR: Final[Form] = {"type": "array", "items": _POSITIVE, "minItems": 2, "maxItems": 2}
_TENSORS: Final[Form] = {"type": "array", "items": {"enum": list(TENSORS)}, "uniqueItems": True}
_DIMS: Final[Form] = {"type": "array", "items": {"enum": list(DIMS)}, "uniqueItems": True}

#: what parameters, definitions, rules and marks are; no class of the hardware knows them
_MEANINGS: Final = {
    "description": "description of the template",
    "parameters": "parameters that the search chooses, by name",
    "define": "named values: numbers, or expressions over parameters and earlier definitions",
    "assumptions": "values that no source gives, by key path (levels by name), each with its "
    "reason; they change no result. `archloom hardware NAME --sensitivity` shows how much each "
    "decides",
    "rules": "rules that every design must satisfy; a design that violates one is infeasible",
    "values": "allowed values, ascending; text values are categories",
    "low": "smallest value, as an alternative to `values`",
    "high": "largest value, as an alternative to `values`",
    "step": "difference between values, for scale `linear`",
    "scale": "`pow2`: each value is twice the one before, and the search uses logarithms; "
    "`linear`: equal steps",
    "when": "condition, as an expression; if it is false, the parameter or level does not exist",
    "needed": "required amount, as a number or an expression; the rule holds if it is at most "
    "`available`",
    "available": "available amount, as a number or an expression",
    "unit": "unit of both amounts, for error messages; may be empty",
    "hint": "how to fix a violation, for error messages",
    "reason": "why the value is this one",
    "product_with": "key path of a value whose product with this one a source gives: it goes the "
    "other way when this one is varied",
}

#: keys whose examples no default shows
_EXAMPLES: Final[dict[str, Any]] = {
    "description": "Sixteen PEs below one buffer.",
    "technology": "cacti_45nm",
    "dram": "lpddr4",
    "parameters": {"pes": {"values": [4, 8, 16], "scale": "pow2"}},
    "define": {"word_bytes": 2, "spad_bytes": "= 64 * word_bytes"},
    "rules": [
        {
            "name": "max_pes",
            "needed": "= pes",
            "available": 8,
            "unit": "PEs",
            "hint": "use fewer PEs",
        }
    ],
    "frequency_mhz": 200,
    "word_bits": "= 8 * word_bytes",
    "pe_mesh": ["= pes", 1],
    "array": [16, 16],
    "vector_lanes": "= pes",
    "native_batch": 4,
    "mac_pj": 0.5,
    "mac_bits": 8,
    "effects": {"fill_drain": "overlapped"},
    "assumptions": {"levels.spad.bandwidth_words": "a word for each operand in a cycle"},
    "name": "spad",
    "storage": "register",
    "keeps": ["weights", "inputs"],
    "mesh": ["= pes", 1],
    "bandwidth_words": 4,
    "capacity_bytes": {"weights": 64, "inputs": 32, "outputs": 32},
    "width_words": 8,
    "spatial_x": ["K"],
    "spatial_y": ["C", "R", "S"],
    "optional": True,
    "when": "= pes > 4",
    "read_bandwidth_words": 2,
    "write_bandwidth_words": 1,
    "multiple_buffering": 2,
    "cluster_size": 4,
    "multicast": ["weights"],
    "tensor_bits": {"outputs": 32},
    "energy": {"read_pj": 1.2, "fill_pj": 1.3, "update_pj": 1.3},
    "timing": {"device": "ddr4_3200_x8", "channels": 2},
    "values": [4, 8, 16],
    "low": 4,
    "high": 16,
    "step": 4,
    "needed": "= pes",
    "available": 8,
    "unit": "PEs",
    "hint": "use fewer PEs",
    "reason": "the PEs are a square",
    "product_with": "define.pes_y",
}


def template_schema() -> Form:
    """Return the JSON schema of a hardware template."""
    by_name = {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}}
    return (
        _section("template", Hardware)
        | {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Archloom hardware template",
        }
        | {
            "$defs": {
                "level": _section("level", StorageLevel),
                "parameter": _section("parameter", None),
                "rule": _section("rule", None),
                "assumption": _section("assumption", None),
                "parameters": by_name | {"additionalProperties": {"$ref": "#/$defs/parameter"}},
            }
        }
    )


def _section(name: str, kind: type | None) -> Form:
    """Return the schema of a section by the keys that the reader knows."""
    keys = TEMPLATE_KEYS[name]
    about = _MEANINGS | (attributes(getdoc(kind) or "") if kind else {})
    defaults = _defaults(kind) if kind else {}
    forms = _forms()
    properties = {}
    for key in (*keys["required"], *keys["optional"]):
        said = {"description": about[key]} if key in about else {}
        default = {"default": defaults[key]} if key in defaults else {}
        example = {"examples": [_EXAMPLES[key]]} if key in _EXAMPLES else {}
        properties[key] = said | forms[key] | default | example
    return _object(properties, keys["required"])


def _forms() -> dict[str, Form]:
    """Return what a key may hold, for all keys of all sections."""
    by_tensor = _object(dict.fromkeys(TENSORS, _POSITIVE))
    energies = attributes(getdoc(AccessEnergy) or "")
    needed = [f.name for f in fields(AccessEnergy) if f.default is MISSING]
    energy = {f.name: {"description": energies[f.name]} | _ENERGY for f in fields(AccessEnergy)}
    switches = attributes(getdoc(Effects) or "")
    effects = {
        name: {
            "description": switches[name],
            "anyOf": [{"enum": list(known)}, _EXPRESSION],
            "default": getattr(PLAIN, name),
        }
        for name, known in EFFECT_CHOICES.items()
    }
    drams = sorted({dram for name in technology_names() for dram in technology(name).drams})
    numbers = ("frequency_mhz", "word_bits", "vector_lanes", "native_batch", "mac_bits")
    of_level = ("bandwidth_words", "width_words", "read_bandwidth_words", "write_bandwidth_words")
    return {
        **dict.fromkeys(("description", "name", "hint", "when", "reason", "product_with"), _TEXT),
        "unit": {"type": "string"},
        **dict.fromkeys(("needed", "available"), _AMOUNT),
        "values": {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1},
        **dict.fromkeys(("low", "high", "step"), _ABOVE_0),
        "scale": {"enum": ["linear", "pow2"], "default": "linear"},
        "technology": {"enum": technology_names()},
        "dram": {"enum": drams},
        "parameters": {"$ref": "#/$defs/parameters"},
        "define": {"type": "object", "additionalProperties": _ANY},
        "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
        "levels": {"type": "array", "items": {"$ref": "#/$defs/level"}, "minItems": 1},
        "assumptions": {
            "type": "object",
            "additionalProperties": {"anyOf": [_TEXT, {"$ref": "#/$defs/assumption"}]},
        },
        **dict.fromkeys((*numbers, *of_level, "multiple_buffering", "cluster_size"), _POSITIVE),
        "mac_pj": _ENERGY,
        **dict.fromkeys(("pe_mesh", "array", "mesh"), _PAIR),
        "effects": _object(effects),
        **dict.fromkeys(("keeps", "multicast"), _TENSORS),
        **dict.fromkeys(("spatial_x", "spatial_y"), _DIMS),
        "storage": {"anyOf": [{"enum": list(get_args(Storage))}, _EXPRESSION]},
        "optional": {"type": "boolean"},
        "capacity_bytes": {"anyOf": [_POSITIVE, by_tensor]},
        "tensor_bits": by_tensor,
        "energy": _object(energy, needed),
        "timing": _timing(),
    }


def _timing() -> Form:
    """Return what ``timing`` of a level may hold."""
    about, defaults = attributes(getdoc(DramTiming) or ""), _defaults(DramTiming)
    properties = {}
    for field in fields(DramTiming):
        name = field.name
        named = [{"enum": list(DRAM_CHOICES[name])}, _EXPRESSION] if name in DRAM_CHOICES else []
        form = {"anyOf": named} if named else _POSITIVE
        default = {"default": defaults[name]} if name in defaults else {}
        properties[name] = {"description": about[name]} | form | default
    return _object(properties, ("device",))


def _object(properties: Mapping[str, Form], required: Iterable[str] = ()) -> Form:
    found = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return found | ({"required": list(required)} if list(required) else {})


def _defaults(kind: Any) -> dict[str, Any]:
    """Return the defaults that a file could say itself."""
    given = {f.name: f.default for f in fields(kind) if f.default is not MISSING}
    # an array of one MAC, where the file has none
    plain: dict[str, Any] = {"array": [1, 1]} if kind is Hardware else {}
    for name, value in given.items():
        if isinstance(value, bool | str) or (isinstance(value, int | float) and isfinite(value)):
            plain[name] = value
        elif isinstance(value, tuple) and value:
            plain[name] = list(value)
    return plain
