"""Dialect of Timeloop's YAML files.

Timeloop reads YAML with yaml-cpp, whose plain scalars differ from those of YAML 1.1: ``1:1`` is
a text, ``1e-9`` a number, and ``yes`` is a text until somebody asks for a truth value.
"""

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

from ...yaml_reader import Faults, Place, PlainLoader, parse_yaml, read_text, shown, yaml_error

_JINJA: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{\{|\{%")
_SEARCH_PATH: Final = re.compile(r"\{\{\s*add_to_path\([^(){}]*\)\s*\}\}")
"""Says where later includes are looked for; without any include it does nothing."""


class TimeloopError(ValueError):
    """Everything that is wrong with a set of Timeloop files.

    Attributes:
        faults: one sentence each, with file and key path.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class TaggedSection(dict[str, Any]):
    """Keys with values behind a YAML tag, such as ``!Component {name: ...}``."""

    def __init__(self, tag: str, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.tag = tag


def load(path: Path, faults: Faults) -> dict[str, Any]:
    """Return the keys with values that a file holds; after a fault, none."""
    place, found = Place(str(path)), Faults()
    text = _SEARCH_PATH.sub("", read_text(path, found) or "")
    for line, expression in _templates(text):
        found.add(
            place,
            f"line {line} has the template expression {shown(expression)}, which is not "
            "supported; give the file that Timeloop's front end writes after expanding templates",
        )
    data = None if found else parse_yaml(text, str(path), found, _Loader).data
    if data is not None and not isinstance(data, dict):
        found.add(place, f"must be keys with values, got {shown(data)}")
    faults.include(found)
    return {} if found else data or {}


def _templates(text: str) -> list[tuple[int, str]]:
    """Return line and text of each template expression outside comments."""
    return [
        (number, found)
        for number, line in enumerate(text.splitlines(), start=1)
        for found in _JINJA.findall(re.sub(r"(^|\s)#.*", "", line))
    ]


class _Loader(PlainLoader):
    """YAML with yaml-cpp's scalars, tags on mappings, and names as keys."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        # keys are names here, whatever YAML makes of 'N' or '1'
        return {key.value: self.construct_object(v, deep=deep) for key, v in node.value}


def _scalar(_: yaml.SafeLoader, node: yaml.Node) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml_error(node, "must be a plain value")
    text = node.value
    kind = node.tag.rpartition(":")[2]
    try:
        if kind == "int":
            return int(text, 0) if text.lower().lstrip("+-").startswith("0x") else int(text)
        if kind == "float":
            return float(re.sub(r"\.(?=[a-z])", "", text.lower()))
    except ValueError:
        raise yaml_error(node, f"{shown(text)} is not a valid {kind}") from None
    if kind == "bool":
        return text.lower() == "true"
    return None if kind == "null" else text


def _sequence(loader: yaml.SafeLoader, node: yaml.Node) -> Iterator[list[Any]]:
    if not isinstance(node, yaml.SequenceNode):
        raise yaml_error(node, "must be a list")
    made: list[Any] = []
    yield made
    made.extend(loader.construct_sequence(node))


def _mapping(loader: yaml.SafeLoader, node: yaml.Node) -> Iterator[dict[Hashable, Any]]:
    if not isinstance(node, yaml.MappingNode):
        raise yaml_error(node, "must be keys with values")
    made: dict[Hashable, Any] = {}
    yield made
    made.update(loader.construct_mapping(node))


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Iterator[TaggedSection]:
    if not isinstance(node, yaml.MappingNode):
        raise yaml_error(node, f"the tag {node.tag} is not supported here")
    made = TaggedSection(suffix, {})
    yield made
    made.update({str(k): v for k, v in loader.construct_mapping(node).items()})


def _unknown(_: yaml.SafeLoader, node: yaml.Node) -> Any:
    raise yaml_error(node, f"the tag {node.tag} is not supported")


_YAML: Final = "tag:yaml.org,2002:"
_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _first in (
    ("null", r"^(~|null|Null|NULL|)$", [*"~nN", ""]),
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^([-+]?[0-9]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    (
        "float",
        r"^([-+]?(\.[0-9]+|[0-9]+\.?[0-9]*)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$",
        list("-+.0123456789"),
    ),
    ("merge", r"^<<$", ["<"]),
):
    _Loader.add_implicit_resolver(_YAML + _kind, re.compile(_pattern), _first)
    _Loader.add_constructor(_YAML + _kind, _scalar)
_Loader.add_constructor(_YAML + "str", _scalar)
_Loader.add_constructor(_YAML + "seq", _sequence)
_Loader.add_constructor(_YAML + "map", _mapping)
_Loader.add_constructor(None, _unknown)
_Loader.add_multi_constructor("!", _tagged)
