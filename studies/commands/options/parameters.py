"""Parameters of commands, from the annotations of a function's parameters."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click


@dataclass(frozen=True)
class Argument:
    """What stands on the command line by its place.

    Attributes:
        metavar: its name in help.
        help: what it is.
        read: makes of the text what the command gets; may raise a user's error.
        names: that a shell completes: a kind of
            :data:`archloom.studies.rendering.text.KNOWN_NAMES`, or the names.
    """

    metavar: str
    help: str
    read: Callable[[str], object] | None = None
    names: str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class Option:
    """What stands on the command line by its name.

    Attributes:
        name: with its dashes.
        help: what it is.
        metavar: of its value, in help.
        least: the least number that it may be.
        read: makes of the text what the command gets; may raise a user's error.
        names: that a shell completes: a kind of
            :data:`archloom.studies.rendering.text.KNOWN_NAMES`, or the names.
    """

    name: str
    help: str
    metavar: str | None = None
    least: int | None = None
    read: Callable[[str], object] | None = None
    names: str | tuple[str, ...] | None = None


class NamedArgument(click.Argument):
    """An argument with help."""

    def __init__(self, name: str, about: str, **settings: Any) -> None:
        super().__init__([name], **settings)
        self.about = about

    def make_metavar(self, ctx: click.Context) -> str:
        """Return its name as it is given, without decoration."""
        return self.metavar or super().make_metavar(ctx)


def parameters_of(function: Callable[..., None]) -> Iterator[click.Parameter]:
    """Return what click needs to know of the parameters of a function."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint, about = _unwrapped(hints[name])
        missing = parameter.default is parameter.empty
        many, kind = _kind(hint)
        # a default of None would count as a value that is there
        given: dict[str, Any] = {} if missing or many else {"default": parameter.default}
        shell = _completer(about.names) if about.names else None
        if isinstance(about, Argument):
            count = {"nargs": -1} if many else given
            common = {"type": _click_type(kind, about), "required": missing, **count}
            common["shell_complete"] = shell
            yield NamedArgument(name, about.help, metavar=about.metavar, **common)
        elif kind is bool:
            yield click.Option([about.name, name], help=about.help, is_flag=True, default=False)
        else:
            yield click.Option(
                [about.name, name],
                help=_with_default(about.help, given.get("default")),
                metavar=about.metavar or {int: "N", float: "X"}.get(kind),
                type=_click_type(kind, about),
                required=missing,
                multiple=many,
                shell_complete=shell,
                **given,
            )


def _with_default(text: str, value: object) -> str:
    """Return help with a default; where that is None, the text says itself what holds then."""
    return text if value is None else f"{text.removesuffix('.')} (default: {value})."


def _completer(names: str | tuple[str, ...]) -> Callable[..., list[Any]]:
    """Return what finds the names for a shell that begin like what is written."""

    def found(context: click.Context, parameter: click.Parameter, begun: str) -> list[Any]:  # noqa: ARG001
        from click.shell_completion import CompletionItem

        from archloom.studies.rendering.text import KNOWN_NAMES

        known = KNOWN_NAMES[names]() if isinstance(names, str) else names
        items = [CompletionItem(name) for name in known if name.startswith(begun)]
        # most of these may be paths as well
        files = ("study files", "networks", "hardware", "chips")
        paths = {"studies": "dir", **dict.fromkeys(files, "file")}
        return [*items, *([CompletionItem(begun, type=paths[names])] if names in paths else [])]

    return found


def _unwrapped(hint: Any) -> tuple[Any, Any]:
    """Return the type of a parameter, and what the command line says of it."""
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint} says neither argument nor option")
    kind, about = get_args(hint)
    return kind, about


def _kind(hint: Any) -> tuple[bool, type]:
    """Return whether there may be many, and the type of one."""
    if get_origin(hint) is UnionType:
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return (True, get_args(hint)[0]) if get_origin(hint) is list else (False, hint)


class _Read(click.ParamType[Any, Any]):
    """A value that a function reads."""

    name = "text"

    def __init__(self, read: Callable[[str], object]) -> None:
        self._read = read

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> object:
        """Return what the function makes of a text."""
        return self._read(value) if isinstance(value, str) else value


class _Path(click.Path):
    """A path, which an unset variable of a shell would leave empty."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path of a text."""
        if value == "":
            self.fail("the path is empty; use . for the current directory", param, ctx)
        return super().convert(value, param, ctx)


def _click_type(kind: type, about: Argument | Option) -> click.ParamType[Any, Any]:
    least = about.least if isinstance(about, Option) else None
    if about.read is not None:
        return _Read(about.read)
    if kind is Path:
        return _Path(path_type=Path)
    if kind is int and least is not None:
        return click.IntRange(min=least)
    known: dict[type, click.ParamType[Any, Any]] = {
        int: click.INT,
        float: click.FLOAT,
        str: click.STRING,
    }
    return known[kind]
