"""``archloom completion``: the script with which a shell completes what is typed."""

from typing import Annotated, Final

import click

from archloom.studies.commands.options import Argument, echo
from archloom.studies.rendering.text import known

COMPLETION_EXAMPLES: Final = (
    "archloom completion zsh > ~/.zfunc/_archloom",
    'eval "$(archloom completion bash)"',
    "archloom completion fish | source",
)

SHELLS: Final = ("bash", "zsh", "fish")

#: tells the program, in a shell's environment, to complete rather than to run
_VARIABLE: Final = "_ARCHLOOM_COMPLETE"


def completion(
    shell: Annotated[str, Argument("SHELL", "bash (4.4 or newer), zsh or fish.", names=SHELLS)],
) -> None:
    """Print the script with which a shell completes commands, options and names.

    It completes studies under runs/, networks, presets and templates, and technologies.
    """
    from click.shell_completion import get_completion_class

    known(shell, "SHELL", SHELLS)
    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    program = click.get_current_context().find_root().command
    echo(made(program, {}, "archloom", _VARIABLE).source())
