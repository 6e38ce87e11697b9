"""Runs a page as a reader would: its files are written and its commands run, in order.

``python -m docs.run_page docs/tutorial.md FOLDER`` does it in an empty folder and prints what each
command prints, for the page to be written anew; ``tests/test_tutorial.py`` compares with what the
page shows.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that the reader types, and the lines that the page shows of its output."""

    line: str
    shown: tuple[str, ...]

    def excerpts(self) -> list[list[str]]:
        """Return the lines in pieces, as they stand between those left out."""
        found: list[list[str]] = [[]]
        for line in self.shown:
            if line.strip() == LEFT_OUT:
                found.append([])
            else:
                found[-1].append(line)
        return [piece for piece in found if piece]


def steps(text: str, *, every_block: bool = True) -> Iterator[File | Command]:
    """Yield what a page tells its reader to do: files (blocks with a title) and ``console``.

    Args:
        text: of the page.
        every_block: whether blocks of other kinds are refused, which nobody would ever try.

    Raises:
        ValueError: there is one.
    """
    for language, title, body in FENCE.findall(text):
        if title:
            yield File(title, body)
        elif language == "console":
            for typed in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, *shown = typed.rstrip("\n").split("\n")
                yield Command(line, tuple(each.rstrip() for each in shown))
        elif every_block:
            raise ValueError(f"a block of {language} without a title is never run: {body[:60]!r}")


def run(command: Command, folder: Path) -> list[str]:
    """Run a command with the programs of this environment; return the lines that it prints.

    Raises:
        RuntimeError: it failed.
    """
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", command.line],
        cwd=folder,
        env=os.environ | {"PATH": programs, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command.line}: exit code {done.returncode}\n{done.stderr}")
    return [line.rstrip() for line in done.stdout.splitlines()]


def write(file: File, folder: Path) -> None:
    """Write a file of the reader's."""
    path = folder / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file.text, "utf-8")


def missing(excerpts: list[list[str]], printed: list[str]) -> list[list[str]]:
    """Return the excerpts that do not stand in the output, each below the one before it."""
    start, wrong = 0, []
    for piece in excerpts:
        places = range(start, len(printed) - len(piece) + 1)
        at = next((i for i in places if printed[i : i + len(piece)] == piece), None)
        if at is None:
            wrong.append(piece)
        else:
            start = at + len(piece)
    return wrong


if __name__ == "__main__":
    page, place = map(Path, sys.argv[1:])
    for step in steps(page.read_text("utf-8"), every_block=False):
        if isinstance(step, File):
            write(step, place)
        else:
            print(f"$ {step.line}", *run(step, place), sep="\n", flush=True)
