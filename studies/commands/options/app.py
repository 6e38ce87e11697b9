"""App: the program, whose commands are functions.

It is a thin layer over click, which needs a fifth of the import time of frameworks that read
annotations. A command's options are looked at when it is called, not before.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click
from click import echo as echo
from click.exceptions import Exit as Exit

from ...errors import INTERRUPTED
from .parameters import NamedArgument, parameters_of

#: columns of help, where the terminal has as many
_WIDEST = 110

#: how much is told on stderr, as ``say`` has it
_LEVELS: Final = ("warnings", "info", "debug")

_SETTINGS: Final = {"max_content_width": _WIDEST, "help_option_names": ["-h", "--help"]}

#: command lines that the help of a command ends with
Examples = tuple[str, ...]


def _write_examples(examples: Examples, formatter: click.HelpFormatter) -> None:
    """Write each example as a line that a shell takes, however long it is."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class _Command(click.Command):
    def __init__(self, name: str, examples: Examples, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the examples."""
        _write_examples(self.examples, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the arguments are, then the options."""
        arguments = [p for p in self.params if isinstance(p, NamedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(p.make_metavar(ctx), p.about) for p in arguments])
        super().format_options(ctx, formatter)


class App(click.Group):
    """A group of commands.

    Args:
        help: what the program is for.
        examples: command lines.
        exit_codes: what each exit code means.
    """

    def __init__(self, help: str, examples: Examples, exit_codes: Mapping[int, str]) -> None:  # noqa: A002
        super().__init__(help=help, context_settings=dict(_SETTINGS))
        self.params += _logging()
        self._own_examples, self._exit_codes = examples, exit_codes
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
        """Write the exit codes and the examples."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in self._exit_codes.items()])
        _write_examples(self._own_examples, formatter)

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
        params=[*parameters_of(function), *_logging()],
        help=inspect.getdoc(function),
        context_settings=dict(_SETTINGS),
    )


def _logging() -> list[click.Option]:
    """Return the options that say how much is told on stderr, before and behind a command."""

    def heard(context: click.Context, parameter: click.Parameter, level: str | bool | None) -> None:  # noqa: ARG001
        if level:
            from archloom.studies.engine.progress import say

            say("info" if level is True else level)

    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": heard}
    levels = click.Choice(_LEVELS)
    about = "Lowest level of the log messages that are printed on stderr (default: warnings)."
    return [
        click.Option(["--log-level"], type=levels, default=None, help=about, **common),
        click.Option(
            ["-v", "--verbose"], is_flag=True, help="The same as --log-level info.", **common
        ),
    ]
