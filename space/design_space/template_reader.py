"""Reader of hardware templates in YAML, which reports everything that is wrong with one at once.

A number may be an expression over parameters and definitions: a text that starts with ``=``,
such as ``"= 2 * pe_x"``. A text in ``when``, ``needed`` or ``available`` is always one, with or
without ``=``.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, Final, cast

from archloom.space.hardware import DRAM_CHOICES, EFFECT_CHOICES
from archloom.space.workload import DIMS, TENSORS, Dim, Tensor

from ..errors import did_you_mean
from ..yaml_reader import Faults, KeyPath, Place, dotted, read_yaml, shown
from .assumptions import MARK, SECTION, read_marks
from .expression import FUNCTIONS, Expression, ExpressionError, Value, circle, parse
from .parameter import Parameter, Scale
from .template import Field, LevelTemplate, Rule, Template, TemplateError, missing_hint
from .template_changes import NO_CHANGES, Changes, changed, with_values
from .template_fields import (
    EFFECT_KEYS,
    ENERGY_KEYS,
    LEVEL,
    NUMBERS,
    PARAMETER,
    RULE,
    TIMING_KEYS,
    Fields,
    LevelSwitches,
    timing_fault,
)

_TOP: Final = {
    "required": (
        *("technology", "dram", "frequency_mhz", "word_bits", "pe_mesh", "vector_lanes", "levels"),
    ),
    "optional": (
        *("description", "parameters", "define", "rules"),
        *("array", "native_batch", "mac_pj", "mac_bits", "effects", SECTION),
    ),
}

_OTHERS: Final = {"level": LEVEL, "parameter": PARAMETER, "rule": RULE, "assumption": MARK}
TEMPLATE_KEYS: Final = {"template": _TOP, **_OTHERS}
"""Keys of a template, of one of its levels, of a parameter, of a rule and of a mark."""

_MOST_VALUES: Final = 100_000
"""Values of one parameter; more is a slip in ``step``."""
_LARGEST: Final = 1e15
"""End of a range of values; hardware has no such number, and floats have all whole ones below."""


def read_template(path: Path, changes: Changes = NO_CHANGES) -> Template:
    """Read a template from a YAML file with some values changed; it is called after the file.

    Raises:
        TemplateError: with every fault, its file and its key path.
    """
    faults = Faults()
    document = read_yaml(path, faults)
    if faults and document.data is None:
        raise TemplateError(faults.sentences)
    data = changed(document.data, changes, faults)
    template = _Reader(str(path), faults).template(data, path.stem)
    if faults:
        raise TemplateError(str(document.located(fault)) for fault in faults)
    # designs may have faults in these
    parts = [k for k in document.lines if len(k) == 2 and k[0] in ("define", "rules", "levels")]
    return replace(template, lines={dotted(k): document.lines[k] for k in parts})


def varied(template: Template, values: Mapping[KeyPath, Value]) -> Template:
    """Return a template with other values at some places of its content.

    Raises:
        TemplateError: it cannot have them.
    """
    faults = Faults()
    content = with_values(template.content, values)
    made = _Reader(template.file, faults).template(content, template.name)
    if faults:
        raise TemplateError(faults.sentences)
    return made


class _Reader:
    """Walks the data, collects errors, and goes on with a harmless value after each."""

    def __init__(self, file: str, faults: Faults) -> None:
        self._file = file
        self._top = Place(file)
        self._faults = faults
        #: names that expressions may read, with the parameter where it is one
        self._known: dict[str, Parameter | None] = {}
        #: names that the file defines, those further down with them
        self._defined: dict[str, Any] = {}

    def template(self, data: Any, name: str) -> Template:
        top = self._section(data, self._top, **_TOP)
        at = self._top.key
        parameters = self._parameters(top.get("parameters", {}))
        define = self._define(top.get("define", {}))
        levels = self._list(top.get("levels", []), at("levels"))
        rules = self._list(top.get("rules", []), at("rules"))
        self._text(top.get("description", "none"), at("description"))
        return Template(
            name=name,
            file=self._file,
            parameters=parameters,
            define=define,
            rules=tuple(self._rule(r, at("rules").item(i)) for i, r in enumerate(rules)),
            technology=self._text(top.get("technology", ""), at("technology")),
            dram=self._text(top.get("dram", ""), at("dram")),
            frequency_mhz=self._number(top.get("frequency_mhz", 1), at("frequency_mhz")),
            word_bits=self._number(top.get("word_bits", 1), at("word_bits")),
            pe_mesh=self._pair(top.get("pe_mesh", [1, 1]), at("pe_mesh")),
            array=self._pair(top.get("array", [1, 1]), at("array")),
            vector_lanes=self._number(top.get("vector_lanes", 1), at("vector_lanes")),
            native_batch=self._number(top.get("native_batch", 1), at("native_batch")),
            levels=tuple(self._level(lv, at("levels").item(i)) for i, lv in enumerate(levels)),
            mac_pj=self._number(top["mac_pj"], at("mac_pj")) if "mac_pj" in top else None,
            effects=self._effects(top.get("effects", {})),
            mac_bits=self._number(top["mac_bits"], at("mac_bits")) if "mac_bits" in top else None,
            marks=read_marks(top.get(SECTION, {}), top, at(SECTION), self._faults),
            content=top,
        )

    def _effects(self, data: Any) -> Fields:
        section = self._section(data, self._top.key("effects"), (), EFFECT_KEYS)
        at = self._top.key("effects").key
        return tuple((k, self._choice(section[k], EFFECT_CHOICES[k], at(k))) for k in section)

    def _field(self, key: str, data: Any, place: Place) -> Field:
        known = DRAM_CHOICES.get(key)
        found = self._choice(data, known, place) if known else self._number(data, place)
        if fault := timing_fault(key, found):
            self._faults.add(place, fault)
        return found

    def _choice(self, data: Any, known: tuple[str, ...], place: Place) -> Field:
        text = self._text(data, place)
        if text.startswith("="):
            return self._expression(text, place) or text
        if text not in known:
            self._faults.add(place, f"{text!r} is not known; {did_you_mean(text, known)}")
        return text

    def _section(
        self, data: Any, place: Place, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._faults.add(place, f"must be keys with values, got {data!r}")
            return {}
        known = (*required, *optional)
        for key in data:
            if key not in known:
                self._faults.add(place.key(key), f"unknown key; {did_you_mean(str(key), known)}")
        for key in required:
            if key not in data:
                self._faults.add(place.key(key), f"is missing{missing_hint(key, data)}")
        return {key: value for key, value in data.items() if key in known}

    def _named(self, data: Any, place: Place) -> dict[str, Any]:
        """Return a mapping from new names; drops names that cannot be used."""
        if not isinstance(data, dict):
            self._faults.add(place, f"must be names with values, got {data!r}")
            return {}
        good = {}
        for name, value in data.items():
            if not isinstance(name, str) or not name.isidentifier() or name in FUNCTIONS:
                self._faults.add(place.key(name), "is not a valid name; use letters, digits and _")
            elif name in self._known:
                self._faults.add(place.key(name), "is already the name of a parameter")
            else:
                good[name] = value
        return good

    def _list(self, data: Any, place: Place) -> list[Any]:
        if isinstance(data, list):
            return data
        self._faults.add(place, f"must be a list, got {data!r}")
        return []

    def _text(self, data: Any, place: Place) -> str:
        if not isinstance(data, str) or not data:
            self._faults.add(place, f"must be a text, got {data!r}")
            return "?"
        return data

    def _number(self, data: Any, place: Place) -> Field:
        if isinstance(data, str) and data.startswith("="):
            return self._expression(data, place) or 1
        if isinstance(data, bool) or not isinstance(data, int | float):
            self._faults.add(place, f"must be a number or an expression after '=', got {data!r}")
            return 1
        return data

    def _pair(self, data: Any, place: Place) -> tuple[Field, Field]:
        if not isinstance(data, list) or len(data) != 2:
            self._faults.add(place, f"must be [along x, along y], got {data!r}")
            return (1, 1)
        return (self._number(data[0], place.item(0)), self._number(data[1], place.item(1)))

    def _amount(self, data: Any, place: Place) -> Field:
        """Return a number, or the expression that a text is, with or without ``=``."""
        if isinstance(data, str):
            return self._expression(data, place) or 1
        return self._number(data, place)

    def _expression(self, data: Any, place: Place) -> Expression | None:
        if not isinstance(data, str):
            self._faults.add(place, f"must be an expression, got {data!r}")
            return None
        try:
            expression = parse(data.strip().removeprefix("="))
        except ExpressionError as error:
            self._faults.add(place, str(error))
            return None
        for name in expression.names:
            if name not in self._known:
                self._faults.add(place, self._unknown(name))
        for name, literal in expression.literals:
            parameter = self._known.get(name)
            if parameter is not None and literal not in parameter.values:
                hint = did_you_mean(literal, [str(v) for v in parameter.values])
                self._faults.add(place, f"{name} never has the value {literal!r}; {hint}")
        return expression

    def _unknown(self, name: str) -> str:
        """Say why a name cannot be read."""
        if name not in self._defined:
            return f"{name!r} is not defined; {did_you_mean(name, self._known)}"
        if round_trip := circle(self._defined, name):
            return f"{name!r} has a circular definition: {' -> '.join(round_trip)}"
        return (
            f"{name!r} is defined further down; definitions are evaluated in order, so move it up"
        )

    def _when(self, section: Mapping[str, Any], place: Place) -> Expression | None:
        if "when" not in section:
            return None
        return self._expression(section["when"], place.key("when"))

    def _parameters(self, data: Any) -> tuple[Parameter, ...]:
        made = []
        for name, spec in self._named(data, self._top.key("parameters")).items():
            place = self._top.key("parameters").key(name)
            section = self._section(spec, place, **PARAMETER)
            when = self._when(section, place)
            scale, values = self._values(section, place)
            try:
                parameter = Parameter(name, values, cast(Scale, scale), when)
            except ValueError as error:
                self._faults.add(place, str(error))
                parameter = None
            self._known[name] = parameter
            made.append(parameter)
        return tuple(p for p in made if p is not None)

    def _values(self, section: dict[str, Any], place: Place) -> tuple[str, tuple[Any, ...]]:
        """Return scale and values; after an error, values that are harmless."""
        scale = section.get("scale", "linear")
        harmless = ("linear", (1,))
        if scale not in ("linear", "pow2"):
            self._faults.add(place.key("scale"), f"{scale!r} must be linear or pow2")
            return harmless
        if "values" in section:
            if odd := [k for k in ("low", "high", "step") if k in section]:
                self._faults.add(place, f"give either values or low and high, not also {odd[0]}")
            values = self._listed(section["values"], place.key("values"))
            texts = all(isinstance(v, str) for v in values)
            return ("categorical" if texts and "scale" not in section else scale, values)
        bounds = [section.get(key) for key in ("low", "high")]
        step = section.get("step", None if scale == "linear" else 1)
        for key, value in zip(("low", "high", "step"), (*bounds, step), strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                self._faults.add(place.key(key), f"must be a number above 0, got {value!r}")
                return harmless
            if value > _LARGEST:
                about = f"must be at most {_LARGEST:g}, got {shown(value)}"
                self._faults.add(place.key(key), about)
                return harmless
        if scale == "pow2" and "step" in section:
            self._faults.add(place.key("step"), "is for scale linear; scale pow2 always doubles")
        low, high = cast(list[float], bounds)
        return scale, self._range(low, high, None if scale == "pow2" else cast(float, step), place)

    def _listed(self, data: Any, place: Place) -> tuple[Any, ...]:
        """Return the values of a list; after an error, one that is harmless."""
        fault = None
        values = tuple(self._list(data, place))
        if any(isinstance(v, list | dict) for v in values):
            fault = f"must be numbers or texts, got {list(values)}"
        elif data == []:
            fault = "must have at least one value, got []"
        elif odd := [v for v in values if isinstance(v, float) and not isfinite(v)]:
            fault = f"must be finite, got {odd[0]}"
        if fault:
            self._faults.add(place, fault)
        return (1,) if fault or not values else values

    def _range(self, low: float, high: float, step: float | None, place: Place) -> tuple[Any, ...]:
        values = [low]
        while values[-1] < high and len(values) <= _MOST_VALUES:
            # rounded, so that steps of 0.1 meet their end
            following = values[-1] * 2 if step is None else round(low + len(values) * step, 12)
            values.append(following)
        if len(values) > _MOST_VALUES:
            self._faults.add(place, f"has more than {_MOST_VALUES} values")
        elif values[-1] != high:
            near = " or ".join(str(v) for v in values[-2:])
            self._faults.add(place.key("high"), f"{high} is not reached from {low}; take {near}")
        return tuple(values)

    def _define(self, data: Any) -> tuple[tuple[str, Field], ...]:
        made = []
        self._defined = self._named(data, self._top.key("define"))
        for name, value in self._defined.items():
            made.append((name, self._number(value, self._top.key("define").key(name))))
            self._known[name] = None
        return tuple(made)

    def _rule(self, data: Any, place: Place) -> Rule:
        section = self._section(data, place, **RULE)
        if not isinstance(unit := section.get("unit", ""), str):
            self._faults.add(place.key("unit"), f"must be a text, got {unit!r}")
        return Rule(
            name=self._text(section.get("name", "?"), place.key("name")),
            needed=self._amount(section.get("needed", 0), place.key("needed")),
            available=self._amount(section.get("available", 0), place.key("available")),
            unit=unit,
            hint=self._text(section.get("hint", "?"), place.key("hint")),
        )

    def _level(self, data: Any, place: Place) -> LevelTemplate:
        section = self._section(data, place, **LEVEL)
        named = self._text(section.get("storage", "sram"), place.key("storage"))
        if not isinstance(optional := section.get("optional", False), bool):
            self._faults.add(place.key("optional"), f"must be true or false, got {optional!r}")
        return LevelTemplate(
            name=self._text(section.get("name", "?"), place.key("name")),
            storage=self._number(named, place.key("storage")) if named[0] == "=" else named,
            keeps=cast(
                tuple[Tensor, ...],
                self._some(section.get("keeps", list(TENSORS)), TENSORS, place.key("keeps")),
            ),
            mesh=self._pair(section.get("mesh", [1, 1]), place.key("mesh")),
            capacity_bytes=self._capacity(section, place),
            bandwidth_words=self._number(
                section.get("bandwidth_words", 1), place.key("bandwidth_words")
            ),
            width_words=self._number(section.get("width_words", 1), place.key("width_words")),
            spatial_x=self._spatial(section, "spatial_x", place),
            spatial_y=self._spatial(section, "spatial_y", place),
            optional=bool(optional),
            when=self._when(section, place),
            switches=self._switches(section, place),
        )

    def _switches(self, section: Mapping[str, Any], place: Place) -> LevelSwitches:
        def fields(key: str, known: tuple[str, ...], required: int = 0) -> Fields:
            where = place.key(key)
            entries = self._section(section.get(key, {}), where, known[:required], known[required:])
            return tuple((k, self._field(k, v, where.key(k))) for k, v in entries.items())

        several = section.get("multicast", list(TENSORS))
        multicast = self._some(several, TENSORS, place.key("multicast"))
        given = [key for key in NUMBERS if key in section]
        return LevelSwitches(
            numbers=tuple((k, self._number(section[k], place.key(k))) for k in given),
            multicast=cast(tuple[Tensor, ...], multicast),
            tensor_bits=fields("tensor_bits", TENSORS),
            energy=fields("energy", ENERGY_KEYS, 3) if "energy" in section else None,
            timing=fields("timing", TIMING_KEYS, 1) if "timing" in section else None,
        )

    def _capacity(
        self, section: Mapping[str, Any], above: Place
    ) -> Field | tuple[tuple[Tensor, Field], ...] | None:
        data, place = section.get("capacity_bytes"), above.key("capacity_bytes")
        if data is None:
            return None
        if not isinstance(data, dict):
            return self._number(data, place)
        self._some(list(data), TENSORS, place)
        return tuple((t, self._number(data[t], place.key(t))) for t in TENSORS if t in data)

    def _spatial(self, section: dict[str, Any], key: str, at: Place) -> tuple[Dim, ...]:
        return cast(tuple[Dim, ...], self._some(section.get(key, list(DIMS)), DIMS, at.key(key)))

    def _some(self, data: Any, known: tuple[str, ...], place: Place) -> tuple[str, ...]:
        names = self._list(data, place)
        for name in names:
            if name not in known:
                self._faults.add(place, f"{name!r} is not known; {did_you_mean(str(name), known)}")
        return tuple(names)
