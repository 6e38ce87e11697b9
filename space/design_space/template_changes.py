"""Changes of single values of a template, each named by its key path, ``levels.glb.width_words``,
or by its place in the content.

They are made to the values that the file holds, before any expression is evaluated, so that all
that a template derives from a value follows it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from ..errors import did_you_mean
from ..yaml_reader import Faults, KeyPath, Place

#: new values by key path; items of lists are found by their ``name``
Changes: TypeAlias = Mapping[str, Any]

NO_CHANGES: Final[Changes] = MappingProxyType({})


def changed(data: Any, changes: Changes, faults: Faults) -> Any:
    """Return the content of a template with other values.

    A section that a path leads through is made where there is none. Whether a key is one of a
    template's is left to its reader.

    Args:
        data: of the file; it stays as it is.
        changes: what is different.
        faults: gets paths that lead nowhere.
    """
    for path, value in changes.items():
        try:
            data = _replaced(data, _place(data, str(path)), value)
        except ValueError as error:
            faults.add(Place(), str(error))
    return data


def with_values(template: Mapping[str, Any], values: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """Return the content of a template with other values at some places."""
    made: Any = template
    for place, value in values.items():
        made = _replaced(made, place, value)
    return cast(dict[str, Any], made)


def value_at(data: Any, path: str) -> Any:
    """Return the value that stands at a key path; None if there is none."""
    for name in path.split("."):
        if isinstance(data, list):
            at = _named(data).get(name)
            data = None if at is None else data[at]
        else:
            data = data.get(name) if isinstance(data, dict) else None
    return data


def _replaced(content: Any, place: KeyPath, value: Any) -> Any:
    if not place:
        return value
    first, *rest = place
    made = content.copy()
    inside = content.get(first, {}) if isinstance(content, dict) else content[first]
    made[first] = _replaced(inside, tuple(rest), value)
    return made


def _place(data: Any, path: str) -> KeyPath:
    """Return where a key path leads to.

    Raises:
        ValueError: nowhere.
    """
    *above, last = path.split(".")
    place = list[str | int]()
    for name in above:
        if isinstance(data, dict):
            place.append(name)
            data = data.get(name, {})
        else:
            named = _named(data)
            if name not in named:
                hint = did_you_mean(name, named) if named else "nothing there has parts with a name"
                raise ValueError(f"{path}: the template has no {name!r} there; {hint}")
            place.append(named[name])
            data = data[named[name]]
    if not isinstance(data, dict) or not last:
        raise ValueError(f"{path}: leads to no key of the template")
    return (*place, last)


def _named(section: Any) -> dict[str, int]:
    """Return the positions of the items of a list that have a name."""
    items = section if isinstance(section, list) else []
    return {str(item.get("name")): i for i, item in enumerate(items) if isinstance(item, dict)}
