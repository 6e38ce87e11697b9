"""Attributes of docstrings: what each field of a value means, for schemas and pages."""

import re
from typing import Any, Final

#: the line that an entry begins with: names, then what they are
_ENTRY: Final = re.compile(r"^(\w+(?:, \w+)*): (.*)$")

#: roles and double quotes of reStructuredText
_ROLE: Final = re.compile(r":\w+:`~?\.?([^`]*)`")
_CODE: Final = re.compile(r"``([^`]*)``")


def attributes(doc: str) -> dict[str, str]:
    """Return what the ``Attributes:`` of a docstring say of each name.

    Args:
        doc: without indentation, as ``inspect.getdoc`` has it.
    """
    _, _, rest = doc.partition("\nAttributes:\n")
    block = re.split(r"\n\n(?=\w)", rest)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in re.sub(r"^    ", "", block, flags=re.MULTILINE).splitlines():
        start = _ENTRY.match(line)
        if start:
            names = start[1].split(", ")
            found |= dict.fromkeys(names, start[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return {name: plain_text(text) for name, text in found.items()}


def summary(doc: str) -> str:
    """Return what stands before the first heading of a docstring."""
    return plain_text(" ".join(re.split(r"\n\n?(?=\w+:\n)", doc)[0].split()))


def plain_text(text: str) -> str:
    """Return a text for people who do not read Python."""
    return _CODE.sub(r"`\1`", _ROLE.sub(r"`\1`", text)).replace("; None ", "; left out ")


def described(form: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose objects hand their docstring's attributes on to their properties."""
    found = {key: _inside(value) for key, value in form.items()}
    doc = form.get("description")
    if doc and "properties" in form:
        about = attributes(doc)
        properties = {
            name: ({"description": about[name]} if name in about else {}) | below
            for name, below in found["properties"].items()
        }
        found |= {"description": summary(doc), "properties": properties}
    return found


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return described(value)
    return [_inside(one) for one in value] if isinstance(value, list) else value
