"""Timeloop's YAML files: loading them, naming places in them, and collecting what is wrong.

Timeloop reads YAML with yaml-cpp, whose plain scalars differ from those of YAML 1.1: ``1:1`` is
a text, ``1e-9`` a number, and ``yes`` is a text until somebody asks for a truth value.
"""

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

_MOST_NODES: Final = 200_000
_DEEPEST: Final = 60
"""A file larger or deeper than these is refused; aliases count wherever they stand."""

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


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file and the path of keys in it."""

    file: str
    path: str = ""

    def key(self, name: object) -> "Place":
        """Return the place of one key below this one."""
        return Place(self.file, f"{self.path}.{name}" if self.path else str(name))

    def item(self, index: int) -> "Place":
        """Return the place of one item of the list that stands here."""
        return Place(self.file, f"{self.path}[{index}]")

    def __str__(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file


@dataclass
class Faults:
    """What was found wrong so far, each sentence once, in the order of finding."""

    _found: dict[str, None] = field(default_factory=dict)

    def add(self, place: Place, message: str) -> None:
        """Note one fault."""
        self._found[f"{place}: {message}"] = None

    def include(self, others: "Faults") -> None:
        """Note what others found, too."""
        self._found.update(others._found)

    def about(self, file: str) -> bool:
        """Whether anything was found in a file."""
        return any(sentence.startswith(f"{file}:") for sentence in self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in order."""
        return tuple(self._found)


class Tagged(dict[str, Any]):
    """A mapping behind a YAML tag, such as ``!Component {name: ...}``."""

    def __init__(self, tag: str, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.tag = tag


def load(path: Path, faults: Faults) -> dict[str, Any]:
    """Return the mapping that a file holds; after a fault, an empty one."""
    place = Place(str(path))
    try:
        text = _SEARCH_PATH.sub("", path.read_text("utf-8"))
        templates = _templates(text)
        for line, expression in templates:
            faults.add(
                place,
                f"line {line} has the template expression {shown(expression)}, which is not "
                "read; give the file that Timeloop's front end writes after expanding templates",
            )
        # _Loader is a SafeLoader without its odder types
        data = None if templates else yaml.load(text, Loader=_Loader)
    except OSError as error:
        faults.add(place, f"cannot be read: {error.strerror or error}")
    except RecursionError:
        faults.add(place, "is nested too deeply")
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(re.sub(r'\s+in "<unicode string>"', "", str(error)).split())
        faults.add(place, f"is not YAML: {reason}")
    else:
        if _too_large(data):
            faults.add(place, f"has over {_MOST_NODES} values, or nests deeper than {_DEEPEST}")
        elif isinstance(data, dict):
            return data
        elif data is not None:
            faults.add(place, f"must be keys with values, got {shown(data)}")
    return {}


def shown(value: object) -> str:
    """Return a value as a message shows it, cut short."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _templates(text: str) -> list[tuple[int, str]]:
    """Return line and text of each template expression outside comments."""
    return [
        (number, found)
        for number, line in enumerate(text.splitlines(), start=1)
        for found in _JINJA.findall(re.sub(r"(^|\s)#.*", "", line))
    ]


def _too_large(data: Any) -> bool:
    count = 0
    stack: list[Iterator[Any]] = [iter((data,))]
    while stack:
        value = next(stack[-1], stack)
        if value is stack:
            stack.pop()
            continue
        count += 1
        if count > _MOST_NODES or len(stack) > _DEEPEST:
            return True
        if isinstance(value, dict):
            stack.append(iter(value.values()))
        elif isinstance(value, list):
            stack.append(iter(value))
    return False


class _Loader(yaml.SafeLoader):
    """YAML with yaml-cpp's scalars, tags on mappings, and no key twice."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable(key, "a key must be a plain word")
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise _unreadable(key, f"key {key.value!r} stands twice")
            seen.add(key.value)
        self.flatten_mapping(node)
        # keys are names here, whatever YAML makes of 'N' or '1'
        return {key.value: self.construct_object(v, deep=deep) for key, v in node.value}


def _unreadable(node: yaml.Node, why: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, why, node.start_mark)


def _scalar(_: yaml.SafeLoader, node: yaml.Node) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise _unreadable(node, "a plain value is needed here")
    text = node.value
    kind = node.tag.rpartition(":")[2]
    try:
        if kind == "int":
            return int(text, 0) if text.lower().lstrip("+-").startswith("0x") else int(text)
        if kind == "float":
            return float(re.sub(r"\.(?=[a-z])", "", text.lower()))
    except ValueError:
        raise _unreadable(node, f"{shown(text)} is no {kind}") from None
    if kind == "bool":
        return text.lower() == "true"
    return None if kind == "null" else text


def _sequence(loader: yaml.SafeLoader, node: yaml.Node) -> Iterator[list[Any]]:
    if not isinstance(node, yaml.SequenceNode):
        raise _unreadable(node, "a list is needed here")
    made: list[Any] = []
    yield made
    made.extend(loader.construct_sequence(node))


def _mapping(loader: yaml.SafeLoader, node: yaml.Node) -> Iterator[dict[Hashable, Any]]:
    if not isinstance(node, yaml.MappingNode):
        raise _unreadable(node, "keys with values are needed here")
    made: dict[Hashable, Any] = {}
    yield made
    made.update(loader.construct_mapping(node))


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Iterator[Tagged]:
    if not isinstance(node, yaml.MappingNode):
        raise _unreadable(node, f"the tag {node.tag} is not understood here")
    made = Tagged(suffix, {})
    yield made
    made.update({str(k): v for k, v in loader.construct_mapping(node).items()})


def _unknown(_: yaml.SafeLoader, node: yaml.Node) -> Any:
    raise _unreadable(node, f"the tag {node.tag} is not understood")


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
