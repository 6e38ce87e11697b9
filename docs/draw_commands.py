"""The reference of commands, as Markdown from click's own help; the site has it on a page."""

import re
from collections.abc import Iterator
from pathlib import Path

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
    yield from (f"## archloom {context.info_name}", "", linked(text.replace("<", "&lt;")), "")
    yield from ("```text", f"{context.command_path} {usage}", "```", "")
    parameters = command.get_params(context)
    arguments = [each for each in parameters if isinstance(each, click.Argument)]
    options = (each.get_help_record(context) for each in parameters if each not in arguments)
    for title, rows in (
        ("Argument", [(each.make_metavar(context), about(each)) for each in arguments]),
        ("Option", [row for row in options if row]),
    ):
        if rows:
            yield from (f"| {title} | Meaning |", "|---|---|")
            yield from (f"| `{names}` | {linked(cell(text))} |" for names, text in rows)
            yield ""
    yield from ("```sh", *getattr(command, "examples", ()), "```", "")


def about(argument: click.Argument) -> str:
    """Return what an argument is; click's own arguments do not say."""
    text: str = getattr(argument, "about", "")
    return text


def cell(text: str) -> str:
    """Return a text as a cell of a table has it."""
    return text.replace("|", "\\|").replace("[", "\\[").replace("<", "&lt;")


def linked(text: str) -> str:
    """Return a text with the pages that it names as links, by their titles."""
    return MENTION.sub(lambda page: f"[{title(page[1])}](../{page[1]})", text)


def title(page: str) -> str:
    """Return the first heading of a page below ``docs/``."""
    first = (Path(__file__).parent / page).read_text("utf-8").partition("\n")[0]
    return first.removeprefix("# ")
