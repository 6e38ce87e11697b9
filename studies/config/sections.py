"""Sections of a study file: what each key may hold, and everything that is wrong at once.

A section is a frozen dataclass. Each of its fields is annotated with a :class:`Key`, which says how
the value is read from a file and written to one:

    class Density(Section):
        weights: Annotated[float, number(above=0, most=1)] = 1.0

To import a framework for this takes longer than all else that a typo in a study file is told after.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from inspect import getdoc
from math import isfinite
from pathlib import Path
from re import match
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

from archloom.space import Faults, Place, did_you_mean

from .errors import SHOWN, EntryError, collecting

#: JSON schema of an entry
Form = dict[str, Any]

#: a function that makes of an entry what it means; raises ValueError or EntryError
Reader = Callable[[Any, "Reading"], Any]

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reading:
    """What an entry is read beside.

    Attributes:
        folder: where relative paths start.
        networks: JSON of the workloads that a study keeps, by position.
        held_out: the same of those that are held out.
        key: the name that the entry stands under.
        before: by name, the entries before it in its section that are sound.
    """

    folder: Path = Path()
    networks: Mapping[int, str] = field(default_factory=dict)
    held_out: Mapping[int, str] = field(default_factory=dict)
    key: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Key:
    """How the value of a key is read and written.

    Attributes:
        read: makes of an entry what it means.
        write: makes of that plain values, which can be read again.
        silent: whether a value is not written down at all.
        form: JSON schema of what files may say.
        examples: what a file may say, where the default is no example.
    """

    read: Reader
    write: Callable[[Any], Any] = lambda value: plain(value)
    silent: Callable[[Any], bool] = lambda _: False
    form: Callable[[], Form] = dict
    examples: tuple[Any, ...] = ()

    def like(self, *examples: Any) -> "Key":
        """Return the same with examples."""
        return replace(self, examples=examples)

    def formed(self, form: Callable[[], Form]) -> "Key":
        """Return the same with another schema."""
        return replace(self, form=form)

    def or_form(self, *others: Form) -> "Key":
        """Return the same with a schema that has other forms, too."""
        return replace(self, form=lambda: {"anyOf": [*others, self.form()]})

    def silent_if(self, silent: Callable[[Any], bool]) -> "Key":
        """Return the same, but for values that are not written down."""
        return replace(self, silent=silent)

    def checked(self, check: Reader) -> "Key":
        """Return a key whose value goes through one more function once it is read."""
        return replace(self, read=lambda entry, beside: check(self.read(entry, beside), beside))

    def prepared(self, prepare: Callable[[Any], Any]) -> "Key":
        """Return a key whose entry goes through a function before it is read."""
        return replace(self, read=lambda entry, beside: self.read(prepare(entry), beside))

    def or_none(self) -> "Key":
        """Return a key that may hold nothing."""
        write = self.write
        return replace(
            self,
            read=lambda entry, beside: None if entry is None else self.read(entry, beside),
            write=lambda value: None if value is None else write(value),
            form=lambda: {"anyOf": [self.form(), {"type": "null"}]},
        )


@dataclass(frozen=True, kw_only=True)
class Section:
    """A mapping in a study file. Subclasses are dataclasses too, with a :class:`Key` a field."""

    layout: ClassVar[Mapping[str, Key]] = _NOTHING

    def __init_subclass__(cls) -> None:
        # annotations are objects here; a dataclass reads them after this
        found = {
            name: next(part for part in kind.__metadata__ if isinstance(part, Key))
            for name, kind in cls.__annotations__.items()
            if hasattr(kind, "__metadata__")
        }
        cls.layout = MappingProxyType({**cls.layout, **found})

    @classmethod
    def read(cls, entry: Any, beside: Reading) -> Self:
        """Return the section that an entry holds.

        Raises:
            ValueError: it is none.
            EntryError: everything that is wrong in it, each with the keys that lead to it.
        """
        if isinstance(entry, cls):
            return entry
        if not isinstance(entry, dict):
            raise ValueError(f"{shown(entry)} must be a mapping of {', '.join(cls.layout)}")
        faults, found = Faults(), cls._defaults()
        for name, key in cls.layout.items():
            if name in entry:
                found.pop(name, None)
                with collecting(faults, name):
                    found[name] = key.read(entry[name], replace(beside, key=name, before=found))
            elif name not in found:
                faults.add(Place(keys=(name,)), "is missing")
        for number, name in enumerate(entry):
            if name not in cls.layout:
                # a hint for each of thousands that nobody reads would take minutes to find
                near = did_you_mean(str(name), list(cls.layout)) if number < SHOWN else ""
                hint = f"; {near}" if near else ""
                faults.add(Place().key(name), f"is an unknown key{hint}")
        if faults:
            raise EntryError(faults)
        return cls(**found)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        made = {f.name: f.default_factory() for f in fields(cls) if f.default_factory != MISSING}
        return made | {f.name: f.default for f in fields(cls) if f.default is not MISSING}

    @classmethod
    def form(cls) -> Form:
        """Return the JSON schema of such a section; its description is the class's docstring."""
        missing, defaults, properties = object(), cls._defaults(), dict[str, Form]()
        for name, key in cls.layout.items():
            default = defaults.get(name, missing)
            said = {} if default is missing else {"default": key.write(default)}
            examples = {"examples": list(key.examples)} if key.examples else {}
            properties[name] = {**key.form(), **said, **examples}
        return {
            "type": "object",
            "description": getdoc(cls) or "",
            "properties": properties,
            "required": [name for name in cls.layout if name not in defaults],
            "additionalProperties": False,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; :meth:`read` makes the section of them again."""
        return {
            name: key.write(value)
            for name, key in self.layout.items()
            if not key.silent(value := getattr(self, name))
        }


def plain(value: Any) -> Any:
    """Return a value as files have it: sections as mappings, tuples as lists."""
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def section(kind: type[Section]) -> Key:
    """Return a key that holds a section."""
    return Key(kind.read, form=kind.form)


def whole(least: int, most: float = float("inf")) -> Key:
    """Return a key that holds a whole number, from ``least`` on."""

    def read(entry: Any, _: Reading) -> int:
        if type(entry) is not int:
            raise ValueError(f"{shown(entry)} must be a valid integer{number_hint(entry)}")
        if entry < least:
            raise ValueError(f"{shown(entry)} must be greater than or equal to {least}")
        if entry > most:
            raise ValueError(f"{shown(entry)} must be less than or equal to {most}")
        return entry

    above = {} if most == float("inf") else {"maximum": most}
    return Key(read, form=lambda: {"type": "integer", "minimum": least, **above})


def number(above: float, most: float | None = None) -> Key:
    """Return a key that holds a finite number above one, and perhaps up to another."""

    def read(entry: Any, _: Reading) -> float:
        if type(entry) not in (int, float):
            raise ValueError(f"{shown(entry)} must be a valid number{number_hint(entry)}")
        try:
            found = float(entry)
        except OverflowError:  # YAML has integers of any length
            found = float("inf")
        if not isfinite(found):
            raise ValueError(f"{shown(entry)} must be a finite number")
        if not found > above:
            raise ValueError(f"{shown(entry)} must be greater than {above:g}")
        if most is not None and found > most:
            raise ValueError(f"{shown(entry)} must be less than or equal to {most:g}")
        return found

    upper = {} if most is None else {"maximum": most}
    return Key(read, form=lambda: {"type": "number", "exclusiveMinimum": above, **upper})


def text(pattern: str = "", most: float = float("inf"), form: str = "") -> Key:
    """Return a key that holds a text of a form, of so many characters at the most.

    Args:
        pattern: that it matches.
        most: characters.
        form: what the pattern is, for people.
    """

    def read(entry: Any, _: Reading) -> str:
        if not isinstance(entry, str):
            raise ValueError(f"{shown(entry)} must be a valid string")
        if not match(pattern, entry):
            raise ValueError(f"{shown(entry)} must {form or f'match pattern {pattern!r}'}")
        if len(entry) > most:
            raise ValueError(f"{shown(entry)} must have at most {most} characters")
        return entry

    schema: Form = {"type": "string"} | ({"pattern": pattern} if pattern else {})
    return Key(read, form=lambda: schema | ({} if most == float("inf") else {"maxLength": most}))


def yes_or_no() -> Key:
    """Return a key that holds true or false."""

    def read(entry: Any, _: Reading) -> bool:
        if type(entry) is not bool:
            raise ValueError(f"{shown(entry)} must be true or false")
        return entry

    return Key(read, form=lambda: {"type": "boolean"})


def word(*known: str) -> Key:
    """Return a key that holds one of a few words."""

    def read(entry: Any, _: Reading) -> str:
        if not isinstance(entry, str) or entry not in known:
            raise ValueError(f"{shown(entry)} is unknown; {did_you_mean(str(entry), known)}")
        return entry

    return Key(read, form=lambda: {"enum": list(known)})


def named_one(what: str, names: Callable[[], Collection[str]]) -> Key:
    """Return a key that holds one of some names, which are listed only if it does not."""

    def check(entry: str, _: Reading) -> str:
        if entry not in (known := names()):
            hint = did_you_mean(entry, list(known))
            raise ValueError(f"{what} {entry!r} is unknown; {hint}")
        return entry

    return text().checked(check).formed(lambda: {"enum": list(names())})


def anything() -> Key:
    """Return a key that holds a mapping of anything."""

    def read(entry: Any, _: Reading) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise ValueError(f"{shown(entry)} must be a mapping")
        return {str(name): value for name, value in entry.items()}

    return Key(read, form=lambda: {"type": "object"})


def each(kind: type[Section] | Key, least: int = 0) -> Key:
    """Return a key that holds a list, ``least`` long, of sections or of what a key holds."""

    def read(entries: Any, beside: Reading) -> tuple[Any, ...]:
        if not isinstance(entries, list | tuple) or len(entries) < least:
            some = f" of {least} at least" if least else ""
            raise ValueError(f"{shown(entries)} must be a list{some}")
        faults, found = Faults(), []
        for at, entry in enumerate(entries):
            with collecting(faults, at):
                found.append(kind.read(entry, beside))
        if faults:
            raise EntryError(faults)
        return tuple(found)

    few = {"minItems": least} if least else {}
    return Key(read, form=lambda: {"type": "array", "items": kind.form(), **few})


def shown(value: Any) -> str:
    """Return a value as a message has it."""
    try:
        return repr(value)
    except ValueError:  # a number of thousands of digits
        return f"something of type {type(value).__name__}"


def number_hint(value: Any) -> str:
    """Explain a number that YAML reads as a text."""
    try:
        found = float(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return "" if found is None else f"; YAML reads this as a text, write {found:.15g}"
