"""A study file's text as data with line numbers, and its errors as sentences."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml

from ..space.suggest import did_you_mean
from ..space.yaml_faults import PlainLoader
from .errors import UserError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file.

    Attributes:
        line: 1-based; None if it is nowhere, such as a key that is missing at the top.
        key: dotted path, empty for the whole file.
        message: the value, the rule, and the nearest valid choice.
    """

    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.key}: {self.message}" if self.key else f"{where}{self.message}"


class ConfigError(UserError):
    """Everything that is wrong in a study file, all at once."""

    def __init__(self, path: Path, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda p: (p.line or 0, p.key))
        count = len(self.problems)
        head = f"{path}: {count} error{'s' if count > 1 else ''}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file that holds a mapping.

    Attributes:
        path: of the file.
        data: what it holds; of a key that stands twice the last value.
        lines: on which line each key and each item of a list stands.
        problems: keys that stand twice.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    problems: list[Problem]

    def line(self, where: KeyPath) -> int | None:
        """Return the line of the key, or of the nearest key around it."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where)


def read_document(path: Path, text: str) -> Document:
    """Parse the text of a study file.

    Raises:
        ConfigError: it is empty, is no YAML, or is no mapping.
    """
    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        data = None if node is None else loader.construct_document(node)
    except RecursionError:
        raise ConfigError(path, [Problem(None, "", "is nested too deeply")]) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(path, [Problem(line, "", f"is no YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise ConfigError(path, [Problem(None, "", f"is no YAML: {error}")]) from None
    if node is None or data is None:
        raise ConfigError(
            path,
            [Problem(None, "", "is empty; a study needs workloads, space, trials")],
        )
    if not isinstance(data, dict):
        found = type(data).__name__
        raise ConfigError(path, [Problem(1, "", f"must hold 'key: value' lines, holds a {found}")])
    lines: dict[KeyPath, int] = {}
    problems = list(_index(node, (), lines))
    return Document(path, data, lines, problems)


def _index(node: yaml.Node, where: KeyPath, lines: dict[KeyPath, int]) -> Iterable[Problem]:
    """Note the line of every key below ``node``; yield the keys that stand twice."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*where, str(key.value))
            line = key.start_mark.line + 1
            if place in lines:
                yield Problem(line, dotted(place), f"stands on line {lines[place]} already")
            lines[place] = line
            yield from _index(value, place, lines)
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            lines[(*where, i)] = item.start_mark.line + 1
            yield from _index(item, (*where, i), lines)


def dotted(where: KeyPath) -> str:
    """Return a path as people write it: ``workloads[1]``, ``halving.rounds``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    return "".join(parts).removeprefix(".")


def problems_of(
    errors: Iterable["ErrorDetails"], document: Document, model: "type[BaseModel]"
) -> list[Problem]:
    """Translate pydantic's errors into problems of the document."""
    return [
        Problem(document.line(error["loc"]), dotted(error["loc"]), _message(error, model))
        for error in errors
    ]


def _message(error: "ErrorDetails", model: "type[BaseModel]") -> str:
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"is an unknown key; {did_you_mean(str(error['loc'][-1]), _keys(error, model))}"
    context = error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        known = [tag.strip(" '") for tag in context["expected"].replace(" or ", ",").split(",")]
        return f"{value!r} is unknown; {did_you_mean(str(value), known)}"
    rule = error["msg"].replace("Input should", "must").replace("String should", "must")
    return f"{value!r} {rule.replace('a valid tuple', 'a list')}{_number_hint(value)}"


def _number_hint(value: object) -> str:
    """Explain a number that YAML reads as a text."""
    try:
        number = float(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return "" if number is None else f"; YAML reads this as a text, write {number:.15g}"


def _keys(error: "ErrorDetails", model: "type[BaseModel]") -> list[str]:
    """Return the keys that are allowed where an unknown one was found."""
    for part in error["loc"][:-1]:
        if isinstance(part, int):
            continue  # an entry of a list of sections
        section = model.model_fields[part].annotation
        inner = [section, *get_args(section)]
        model = next((one for one in inner if hasattr(one, "model_fields")), model)
    return list(model.model_fields)
