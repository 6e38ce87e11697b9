"""Sections of a study file that choose a registered part and set its options.

Which options there are, of which type and with which default, is what the part's factory says:
a part of another package is checked like a built-in one, and so are all four families of parts.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args, get_origin

from archloom.search import (
    BUDGET_ALLOCATORS,
    FUSION_SEARCHES,
    HARDWARE_OPTIMIZERS,
    MAPPING_SEARCHES,
    RENAMED,
    Family,
    renamed,
)
from archloom.space import Document, Fault, KeyPath, did_you_mean

from ..errors import entry_error
from ..sections import Form, Key, Reading, plain


@dataclass(frozen=True)
class Choice:
    """The name of a registered part, and its options beside it."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


def _read_choice(entry: Any, _: Reading) -> Choice:
    if isinstance(entry, Choice):
        return entry
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} must be a mapping with 'name' and options")
    if "name" not in entry:
        raise entry_error("is missing", "name")
    if not isinstance(entry["name"], str):
        raise entry_error(f"{entry['name']!r} must be a valid string", "name")
    return Choice(entry["name"], {str(k): v for k, v in entry.items() if k != "name"})


#: the key that holds a choice
CHOICE: Final = Key(_read_choice, lambda choice: {"name": choice.name, **plain(choice.options)})


def choice_form(family: Family[Any]) -> Form:
    """Return the JSON schema of a choice: each part of a family with its own options."""
    from pydantic import TypeAdapter

    options: dict[str, Form] = {}
    parts = []
    for name in family:
        own: dict[str, Form] = {}
        types = family.option_types(name, valid := family.options(name))
        for option, parameter in valid.items():
            kind = types.get(option)
            own[option] = {} if kind is None else TypeAdapter(kind).json_schema()
            if parameter.default is not inspect.Parameter.empty:
                own[option]["default"] = plain(parameter.default)
        # editors complete what the whole has; of several parts the first says what it means
        options = {**own, **options}
        names = {"enum": [name, *(old for old in family.old_names(name))]}
        then = {"properties": {"name": {}, **own}, "additionalProperties": False}
        parts.append({"if": {"properties": {"name": names}}, "then": then})
    known = [old for name in family for old in (name, *family.old_names(name))]
    return {
        "type": "object",
        "properties": {"name": {"enum": known}, **{option: {} for option in options}},
        "required": ["name"],
        "allOf": parts,
    }


def name_or_choice(family: Family[Any]) -> Form:
    """Return the JSON schema of a part's name, or of a choice of it with options."""
    choice = choice_form(family)
    return {"anyOf": [choice["properties"]["name"], choice]}


def complete(choice: Choice, family: Family[Any]) -> Choice:
    """Return the choice with every default written out, so that it keeps its meaning."""
    defaults = {
        name: option.default
        for name, option in family.options(choice.name).items()
        if option.default is not inspect.Parameter.empty
    }
    return Choice(choice.name, defaults | choice.options)


def option_problems(choice: Choice, family: Family[Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, what is wrong with it) for every option that the factory would refuse.

    Raises:
        ValueError: the part cannot be loaded.
    """
    valid = family.options(choice.name)
    types = family.option_types(choice.name, choice.options)
    for option, value in choice.options.items():
        if option not in valid:
            hint = did_you_mean(option, list(valid)) if valid else "it has no options"
            yield option, f"is no option of {choice.name!r}; {hint}"
        elif option in types:
            rule = _broken_rule(value, types[option])
            if rule:
                yield option, f"{value!r} {rule}"
    for option, parameter in valid.items():
        if parameter.default is inspect.Parameter.empty and option not in choice.options:
            yield "", f"{choice.name!r} needs the option {option!r}"


#: types of most options: what Python's own are called, and what may stand for them
_PLAIN: Final[Mapping[type, tuple[str, tuple[type, ...]]]] = {
    int: ("integer", (int,)),
    float: ("number", (int, float)),
    str: ("string", (str,)),
    bool: ("boolean", (bool,)),
}


def _broken_rule(value: Any, kind: Any) -> str:
    """Return what a value of some type must be and is not; empty if it is."""
    if kind in _PLAIN:
        word, known = _PLAIN[kind]
        return "" if type(value) in known else f"must be a valid {word}"
    if get_origin(kind) is Literal:
        *words, last = map(repr, get_args(kind))
        known_words = f"{', '.join(words)} or {last}" if words else last
        return "" if value in get_args(kind) else f"must be {known_words}"
    # other types are rare, and to import what knows them all takes a while
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        return str(error.errors()[0]["msg"]).replace("Input should be", "must be")
    return ""


def named_parts(software: Any) -> Any:
    """Return a ``software`` section as it is stored: searches by today's names, options apart.

    A search may be given as its name or, like optimizer and halving, as a mapping with its name and
    options. ``population`` is a key of the section itself, where all searches find it that breed.

    Raises:
        ValueError: the population is given twice, or an option is a mapping.
    """
    if not isinstance(software, Mapping):
        return software
    found = dict(software)
    for key in ("fusion", "mapping"):
        part = found.get(key)
        if not isinstance(part, Mapping) or not isinstance(part.get("name"), str):
            continue  # a name alone, or the section says what is wrong
        options = {str(k): v for k, v in part.items() if k != "name"}
        if any(isinstance(value, Mapping) for value in options.values()):
            raise ValueError(f"options of {key} must be texts, numbers, true, false or lists")
        if key == "fusion" and "population" in options:
            if "population" in found:
                raise ValueError("population is given both in fusion and beside it")
            found["population"] = options.pop("population")
        found |= {key: part["name"], f"{key}_options": options}
    for key in RENAMED:
        if isinstance(found.get(key), str):
            found[key] = renamed(key, found[key])
    return found


def frozen_options(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return options as a value that can be hashed."""
    pairs = sorted(options.items())
    return tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in pairs)


#: keys that choose a registered part
_FAMILIES: Final[Mapping[KeyPath, Family[Any]]] = {
    ("optimizer",): HARDWARE_OPTIMIZERS,
    ("halving",): BUDGET_ALLOCATORS,
    ("software", "fusion"): FUSION_SEARCHES,
    ("software", "mapping"): MAPPING_SEARCHES,
}


def choice_faults(document: Document) -> Iterator[Fault]:
    """Yield what is wrong with the sections whose keys depend on the part that they name."""
    for keys, family in _FAMILIES.items():
        section: Any = document.data
        for key in keys:
            section = section.get(key) if isinstance(section, dict) else None
        if not isinstance(section, dict) or not isinstance(section.get("name"), str):
            continue  # absent, a name alone, or the section says what is wrong
        if len(section) == 1 and family.comes_with_archloom(section["name"]):
            continue  # no options to check; to look at the part takes longer than all the rest
        options = {str(k): v for k, v in section.items() if k != "name"}
        choice = Choice(section["name"], options)
        for option, message in _option_faults(choice, family):
            yield Fault(document.place((*keys, option) if option else keys), message)


def _option_faults(choice: Choice, family: Family[Any]) -> list[tuple[str, str]]:
    """Return what is wrong with a choice, each with the option that it is about, if it is one."""
    if choice.name not in family:
        # the section knows the names of the searches of software
        named = family in (HARDWARE_OPTIMIZERS, BUDGET_ALLOCATORS)
        message = f"{choice.name!r} is unknown; {did_you_mean(choice.name, list(family))}"
        return [("name", message)] if named else []
    try:
        wrong = list(option_problems(choice, family))
        if not wrong and family is BUDGET_ALLOCATORS:
            # it says what it thinks of its numbers; others need a space or a network first
            family[choice.name](**choice.options)
    except ValueError as error:
        return [("", str(error))]
    return wrong
