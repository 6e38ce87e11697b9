"""Changes of single values of a template, each named by its key path: ``levels.glb.width_words``.

They are made to the values that the file holds, before any expression is evaluated, so that all
that a template derives from a value follows it.
"""

from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ..errors import did_you_mean
from ..yaml_reader import Faults, Place

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
    if not changes:
        return data
    found = deepcopy(data)
    for path, value in changes.items():
        *above, last = str(path).split(".")
        try:
            section = found
            for name in above:
                section = _below(section, name, path)
            if not isinstance(section, dict) or not last:
                raise ValueError(f"{path}: leads to no key of the template")
            section[last] = value
        except ValueError as error:
            faults.add(Place(), str(error))
    return found


def value_at(data: Any, path: str) -> Any:
    """Return the value that stands at a key path; None if there is none."""
    for name in path.split("."):
        if isinstance(data, list):
            data = _named(data).get(name)
        else:
            data = data.get(name) if isinstance(data, dict) else None
    return data


def _below(section: Any, name: str, path: str) -> Any:
    if isinstance(section, dict):
        return section.setdefault(name, {})
    named = _named(section)
    if name not in named:
        hint = did_you_mean(name, named) if named else "nothing there has parts with a name"
        raise ValueError(f"{path}: the template has no {name!r} there; {hint}")
    return named[name]


def _named(section: Any) -> dict[str, Any]:
    items = section if isinstance(section, list) else []
    return {str(item.get("name")): item for item in items if isinstance(item, dict)}
