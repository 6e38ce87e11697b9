"""Errors of study files: every fault with its line and key, as one message."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Final

from archloom.space import Document, Fault, Faults, Place, bounded_text, did_you_mean, parse_yaml

from ..errors import UserError, unreadable
from .location import Location

#: errors of a file that are said in words
SHOWN: Final = 100

#: what a study file may be besides a study of accelerators, which says no kind
KINDS: Final = ("stack",)


class ConfigError(UserError):
    """Everything that is wrong in a study file, all at once.

    Attributes:
        faults: by line; their places do not name the file.
    """

    def __init__(self, path: Location | str, faults: Iterable[Fault]) -> None:
        self.faults = sorted(faults, key=lambda f: (f.place.line or 0, f.place.path))
        count = len(self.faults)
        head = f"{path}: {count} error{'s' if count > 1 else ''}"
        rest = [f"  and {count - SHOWN} more"] if count > SHOWN else []
        shown = [f"  {fault}" for fault in self.faults[:SHOWN]]
        super().__init__("\n".join([head, *shown, *rest]))


class EntryError(UserError):
    """Everything that is wrong with an entry of a study file.

    Attributes:
        faults: each with the keys that lead to it below the entry.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def entry_error(message: str, *keys: str | int) -> EntryError:
    """Return an error of one fault; ``keys`` lead to it below the entry."""
    return EntryError([Fault(Place(keys=keys), message)])


@contextmanager
def collecting(faults: Faults, *keys: str | int) -> Iterator[None]:
    """Collect what is wrong with the entry that ``keys`` lead to, and go on."""
    try:
        yield
    except EntryError as error:
        faults.include(error.faults, *keys)
    except ValueError as error:
        faults.add(Place(keys=keys), str(error))


def study_document(path: Path, faults: Faults) -> Document:
    """Read a study file.

    Raises:
        ConfigError: it is empty, is no YAML, or has no keys with values.
        UserError: it cannot be read.
    """
    try:
        text = bounded_text(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such study file{_nearby(path)}") from None
    except IsADirectoryError:
        raise UserError(
            f"{path}: is a directory, not a study file; to resume a study there, use 'archloom "
            "resume'"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {unreadable(error)}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    return read_document(path, text, faults)


def file_text(path: Path) -> str:
    """Return the text of a file that is no study.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return bounded_text(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {unreadable(error)}") from None


def given_document(data: Mapping[str, Any]) -> Document:
    """Return keys and values as a study file would hold them; paths become texts.

    Raises:
        UserError: there is something that no file can hold.
    """
    import json

    def plain(value: object) -> str:
        if isinstance(value, PathLike):
            return str(value)
        raise TypeError(f"{value!r} is a {type(value).__name__}")

    try:
        return Document("", json.loads(json.dumps(dict(data), default=plain)), {})
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"the study: {error}; keys and values must be strings, numbers, lists and mappings, as "
            "in a study file"
        ) from None


def kind_of(path: Path) -> str | None:
    """Return the kind of study that a file says; None if it says none, or cannot be read."""
    try:
        text = bounded_text(path)
    except (OSError, ValueError):
        return None
    data = parse_yaml(text, "", Faults()).data if "kind" in text else None
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if kind in KINDS else None


def refuse_kind(document: Document, path: Path | str, faults: Faults) -> None:
    """Refuse a file that is no study of accelerators, or says an unknown kind.

    Raises:
        UserError: it is of another kind.
    """
    if "kind" not in document.data:
        return
    kind = document.data.pop("kind")
    if kind in KINDS:
        raise UserError(
            f"{path} is a study of kind {kind}, which only archloom run accepts; this command "
            "works with studies of accelerators"
        )
    hint = did_you_mean(str(kind), KINDS)
    faults.add(
        document.place(("kind",)),
        f"{kind!r} is unknown; {hint}; studies of accelerators have no key kind",
    )


def _nearby(path: Path) -> str:
    files = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
    near = get_close_matches(path.name, files)
    if not near and get_close_matches(path.stem.lower(), ["quickstart"]):
        return "; did you mean quickstart, which comes with archloom?"
    return f"; did you mean {' or '.join(near)}?" if near else ""


def read_document(
    path: Path,
    text: str,
    faults: Faults,
    needs: str = "a study needs workloads, space, trials",
) -> Document:
    """Parse the text of a study file; keys that stand twice are faults.

    Args:
        path: of the file, for messages.
        text: of the file.
        faults: gets what is wrong.
        needs: said of a file that is empty.

    Raises:
        ConfigError: it is empty, is no YAML, or has no keys with values.
    """
    document = parse_yaml(text, "", faults)
    if isinstance(document.data, dict):
        return document
    if document.data is not None:
        found = type(document.data).__name__
        faults.add(Place(line=1), f"must hold 'key: value' lines, holds a {found}")
    elif not faults:
        faults.add(Place(), f"is empty; {needs}")
    raise ConfigError(path, faults)
