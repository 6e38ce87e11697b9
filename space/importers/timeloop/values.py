"""Values in Timeloop files: keys in either spelling, lists, names, numbers and expressions."""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import ceil, exp, floor, isfinite, log, log2, log10, sqrt, trunc
from typing import Any, Final

from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

from ...errors import did_you_mean
from ...yaml_reader import Faults, Place, shown

_LARGEST: Final = 2**62
_LONGEST: Final = 400
"""Numbers and expressions beyond these are slips, and would only cost time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and where it stands."""

    place: Place
    value: Any


def section(entry: Entry, faults: Faults) -> dict[str, Entry]:
    """Return keys with values; Timeloop reads ``word-bits`` and ``word_bits`` alike."""
    if entry.value is None:
        return {}
    if not isinstance(entry.value, dict):
        faults.add(entry.place, f"must be keys with values, got {shown(entry.value)}")
        return {}
    found: dict[str, Entry] = {}
    for key, value in entry.value.items():
        name = key.replace("-", "_")
        if name in found:
            faults.add(
                entry.place.key(key), f"is the same key as {found[name].place.path}; give it once"
            )
        else:
            found[name] = Entry(entry.place.key(key), value)
    return found


def refuse_others(found: Mapping[str, Entry], known: Iterable[str], faults: Faults) -> None:
    """Name each key that is not known."""
    names = list(known)
    for name, entry in found.items():
        if name not in names:
            faults.add(entry.place, f"is not known; {nearest(name, names)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is most like this one."""
    names = list(known)
    if len(names) < 12:
        return did_you_mean(name, names)
    return f"the nearest known name is {get_close_matches(name, names, n=1, cutoff=0.0)[0]}"


def items(entry: Entry | None, faults: Faults) -> list[Entry]:
    """Return the items of a list; no entry is an empty list."""
    if entry is None or entry.value is None:
        return []
    if not isinstance(entry.value, list):
        faults.add(entry.place, f"must be a list, got {shown(entry.value)}")
        return []
    return [Entry(entry.place.item(i), value) for i, value in enumerate(entry.value)]


def word(entry: Entry | None, place: Place, what: str, faults: Faults) -> str:
    """Return a name; ``place`` is where it is missing if there is no entry."""
    if entry is None or entry.value is None:
        faults.add(place, f"has no {what}")
    elif _is_name(entry.value):
        return str(entry.value).strip()
    else:
        faults.add(entry.place, f"must be a name, got {shown(entry.value)}")
    return "?"


def _is_name(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def words(entry: Entry | None, faults: Faults) -> list[Entry]:
    """Return the names of a list, or of a text with commas or spaces between them."""
    if entry is not None and isinstance(entry.value, str):
        named = re.split(r"[\s,]+", entry.value.strip())
        return [Entry(entry.place, name) for name in named if name]
    found = items(entry, faults)
    for item in found:
        if not _is_name(item.value):
            faults.add(item.place, f"must be a name, got {shown(item.value)}")
    return [Entry(i.place, str(i.value).strip()) for i in found if _is_name(i.value)]


def truth(value: Any) -> bool | None:
    """Return what yaml-cpp makes of a truth value; None if it is none."""
    text = str(value).lower()
    if text in ("true", "yes", "on", "1"):
        return True
    return False if text in ("false", "no", "off", "0") else None


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > 64 or abs(base) > _LARGEST:
        raise ValueError("the power is too large")
    return base**exponent


_OPERATORS: Final = {
    kind: DEFAULT_OPERATORS[kind]
    for kind in (
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd),
        *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Not),
    )
} | {ast.Pow: _power}


def _round(number: Any) -> Any:
    return round(number)


FUNCTIONS: Final = {
    **{f.__name__: f for f in (min, max, abs, int, float, ceil, floor, trunc)},
    **{f.__name__: f for f in (sqrt, log, log2, log10, exp)},
    "pow": _power,
    "round": _round,
}
"""What an expression may call; names as in Python, as in Timeloop's front end."""


class NoValueError(ValueError):
    """An expression without a value."""


@dataclass
class Scope:
    """Names that expressions may read, inner ones before outer ones.

    Attributes:
        values: values as they stand in the file, with their places.
        outer: where a name is looked for that is not here.
    """

    values: Mapping[str, Entry] = field(default_factory=dict)
    outer: "Scope | None" = None

    def names(self) -> list[str]:
        """Return all names, the innermost first."""
        return [*self.values, *(self.outer.names() if self.outer else [])]

    def number(self, value: Any, busy: tuple[int, ...] = ()) -> int | float:
        """Return the number that a value of a file is.

        Raises:
            NoValueError: it is none, or an expression that has none.
        """
        result = self._evaluate(value, busy) if isinstance(value, str) else value
        if isinstance(result, bool) or not isinstance(result, int | float):
            raise NoValueError(f"must be a number, got {shown(value)}")
        if not isfinite(result) or abs(result) > _LARGEST:
            raise NoValueError(f"must be a number between -2**62 and 2**62, got {shown(result)}")
        return result

    def _evaluate(self, text: str, busy: tuple[int, ...]) -> Any:
        if len(text) > _LONGEST:
            raise NoValueError(f"must be at most {_LONGEST} characters, got {shown(text)}")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
            called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
            read = {
                node.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Name) and id(node) not in called
            }
            given = {name: self._look_up(name, text, busy) for name in sorted(read)}
            evaluator = SimpleEval(_OPERATORS, FUNCTIONS, given, allowed_attrs={})
            return evaluator.eval(text, previously_parsed=tree)
        except (SyntaxError, MemoryError, RecursionError):
            raise NoValueError(f"is neither a number nor an expression: {shown(text)}") from None
        except NoValueError:
            raise
        except (InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
            raise NoValueError(f"{shown(text)} cannot be evaluated: {error}") from None

    def _look_up(self, name: str, text: str, busy: tuple[int, ...]) -> int | float:
        """Return the value of a name; one that reads itself means the one outside."""
        scope: Scope | None = self
        while scope is not None:
            entry = scope.values.get(name)
            if entry is not None and id(entry) not in busy:
                return scope.number(entry.value, (*busy, id(entry)))
            scope = scope.outer
        if busy and name in self.names():
            raise NoValueError(f"{shown(text)} has a circular definition: it depends on {name}")
        hint = f"; {nearest(name, self.names())}" if self.names() else ""
        raise NoValueError(f"{shown(text)} reads {name!r}, which is not defined{hint}")


def mentions(value: Any, inside: bool = False) -> set[str]:
    """Return every word that expressions of attributes may read, so that it may be a variable.

    Args:
        value: a part of a file.
        inside: whether it belongs to attributes or sizes of meshes already.
    """
    if isinstance(value, str):
        return set(re.findall(r"[A-Za-z_]\w*", value)) if inside else set()
    if isinstance(value, dict):
        found = (
            mentions(part, inside or key in ("attributes", "spatial"))
            for key, part in value.items()
        )
        return set().union(*found)
    return (
        set().union(*(mentions(part, inside) for part in value))
        if isinstance(value, list)
        else set()
    )
