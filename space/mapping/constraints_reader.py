"""Constraints on mappings as plain data of a study file, a YAML or a JSON file."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from archloom.space.workload import DIMS, TENSORS

from ..errors import did_you_mean
from ..yaml_reader import Fault, Faults, Place
from .constraints import DATAFLOWS, LevelConstraints, MappingConstraints, name_faults, unroll_faults

_KEYS: Final = ("dataflow", "both_axes", "levels")
_LEVEL_KEYS: Final = ("unroll_x", "unroll_y", "orders", "keep", "bypass")

#: stands for any number of children
_ANY: Final = "any"


class ConstraintsError(ValueError):
    """Everything that is wrong with constraints.

    Attributes:
        faults: each with the keys that lead to it.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def read_constraints(data: object) -> MappingConstraints:
    """Return the constraints that plain data says; :func:`constraints_data` is the inverse.

    Args:
        data: a mapping with ``dataflow``, ``both_axes`` and ``levels``, all of which may be left
            out. ``levels`` holds a mapping by name with ``unroll_x`` and ``unroll_y`` (a list of
            dimensions, or each with a number or ``any``), ``orders`` (one or a list of texts such
            as ``RS``, innermost loop first), ``keep`` and ``bypass`` (lists of tensors).

    Raises:
        ConstraintsError: everything that is wrong with them.
    """
    faults, top = Faults(), Place()
    found = _section(data, top, _KEYS, faults)
    dataflow, both = found.get("dataflow", "any"), found.get("both_axes", True)
    if dataflow not in DATAFLOWS:
        hint = did_you_mean(str(dataflow), DATAFLOWS)
        faults.add(top.key("dataflow"), f"{dataflow!r} is unknown; {hint}")
    if not isinstance(both, bool):
        faults.add(top.key("both_axes"), f"must be true or false, got {both!r}")
    named = found.get("levels", {})
    if not isinstance(named, Mapping):
        faults.add(top.key("levels"), f"must name levels, got {named!r}")
        named = {}
    levels = [_read_level(str(name), rules, faults) for name, rules in named.items()]
    if faults:
        raise ConstraintsError(faults)
    try:
        return MappingConstraints(dataflow, both, tuple(levels))
    except ValueError as error:
        raise ConstraintsError([Fault(top, str(error))]) from None


def _section(data: object, place: Place, known: tuple[str, ...], faults: Faults) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        faults.add(place, f"must hold {', '.join(known)}, got {data!r}")
        return {}
    found = {str(key): value for key, value in data.items()}
    for key in (key for key in found if key not in known):
        faults.add(place.key(key), f"is an unknown key; {did_you_mean(key, known)}")
    return {key: value for key, value in found.items() if key in known and value is not None}


def _read_level(name: str, data: object, faults: Faults) -> LevelConstraints:
    place, wrong = Place().key("levels").key(name), Faults()
    found = _section(data, place, _LEVEL_KEYS, wrong)
    texts = found.get("orders", ())
    values: dict[str, Any] = {
        **{key: _unrolled(found[key]) for key in ("unroll_x", "unroll_y") if key in found},
        "orders": _listed([texts] if isinstance(texts, str) else texts, tuple),
        **{key: _listed(found.get(key, ()), str) for key in ("keep", "bypass")},
    }
    for key, value in values.items():
        if value is None:
            wrong.add(place.key(key), f"{found[key]!r} {_FORMS[key]}")
    good = {key: value for key, value in values.items() if value is not None}
    for key, message in _value_faults(good):
        wrong.add(place.key(key), message)
    try:
        level = LevelConstraints(name, **({} if wrong else good))
    except ValueError as error:
        wrong.add(place, str(error).removeprefix(f"level {name}: "))
        level = LevelConstraints(name)
    faults.include(wrong)
    return level


_FORMS: Final = {
    "unroll_x": "must be a list of dimensions, or {K: 16, C: any}",
    "unroll_y": "must be a list of dimensions, or {K: 16, C: any}",
    "orders": "must be an order such as RS, or a list of orders",
    "keep": "must be a list of tensors",
    "bypass": "must be a list of tensors",
}


def _value_faults(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if key.startswith("unroll"):
            yield from unroll_faults(key, value)
        elif key == "orders":
            for order in value:
                yield from name_faults(key, order, DIMS)
        else:
            yield from name_faults(key, value, TENSORS)


def _unrolled(value: object) -> tuple[tuple[str, object], ...] | None:
    if isinstance(value, Mapping):
        return tuple((str(d), None if n == _ANY else n) for d, n in value.items())
    names = _listed(value, str)
    return None if names is None else tuple((name, None) for name in names)


def _listed(value: object, form: type) -> tuple[Any, ...] | None:
    """Return a list of texts, each in a form; None if it is none."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        return None
    return tuple(form(v) for v in value)


def constraints_data(constraints: MappingConstraints) -> dict[str, Any]:
    """Return plain data, without what constrains nothing."""
    found: dict[str, Any] = {}
    if constraints.dataflow != "any":
        found["dataflow"] = constraints.dataflow
    if not constraints.both_axes:
        found["both_axes"] = False
    levels = {rules.level: _level_data(rules) for rules in constraints.levels}
    if levels:
        found["levels"] = levels
    return found


def _level_data(rules: LevelConstraints) -> dict[str, Any]:
    unrolled = {
        key: {d: _ANY if n is None else n for d, n in value}
        for key, value in (("unroll_x", rules.unroll_x), ("unroll_y", rules.unroll_y))
        if value is not None
    }
    orders = {"orders": ["".join(order) for order in rules.orders]} if rules.orders else {}
    tensors = {"keep": list(rules.keep), "bypass": list(rules.bypass)}
    return {**unrolled, **orders, **{key: value for key, value in tensors.items() if value}}


def constraints_text(constraints: MappingConstraints) -> str:
    """Return the constraints in a line for people; empty if there are none."""
    parts = [constraints.dataflow.replace("_", " ")] if constraints.dataflow != "any" else []
    if not constraints.both_axes:
        parts.append("each dimension along one axis")
    return "; ".join([*parts, *map(_level_text, constraints.levels)])


def _level_text(rules: LevelConstraints) -> str:
    unrolled = [
        f"{axis} " + (" ".join(f"{d}{n or ''}" for d, n in value) or "nothing")
        for axis, value in (("x", rules.unroll_x), ("y", rules.unroll_y))
        if value is not None
    ]
    orders = [f"innermost {' or '.join(map(''.join, rules.orders))}"] if rules.orders else []
    held = [f"keeps {' and '.join(rules.keep)}"] if rules.keep else []
    passed = [f"passes {' and '.join(rules.bypass)}"] if rules.bypass else []
    return f"{rules.level}: {', '.join([*unrolled, *orders, *held, *passed]) or 'free'}"
