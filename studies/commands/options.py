"""Commands made from functions: each parameter's annotation says what option or argument it is.

It is a thin layer over click, which needs a fifth of the import time of frameworks that read
annotations. A command's options are looked at when it is called, not before. At the end stand the
options that several commands have.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import click
from click import echo
from click.exceptions import Exit

from archloom.studies.config import Location, location_of

from ..errors import INTERRUPTED

__all__ = ["App", "Argument", "Exit", "Option", "echo"]

#: columns of help, where the terminal has as many
_WIDEST = 110

_SETTINGS: Final = {"max_content_width": _WIDEST, "help_option_names": ["-h", "--help"]}


@dataclass(frozen=True)
class Argument:
    """What stands on the command line by its place.

    Attributes:
        metavar: its name in help.
        help: what it is.
        read: makes of the text what the command gets; may raise a user's error.
        names: kind of :data:`archloom.studies.rendering.text.KNOWN_NAMES` that a shell completes.
    """

    metavar: str
    help: str
    read: Callable[[str], object] | None = None
    names: str | None = None


@dataclass(frozen=True)
class Option:
    """What stands on the command line by its name.

    Attributes:
        name: with its dashes.
        help: what it is.
        metavar: of its value, in help.
        least: the least number that it may be.
        read: makes of the text what the command gets; may raise a user's error.
        names: kind of :data:`archloom.studies.rendering.text.KNOWN_NAMES` that a shell completes.
    """

    name: str
    help: str
    metavar: str | None = None
    least: int | None = None
    read: Callable[[str], object] | None = None
    names: str | None = None


class _Argument(click.Argument):
    """An argument with help."""

    def __init__(self, name: str, about: str, **settings: Any) -> None:
        super().__init__([name], **settings)
        self.about = about

    def make_metavar(self, ctx: click.Context) -> str:
        """Return its name as it is given, without decoration."""
        return self.metavar or super().make_metavar(ctx)


class _Command(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the arguments are, then the options."""
        arguments = [p for p in self.params if isinstance(p, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(p.make_metavar(ctx), p.about) for p in arguments])
        super().format_options(ctx, formatter)


class App(click.Group):
    """A group of commands.

    Args:
        help: what the program is for.
        epilog: an example.
    """

    def __init__(self, help: str, epilog: str) -> None:  # noqa: A002
        super().__init__(help=help, epilog=epilog, context_settings=dict(_SETTINGS))
        self.params += _logging()
        self._functions: dict[str, Callable[..., None]] = {}
        self._epilogs: dict[str, str] = {}

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Read the command line; see :meth:`invoke`."""
        with _stopped():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C before it listens for that ends it like any other program."""
        with _stopped():
            return super().invoke(ctx)

    def add(
        self, function: Callable[..., None], epilog: str, name: str | None = None
    ) -> Callable[..., None]:
        """Make a function a command; its docstring is the help, ``epilog`` ends it."""
        label = name or function.__name__
        self._functions[label], self._epilogs[label] = function, epilog
        return function

    def command_of(self, epilog: str, name: str | None = None) -> Callable[..., Any]:
        """Return a decorator that makes a function a command."""
        return lambda function: self.add(function, epilog, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command is for, in whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _purpose(made)) for name, made in self._functions.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is asked for; of one that there is not, name the nearest ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from archloom.space import did_you_mean

            nearest = did_you_mean(args[0], self._functions)
            raise click.UsageError(f"{error.message.rstrip('.')}; {nearest}", ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands, in the order in which they were added."""
        return list(self._functions)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command; None if there is none of that name."""
        function = self._functions.get(cmd_name)
        return _command(cmd_name, function, self._epilogs[cmd_name]) if function else None


@contextmanager
def _stopped() -> Iterator[None]:
    """Say that the user ended it, and give that exit code."""
    try:
        yield
    except KeyboardInterrupt:
        echo("stopped", err=True)
        raise Exit(INTERRUPTED) from None


def _purpose(function: Callable[..., None]) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _command(name: str, function: Callable[..., None], epilog: str) -> click.Command:
    return _Command(
        name,
        callback=function,
        params=[*_parameters(function), *_logging()],
        help=inspect.getdoc(function),
        epilog=epilog,
        context_settings=dict(_SETTINGS),
    )


def _logging() -> list[click.Option]:
    """Return the options that say how much is told on stderr, before and behind a command."""

    def say(context: click.Context, parameter: click.Parameter, level: str | bool | None) -> None:  # noqa: ARG001
        if level:
            from archloom.studies.engine.progress import say as begin

            begin("info" if level is True else level)

    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": say}
    levels = click.Choice(["warnings", "info", "debug"])
    about = "What to say of the work on stderr; -v is info."
    return [
        click.Option(["--log-level"], type=levels, default=None, help=about, **common),
        click.Option(
            ["-v", "--verbose"], is_flag=True, help="Say what is done, on stderr.", **common
        ),
    ]


def _parameters(function: Callable[..., None]) -> Iterator[click.Parameter]:
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
            yield _Argument(name, about.help, metavar=about.metavar, **common)
        elif kind is bool:
            yield click.Option([about.name, name], help=about.help, is_flag=True, default=False)
        else:
            yield click.Option(
                [about.name, name],
                help=about.help,
                metavar=about.metavar or {int: "N", float: "X"}.get(kind),
                type=_click_type(kind, about),
                required=missing,
                multiple=many,
                shell_complete=shell,
                **given,
            )


def _completer(kind: str) -> Callable[..., list[Any]]:
    """Return what finds the names for a shell that begin like what is written."""

    def found(context: click.Context, parameter: click.Parameter, begun: str) -> list[Any]:  # noqa: ARG001
        from click.shell_completion import CompletionItem

        from archloom.studies.rendering.text import KNOWN_NAMES

        names = [CompletionItem(name) for name in KNOWN_NAMES[kind]() if name.startswith(begun)]
        # most of these may be paths as well
        paths = {"studies": "dir", "study files": "file", "networks": "file", "hardware": "file"}
        return [*names, *([CompletionItem(begun, type=paths[kind])] if kind in paths else [])]

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
            self.fail("the name is empty; say . for this directory", param, ctx)
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


Study = Annotated[
    Location,
    Argument(
        "DIR",
        "Directory of a study, or postgresql://HOST/DATABASE#STUDY.",
        location_of,
        "studies",
    ),
]

Out = Annotated[
    str | None,
    Option(
        "--out",
        metavar="DIR",
        help="Of the study, or postgresql://HOST/DATABASE[#STUDY]; else what its storage says, "
        "or runs/<its name>.",
    ),
]

Pick = Annotated[
    str | None,
    Option(
        "--pick",
        metavar="RULE",
        help="ideal, knee or lexicographic; the study's own unless said.",
        names="pick rules",
    ),
]

AsJson = Annotated[bool, Option("--json", help="Print JSON, with all digits.")]

Seed = Annotated[int, Option("--seed", help="Of everything that is random.")]

HardwareSettings = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A parameter of the hardware's template; repeat."),
]

Technology = Annotated[
    str | None,
    Option("--technology", metavar="NAME", help="Price it in another table.", names="technologies"),
]

WordBits = Annotated[
    int | None, Option("--word-bits", help="Words of another width, the same bytes.")
]

NETWORK_SETTINGS: Final = "An option of the network, or a dimension or rank of the file; repeat."

MappingEvaluations = Annotated[
    int | None,
    Option(
        "--mapping-evaluations",
        metavar="N",
        least=1,
        help="For each layer, tile and residency.",
    ),
]
