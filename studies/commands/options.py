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


@dataclass(frozen=True)
class Argument:
    """What stands on the command line by its place.

    Attributes:
        metavar: its name in help.
        help: what it is.
        read: makes of the text what the command gets; may raise a user's error.
    """

    metavar: str
    help: str
    read: Callable[[str], object] | None = None


@dataclass(frozen=True)
class Option:
    """What stands on the command line by its name.

    Attributes:
        name: with its dashes.
        help: what it is.
        metavar: of its value, in help.
        least: the least number that it may be.
        read: makes of the text what the command gets; may raise a user's error.
    """

    name: str
    help: str
    metavar: str | None = None
    least: int | None = None
    read: Callable[[str], object] | None = None


#: command lines that the help of a command ends with
Examples = tuple[str, ...]


def _write_examples(examples: Examples, formatter: click.HelpFormatter) -> None:
    """Write each example as a line that a shell takes, however long it is."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class _Argument(click.Argument):
    """An argument with help."""

    def __init__(self, name: str, about: str, **settings: Any) -> None:
        super().__init__([name], **settings)
        self.about = about

    def make_metavar(self, ctx: click.Context) -> str:
        """Return its name as it is given, without decoration."""
        return self.metavar or super().make_metavar(ctx)


class _Command(click.Command):
    def __init__(self, name: str, examples: Examples, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the examples."""
        _write_examples(self.examples, formatter)

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
        examples: command lines.
    """

    def __init__(self, help: str, examples: Examples) -> None:  # noqa: A002
        super().__init__(help=help, context_settings={"max_content_width": _WIDEST})
        self._own_examples = examples
        self._functions: dict[str, Callable[..., None]] = {}
        self._examples: dict[str, Examples] = {}

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Read the command line; see :meth:`invoke`."""
        with _stopped():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C before it listens for that ends it like any other program."""
        with _stopped():
            return super().invoke(ctx)

    def add(
        self, function: Callable[..., None], examples: Examples, name: str | None = None
    ) -> Callable[..., None]:
        """Make a function a command; its docstring is the help, the examples end it."""
        label = name or function.__name__
        self._functions[label], self._examples[label] = function, examples
        return function

    def command_of(self, *examples: str) -> Callable[..., Any]:
        """Return a decorator that makes a function a command."""
        return lambda function: self.add(function, examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the examples."""
        _write_examples(self._own_examples, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command is for, in whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _purpose(made)) for name, made in self._functions.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands, in the order in which they were added."""
        return list(self._functions)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command; None if there is none of that name."""
        function = self._functions.get(cmd_name)
        return _command(cmd_name, function, self._examples[cmd_name]) if function else None


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


def _command(name: str, function: Callable[..., None], examples: Examples) -> click.Command:
    return _Command(
        name,
        examples,
        callback=function,
        params=list(_parameters(function)),
        help=inspect.getdoc(function),
        context_settings={"max_content_width": _WIDEST},
    )


def _parameters(function: Callable[..., None]) -> Iterator[click.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint, about = _unwrapped(hints[name])
        missing = parameter.default is parameter.empty
        many, kind = _kind(hint)
        # a default of None would count as a value that is there
        given: dict[str, Any] = {} if missing or many else {"default": parameter.default}
        if isinstance(about, Argument):
            count = {"nargs": -1} if many else given
            common = {"type": _click_type(kind, about), "required": missing, **count}
            yield _Argument(name, about.help, metavar=about.metavar, **common)
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
                **given,
            )


def _with_default(text: str, value: object) -> str:
    """Return help with a default; where that is None, the text says itself what holds then."""
    return text if value is None else f"{text.removesuffix('.')} (default: {value})."


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


Study = Annotated[
    Location,
    Argument("DIR", "Directory of the study, or postgresql://HOST/DATABASE#STUDY.", location_of),
]

Out = Annotated[
    str | None,
    Option(
        "--out",
        metavar="DIR",
        help="Directory for the study, or postgresql://HOST/DATABASE[#STUDY] (default: the "
        "study file's storage key; without it, runs/NAME for a study called NAME).",
    ),
]

Pick = Annotated[
    str | None,
    Option(
        "--pick",
        metavar="RULE",
        help="Rule that selects one design of the Pareto front: ideal (nearest to the best value "
        "of each objective), knee, or lexicographic (default: the study file's rule).",
    ),
]

AsJson = Annotated[bool, Option("--json", help="Print JSON, with unrounded numbers.")]

Seed = Annotated[int, Option("--seed", help="Seed of the random number generators.")]

HardwareSettings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Value of a parameter of the hardware template. May be repeated.",
    ),
]

Technology = Annotated[
    str | None,
    Option(
        "--technology",
        metavar="NAME",
        help="Technology table for energy, area and TDP; archloom technology lists them (default: "
        "the table that the hardware names).",
    ),
]

WordBits = Annotated[
    int | None,
    Option(
        "--word-bits",
        help="Word width in bits; capacities and bandwidths in bytes stay the same (default: the "
        "hardware's width).",
    ),
]

NETWORK_SETTINGS: Final = (
    "Value of an option of the network (sequence_length=384), of a symbolic dimension of an ONNX "
    "file, or of a rank of an einsum file. May be repeated."
)

_OTHERS: Final = "or the name of an installed plugin"

#: fusion planners and mapping searches, as ``archloom.search.registry`` has them
PLANNERS: Final = (
    f"casco, casco_tilings, deepfrack, fast, fast_printed, joint, none, optimus, {_OTHERS}"
)
MAPPING_SEARCHES: Final = f"auto, exact, genetic, local, random, {_OTHERS}"

MappingEvaluations = Annotated[
    int | None,
    Option(
        "--mapping-evaluations",
        metavar="N",
        least=1,
        help="Maximum number of mappings evaluated for each mapping problem (a layer with its tile "
        "shape and the tensors already in the buffer) (default: 100000).",
    ),
]
