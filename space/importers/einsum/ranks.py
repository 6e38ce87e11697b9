"""Sizes of ranks: whole numbers, or arithmetic over other ranks."""

import ast
from collections.abc import Mapping
from typing import Any, Final

from ...errors import did_you_mean
from ...yaml_reader import Document, Faults, Place, shown

#: larger ones could not be counted exactly
_LARGEST: Final = 2**53
#: characters of an expression; one that people write has a tenth
_LONGEST: Final = 200

_OPERATORS: Final[dict[type, Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


class _WaitingError(Exception):
    """A rank whose size is not known yet."""


def is_rank(name: object) -> bool:
    """Whether a name can be one of a rank or a tensor: letters, digits and _, no digit first."""
    return isinstance(name, str) and name.isascii() and name.isidentifier()


Sizes = dict[str, int | None]


def sizes_of(document: Document, chosen: Mapping[str, int], faults: Faults) -> Sizes:
    """Return the size of every rank; None of one that is wrong.

    Args:
        document: of the file, which has them under ``ranks``.
        chosen: sizes that take the place of the file's.
        faults: gets what is wrong.
    """
    given = document.data.get("ranks")
    place = document.place(("ranks",))
    if not isinstance(given, Mapping) or not given:
        faults.add(place, f"{shown(given)} must be a mapping of ranks to sizes, such as {{q: 256}}")
        return {}
    names = [name for name in given if is_rank(name)]
    for name in given:
        if not is_rank(name):
            rule = (
                "must be a name of letters, digits and _; put it in quotes if it is a word of YAML"
            )
            faults.add(document.place(("ranks", str(name))), f"{name!r} {rule}")
    for name in chosen:
        if name not in names:
            faults.add(Place(document.file), f"{name!r} is not a rank; {did_you_mean(name, names)}")
    asked = {name: chosen.get(name, given[name]) for name in names}
    places = {name: document.place(("ranks", name)) for name in names}
    return _resolved(asked, places, faults)


def _resolved(asked: Mapping[str, object], places: Mapping[str, Place], faults: Faults) -> Sizes:
    """Work out expressions in the order in which they depend on each other."""
    known: Sizes = {}
    waiting = dict(asked)
    while waiting:
        before = len(waiting)
        for name, given in list(waiting.items()):
            try:
                known[name] = _size(given, asked, known)
            except _WaitingError:
                continue
            except ValueError as error:
                faults.add(places[name], str(error))
                known[name] = None
            del waiting[name]
        if len(waiting) == before:
            for name in waiting:
                ring = ", ".join(waiting)
                faults.add(places[name], f"depends on itself; give one of {ring} a number")
                known[name] = None
            break
    return known


def _size(given: object, names: Mapping[str, object], known: Sizes) -> int | None:
    if isinstance(given, str):
        if len(given) > _LONGEST:
            raise ValueError(f"{shown(given)} has more than {_LONGEST} characters")
        try:
            tree = ast.parse(given.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(
                f"{given!r} is not a size; write a number, or an expression such as h*d"
            ) from None
        found = _value(tree, given, names, known)
    else:
        found = given  # type: ignore[assignment]
    if found is None:
        return None
    if type(found) is not int or not 1 <= found <= _LARGEST:
        what = f"{given!r} is {found}, so it" if isinstance(given, str) else shown(given)
        raise ValueError(f"{what} must be a whole number, at least 1")
    return found


def _value(node: ast.expr, text: str, names: Mapping[str, object], known: Sizes) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(
                f"rank {node.id!r} in {text!r} has no size; {did_you_mean(node.id, names)}"
            )
        if node.id not in known:
            raise _WaitingError
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        one, other = (_value(side, text, names, known) for side in (node.left, node.right))
        if one is None or other is None:
            return None
        try:
            found: int = _OPERATORS[type(node.op)](one, other)
        except ZeroDivisionError:
            raise ValueError(f"{text!r} divides by 0") from None
        if abs(found) > _LARGEST:
            raise ValueError(f"{text!r} is above {_LARGEST}, the most that is supported")
        return found
    raise ValueError(f"{text!r} may contain whole numbers, ranks, +, -, *, //, % and ( )")
