"""Errors of study files: every fault with its line and key, as one message."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from archloom.space import Document, Fault, Faults, Place, did_you_mean, parse_yaml

from ..errors import UserError
from .location import Location

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


#: errors of a file that are said in words
_SHOWN: Final = 100


class ConfigError(UserError):
    """Everything that is wrong in a study file, all at once.

    Attributes:
        faults: by line; their places do not name the file.
    """

    def __init__(self, path: Location, faults: Iterable[Fault]) -> None:
        self.faults = sorted(faults, key=lambda f: (f.place.line or 0, f.place.path))
        count = len(self.faults)
        head = f"{path}: {count} error{'s' if count > 1 else ''}"
        rest = [f"  and {count - _SHOWN} more"] if count > _SHOWN else []
        shown = [f"  {fault}" for fault in self.faults[:_SHOWN]]
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


def refusal(faults: Iterable[Fault], entry: Any) -> ValidationError:
    """Return pydantic's error of an entry, with every fault at its place below the entry."""
    return ValidationError.from_exception_data("entry", error_details(faults, entry))


def error_details(faults: Iterable[Fault], entry: Any) -> list[InitErrorDetails]:
    """Return faults as pydantic wants them."""
    return [
        {
            "type": "value_error",
            "loc": fault.place.keys,
            "input": entry,
            "ctx": {"error": fault.message},
        }
        for fault in faults
    ]


def read_document(path: Path, text: str, faults: Faults) -> Document:
    """Parse the text of a study file; keys that stand twice are faults.

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
        faults.add(Place(), "is empty; a study needs workloads, space, trials")
    raise ConfigError(path, faults)


def faults_of(
    errors: Iterable["ErrorDetails"], document: Document, model: "type[BaseModel]"
) -> Iterator[Fault]:
    """Translate pydantic's errors into faults of the document."""
    for number, error in enumerate(errors):
        # a word for each of thousands that nobody reads would take minutes to find
        message = _message(error, model) if number < _SHOWN else "is wrong"
        yield Fault(document.place(error["loc"]), message)


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
