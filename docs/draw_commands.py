"""The reference of commands, as Markdown from click's own help; the site has it on a page."""

import re
from collections.abc import Iterator

import click

from archloom.studies.commands.cli import app

PAGE = "reference/commands.md"
MENTION = re.compile(r"\bdocs/([\w/]+\.md)")


def commands() -> Iterator[str]:
    """Yield the lines of a section for each command."""
    context = click.Context(app, info_name="archloom")
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        yield from section(command, click.Context(command, info_name=name, parent=context))


def section(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield what `archloom COMMAND --help` says."""
    usage = " ".join(command.collect_usage_pieces(context))
    # click's \b marks paragraphs that it must not wrap
    text = (command.help or "").replace("\b", "")
    yield from (f"## archloom {context.info_name}", "", linked(text), "")
    yield from ("```text", f"{context.command_path} {usage}", "```", "")
    for title, kind in (("Argument", click.Argument), ("Option", click.Option)):
        found = [each for each in command.get_params(context) if isinstance(each, kind)]
        rows = [row for each in found if (row := each.get_help_record(context))]
        if rows:
            yield from (f"| {title} | Meaning |", "|---|---|")
            yield from (f"| `{names}` | {linked(cell(about))} |" for names, about in rows)
            yield ""
    examples = re.sub(r"^Examples?: ", "", " ".join((command.epilog or "").split()))
    if examples:
        yield from ("```sh", *examples.split("; "), "```", "")


def cell(text: str) -> str:
    """Return a text as a cell of a table has it."""
    return text.replace("|", "\\|").replace("[", "\\[")


def linked(text: str) -> str:
    """Return a text with the pages that it names as links."""
    return MENTION.sub(r"[\1](../\1)", text)
