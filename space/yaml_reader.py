"""Reader of all YAML and JSON of others: values, the lines they stand on, everything wrong.

:func:`parse_yaml` never raises. It collects what is wrong in :class:`Faults`, to which the caller
adds what is wrong with the values, so that a user reads everything at once.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

#: keys of sections and positions in lists that lead to a value
KeyPath = tuple[str | int, ...]

_MOST_VALUES: Final = 100_000
_DEEPEST: Final = 60
"""A file larger or deeper than these is refused; aliases count wherever they stand."""

_TOO_LARGE: Final = f"has over {_MOST_VALUES} values, or is nested more than {_DEEPEST} levels deep"

#: characters of a file; what people write by hand, or tools write for people, has a thousandth
_MOST_CHARACTERS: Final = 4 * 2**20

#: values of a piece of JSON; results of ten networks, or a network of 10,000 layers, have a tenth
_MOST_JSON_VALUES: Final = 2_000_000

_TOO_LONG: Final = f"has over {_MOST_CHARACTERS} characters"

#: characters of a number; larger ones take time that grows with their square to read, and are none
_LONGEST_NUMBER: Final = 100

#: what PyYAML and libyaml read alike, beside comments: plain text without tags, of which they
#: refuse different ones, without "?", after which they see the end on different lines, and without
#: "#" right after the sign of a block, which PyYAML refuses
_USUAL: Final = re.compile(r"(?s)(?!.*[|>][-+\d]*#)[\n \"->@-~]*")
_COMMENT: Final = re.compile(r"(?m)(?:^| )#[ -~]*$")

_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands.

    Attributes:
        file: as messages name it; empty where they name it otherwise.
        keys: keys and positions that lead to the value; none for the whole file.
        line: 1-based; None if it is unknown.
    """

    file: str = ""
    keys: KeyPath = ()
    line: int | None = None

    @property
    def path(self) -> str:
        """The keys as people write them: ``workloads[1]``, ``halving.rounds``."""
        return dotted(self.keys)

    def key(self, name: object) -> "Place":
        """Return the place of one key below this one."""
        return Place(self.file, (*self.keys, str(name)))

    def item(self, index: int) -> "Place":
        """Return the place of one item of the list that stands here."""
        return Place(self.file, (*self.keys, index))

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ": ".join(part for part in (self.file, line, self.path) if part)


def dotted(keys: KeyPath) -> str:
    """Return a key path as people write it: ``workloads[1]``, ``halving.rounds``."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where, and what."""

    place: Place
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), self.message) if part)


@dataclass
class Faults:
    """Everything that was found wrong so far, each fault once, in the order of finding."""

    _found: dict[Fault, None] = field(default_factory=dict)

    def add(self, place: Place, message: str) -> None:
        """Note one fault."""
        self._found[Fault(place, message)] = None

    def include(self, others: Iterable[Fault], *above: str | int) -> None:
        """Note what was found elsewhere; ``above`` are keys that lead to there."""
        for fault in others:
            place = fault.place
            self.add(Place(place.file, (*above, *place.keys), place.line), fault.message)

    def about(self, file: str) -> bool:
        """Whether anything was found in a file."""
        return any(fault.place.file == file for fault in self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that was found, as text."""
        return tuple(map(str, self._found))


@dataclass(frozen=True, slots=True)
class Document:
    """Content of a YAML file.

    Attributes:
        file: as messages name it.
        data: its value, of a key that stands twice the last one; None if it is empty or no YAML.
        lines: on which line each key and each item of a list stands.
    """

    file: str
    data: Any
    lines: dict[KeyPath, int]

    def place(self, keys: KeyPath) -> Place:
        """Return where a key stands; its line is that of the nearest key around it."""
        found = keys
        while found and found not in self.lines:
            found = found[:-1]
        return Place(self.file, keys, self.lines.get(found))

    def located(self, fault: Fault) -> Fault:
        """Return a fault with its line; that of a missing key is where its section is."""
        return fault if fault.place.line else Fault(self.place(fault.place.keys), fault.message)


class _TooLargeError(yaml.YAMLError):
    """A file has more values than any that is read."""


class PlainLoader(yaml.SafeLoader):
    """YAML for values that are made, printed and stored: a tree of numbers and text.

    Raises:
        yaml.MarkedYAMLError: also for a date or a number that is none, half of a character, or an
            alias of what it stands in.
    """

    def __init__(self, text: str, fast: bool = False) -> None:
        super().__init__(text)
        self._around: list[str] = []
        self._count = 0
        if fast:
            # imported here, for there may be none
            from yaml._yaml import CParser

            # the same events, from C
            parser, names = CParser(text), ("check_event", "get_event", "peek_event")
            vars(self).update({name: getattr(parser, name) for name in names})

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose the next node; see ``yaml.composer.Composer``."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        self._count += 1
        if self._count > _MOST_VALUES:
            raise _TooLargeError(_TOO_LARGE)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self._around:
                raise yaml_error(
                    event, f"*{event.anchor} is inside &{event.anchor}, so it contains itself"
                )
            return super().compose_node(parent, index)
        self._around.append(event.anchor)
        node = super().compose_node(parent, index)
        self._around.pop()
        if isinstance(node, yaml.ScalarNode) and any("\ud800" <= c <= "\udfff" for c in node.value):
            raise yaml_error(
                node, f"{node.value!a} has half of a surrogate pair, which is not a character"
            )
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct the value of a node; see ``yaml.constructor.BaseConstructor``."""
        kind = node.tag.rpartition(":")[2]
        try:
            if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
                long = f"is a number of over {_LONGEST_NUMBER} characters"
                raise yaml_error(node, f"{shown(node.value, 42)} {long}")
            return super().construct_object(node, deep)
        except (ValueError, AttributeError, LookupError, ArithmeticError):
            message = (
                f"{shown(node.value, 42)} is not a valid {kind}; put it in quotes if it is a text"
            )
            raise yaml_error(node, message) from None


def yaml_error(node: Any, message: str) -> yaml.MarkedYAMLError:
    """Return an error at the line of a node or event."""
    return yaml.constructor.ConstructorError(None, None, message, node.start_mark)


def shown(value: object, most: int = 60) -> str:
    """Return a value as a message shows it, cut short."""
    try:
        text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    except ValueError:  # a number of thousands of digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


def read_text(path: Path, faults: Faults, file: str | None = None) -> str | None:
    """Return the text of a file; None after a fault. Messages name it by its path, or ``file``."""
    place = Place(str(path) if file is None else file)
    try:
        return bounded_text(path)
    except OSError as error:
        faults.add(place, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        faults.add(place, f"is not UTF-8 text: {error}")
    except ValueError as error:
        faults.add(place, str(error))
    return None


def bounded_text(path: Path) -> str:
    """Return the text of a file, of which no more is read than any has that people write.

    Raises:
        OSError: it cannot be read.
        UnicodeDecodeError: it is not text in UTF-8.
        ValueError: it is longer.
    """
    with path.open(encoding="utf-8") as file:
        text = file.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(_TOO_LONG)
    return text


def bounded_json(data: bytes | str, most_values: int = _MOST_JSON_VALUES) -> Any:
    """Return the content of JSON that anybody may have written.

    Raises:
        ValueError, RecursionError: it is no JSON, is nested too deeply, or has so many values that
            they would take many times its own memory.
    """
    import json

    text = data.decode() if isinstance(data, bytes) else data
    if sum(map(text.count, ",:[{")) > most_values:
        raise ValueError(f"it has over {most_values} values")
    return json.loads(text)


def read_yaml(path: Path, faults: Faults, file: str | None = None) -> Document:
    """Read a YAML file; messages name it by its path, or as ``file``."""
    file = str(path) if file is None else file
    return parse_yaml(read_text(path, faults, file) or "", file, faults)


def parse_yaml(
    text: str, file: str, faults: Faults, dialect: type[PlainLoader] = PlainLoader
) -> Document:
    """Return the content of a YAML file.

    Args:
        text: of the file.
        file: as messages name it.
        faults: gets what is no YAML, and keys that stand twice.
        dialect: resolves and constructs values.
    """
    document = Document(file, None, {})
    if len(text) > _MOST_CHARACTERS:
        faults.add(Place(file), _TOO_LONG)
        return document
    try:
        loader, node = _composed(text, dialect)
        if node is None or not _index(node, document, faults):
            return document
        return Document(file, loader.construct_document(node), document.lines)
    except RecursionError:
        faults.add(Place(file), "is nested too deeply")
    except _TooLargeError as error:
        faults.add(Place(file), str(error))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        what = ", ".join(part for part in (error.context, error.problem) if part)
        faults.add(Place(file, (), line), f"is not YAML: {what}")
    except yaml.YAMLError as error:
        what = " ".join(re.sub(r'\s+in "<unicode string>"', "", str(error)).split())
        faults.add(Place(file), f"is not YAML: {what}")
    return document


def _composed(text: str, dialect: type[PlainLoader]) -> tuple[PlainLoader, yaml.Node | None]:
    """Return the nodes of a file, and what composed them."""
    if yaml.__with_libyaml__ and _USUAL.fullmatch(_COMMENT.sub("", text)):
        # libyaml takes a tenth of the time
        try:
            loader = dialect(text, fast=True)
            return loader, loader.get_single_node()
        except _TooLargeError:
            raise  # the other parser would count the same, in ten times the time
        except yaml.YAMLError:
            pass  # errors are told in the words of one parser, wherever this runs
    loader = dialect(text)
    return loader, loader.get_single_node()


def _index(root: yaml.Node, document: Document, faults: Faults) -> bool:
    """Note the line of every key and item, and keys that stand twice; False if it is too large."""
    for count, (keys, line, earlier) in enumerate(_places(root, ()), start=1):
        if count > _MOST_VALUES or len(keys) > _DEEPEST:
            faults.add(Place(document.file), _TOO_LARGE)
            return False
        if earlier:
            faults.add(
                Place(document.file, keys, line), f"is already on line {earlier}; give it once"
            )
        document.lines[keys] = line
    return True


def _places(node: yaml.Node, above: KeyPath) -> Iterator[tuple[KeyPath, int, int | None]]:
    """Yield keys and line of everything below a node; of a key that stands twice, also the line
    where it stood before.
    """
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml_error(key, "a key must be plain text")
            name, line = key.value, key.start_mark.line + 1
            yield (*above, name), line, None if key.tag == _MERGE else seen.get(name)
            seen[name] = line
            yield from _places(value, (*above, name))
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            yield (*above, i), item.start_mark.line + 1, None
            yield from _places(item, (*above, i))
