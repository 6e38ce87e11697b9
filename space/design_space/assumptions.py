"""Assumptions of a template: its values that no source gives, each marked with a reason.

A mark names a value by its key path, with levels by their names: ``levels.glb.bandwidth_words``.
Marks decide nothing: templates that are equal :func:`without_marks` are of the same hardware.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Any, Final, TypeAlias, cast

from ..errors import did_you_mean
from ..yaml_reader import Faults, KeyPath, Place
from .expression import Expression, Value, parse

#: the section of a template that holds the marks
SECTION: Final = "assumptions"

#: its key at the left edge, and the lines below that are indented
_BLOCK: Final = re.compile(rf"(?m)^{SECTION}[ \t]*:.*\n?(?:(?:[ \t\r]*\n)*[ \t]+\S.*\n?)*")

#: keys of a template, and of a level, that hold no value of the hardware
_NO_VALUES: Final = ("description", "parameters", "rules", SECTION)
_NAMES_OF_LEVELS: Final = ("name", "when")

#: keys of a mark that is not only a reason
MARK: Final[dict[str, tuple[str, ...]]] = {"required": ("reason",), "optional": ("product_with",)}

#: relative error of a product of floats, at most
_ROUNDING: Final = 1e-12

#: a value as a design has it; a tuple where a template has a list
Assumed: TypeAlias = Value | tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Assumption:
    """A mark.

    Attributes:
        key: path of the value.
        reason: why it is this one.
        product_with: path of a value whose product with this one a source gives; empty for none.
    """

    key: str
    reason: str
    product_with: str = ""


@dataclass(frozen=True, slots=True)
class AssumedValue:
    """A marked value of one design.

    Attributes:
        mark: of the template.
        value: as the design has it.
        place: where it stands in the template.
        other: place and value of what its product is known with; None for nothing.
    """

    mark: Assumption
    value: Assumed
    place: KeyPath
    other: tuple[KeyPath, Value] | None = None

    @property
    def is_number(self) -> bool:
        """Whether there are multiples of it."""
        return not isinstance(self.value, str | tuple | bool)

    def scaled(self, factor: float) -> dict[KeyPath, Value]:
        """Return the values, by place, of a design with ``factor`` times this one.

        Whole numbers stay whole and at least 1. A product that is known stays the same.

        Raises:
            ValueError: why there are none, in a few words.
        """
        if isinstance(self.value, str | tuple | bool):
            raise ValueError("it is not a number")
        scaled = _scaled(self.value, factor)
        found: dict[KeyPath, Value] = {self.place: scaled}
        if self.other is not None:
            place, value = self.other
            assert not isinstance(value, str)
            found[place] = other = _scaled(value, 1 / factor)
            if not isclose(scaled * other, self.value * value):
                raise ValueError(f"no other whole numbers have the product {self.value * value:g}")
        return found


def _scaled(value: float, factor: float) -> float:
    """Return a multiple of a number.

    Raises:
        ValueError: it would be the same, or infinite.
    """
    found = value * factor
    if isfinite(found) and found > 0 and float(value).is_integer():
        # a third of 147 is 49, however floats round
        found = max(1, int(found * (1 + _ROUNDING)))
    if found == value:
        raise ValueError(f"it stays {value:g}")
    if not isfinite(found):
        raise ValueError(f"{factor:g} times {value:g} is too large")
    return found


def read_marks(
    section: object, template: Mapping[str, Any], at: Place, faults: Faults
) -> tuple[Assumption, ...]:
    """Return the marks of a template; what is wrong with them is noted.

    Args:
        section: what the template has below :data:`SECTION`.
        template: all of it.
        at: place of the section.
        faults: that were found so far.
    """
    if not isinstance(section, dict):
        faults.add(at, f"must be key paths with reasons, got {section!r}")
        return ()
    known = value_places(template)
    found = []
    for key, entry in section.items():
        place = at.key(key)
        if str(key) not in known:
            faults.add(place, f"is no value of this template; {_nearest(str(key), known)}")
        mark = _mark(str(key), entry, place, faults)
        if mark.product_with:
            _check_product(mark, template, known, place, faults)
        found.append(mark)
    return tuple(found)


def _mark(key: str, entry: object, place: Place, faults: Faults) -> Assumption:
    known = (*MARK["required"], *MARK["optional"])
    given = entry if isinstance(entry, dict) else {"reason": entry}
    for name in given:
        if name not in known:
            faults.add(place.key(name), f"unknown key; {did_you_mean(str(name), known)}")
    if "reason" not in given:
        faults.add(place.key("reason"), "is missing")
    texts = {name: given[name] for name in known if name in given}
    for name, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            at = place.key(name) if isinstance(entry, dict) else place
            faults.add(at, f"must be a text, got {text!r}")
            texts[name] = ""
    reason, other = texts.get("reason", ""), texts.get("product_with", "")
    return Assumption(key, " ".join(str(reason).split()), str(other))


def _check_product(
    mark: Assumption,
    template: Mapping[str, Any],
    known: Mapping[str, list[KeyPath]],
    place: Place,
    faults: Faults,
) -> None:
    """Note what is wrong with the value that a product is known with."""
    at, other = place.key("product_with"), mark.product_with
    if other not in known:
        faults.add(at, f"{other!r} is no value of this template; {_nearest(other, known)}")
    elif other == mark.key:
        faults.add(at, "must be another value")
    for key in sorted({mark.key, other} & known.keys()):
        value = _at(template, known[key][0])
        text = isinstance(value, str) and not value.startswith("=")
        if text or isinstance(value, list | bool):
            faults.add(at, f"is for numbers; {key} is {value!r}")


def _nearest(key: str, known: Mapping[str, object]) -> str:
    """Name the nearest values; below a key that has values of its own, these."""
    below = [path for path in known if path.startswith(f"{key}.")]
    return f"name one of {', '.join(below)}" if below else did_you_mean(key, known)


def value_places(template: Mapping[str, Any]) -> dict[str, list[KeyPath]]:
    """Return where each value of a template stands, by its key path; levels may share a name."""
    found: dict[str, list[KeyPath]] = {}
    for name, keys, content in _keys(template):
        for path, place in _below(name, keys, content):
            found.setdefault(path, []).append(place)
    return found


def _keys(template: Mapping[str, Any]) -> Iterator[tuple[str, KeyPath, Any]]:
    """Yield path, place and content of the keys of a template and of its levels."""
    levels = template.get("levels")
    for key, content in template.items():
        if key not in _NO_VALUES and (key != "levels" or not isinstance(levels, list)):
            yield str(key), (key,), content
    for i, level in enumerate(levels if isinstance(levels, list) else []):
        for key, content in level.items() if isinstance(level, dict) else ():
            if key not in _NAMES_OF_LEVELS:
                yield f"levels.{level.get('name')}.{key}", ("levels", i, key), content


def _below(path: str, place: KeyPath, content: Any) -> Iterator[tuple[str, KeyPath]]:
    if not isinstance(content, dict):
        yield path, place
        return
    for key, entry in content.items():
        yield from _below(f"{path}.{key}", (*place, key), entry)


def assumed_values(
    marks: Iterable[Assumption], template: Mapping[str, Any], names: Mapping[str, Value]
) -> tuple[AssumedValue, ...]:
    """Return the marked values of one design, without those of levels that it leaves out.

    Args:
        marks: of the template.
        template: its content, in which there are no faults.
        names: values of the design's parameters and definitions.
    """
    places = value_places(template)
    found = []
    for mark in marks:
        there = [place for place in places[mark.key] if _is_there(template, place, names)]
        if not there:
            continue
        value, other = _evaluated(_at(template, there[0]), names), None
        if mark.product_with:
            at = places[mark.product_with][0]
            second = _evaluated(_at(template, at), names)
            assert not isinstance(second, tuple)
            other = (at, second)
        found.append(AssumedValue(mark, value, there[0], other))
    return tuple(found)


def _is_there(template: Mapping[str, Any], place: KeyPath, names: Mapping[str, Value]) -> bool:
    """Whether a value is none of a level that the design leaves out."""
    level = _at(template, place[:2]) if place[0] == "levels" else {}
    return "when" not in level or bool(_expression(level["when"]).evaluate(names))


def _evaluated(content: Any, names: Mapping[str, Value]) -> Assumed:
    if isinstance(content, list):
        return tuple(cast(Value, _evaluated(item, names)) for item in content)
    if isinstance(content, str) and content.startswith("="):
        return _expression(content).evaluate(names)
    return cast(Value, content)


def _expression(text: str) -> Expression:
    return parse(text.strip().removeprefix("="))


def _at(content: Any, place: KeyPath) -> Any:
    for key in place:
        content = content[key]
    return content


def without_marks(text: str) -> str:
    """Return the text of a template without the section of its marks, if it is a block."""
    return _BLOCK.sub("", text)
