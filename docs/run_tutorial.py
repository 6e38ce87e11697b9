"""Runs the tutorial as a reader would: every file is written and every command run, in order.

``python -m docs.run_tutorial FOLDER`` does it in an empty folder and prints what each command
prints, for the page to be written anew; ``tests/test_tutorial.py`` compares with what the page shows.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent / "tutorial.md"
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


def steps(text: str) -> Iterator[File | Command]:
    """Yield what a page tells its reader to do: blocks with a title are files, ``console`` is typed.

    Raises:
        ValueError: there is a block of another kind, which nobody would ever try.
    """
    for language, title, body in FENCE.findall(text):
        if title:
            yield File(title, body)
        elif language == "console":
            for typed in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, *shown = typed.rstrip("\n").split("\n")
                yield Command(line, tuple(each.rstrip() for each in shown))
        else:
            raise ValueError(f"a block of {language} without a title is never run: {body[:60]!r}")


def run(command: Command, folder: Path) -> list[str]:
    """Run a command with the programs of this environment; return the lines that it prints.

    Raises:
        subprocess.CalledProcessError: it failed; its ``stderr`` says why.
    """
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", command.line],
        cwd=folder,
        env=os.environ | {"PATH": programs, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=True,
    )
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
    for step in steps(PAGE.read_text("utf-8")):
        if isinstance(step, File):
            write(step, Path(sys.argv[1]))
        else:
            print(f"$ {step.line}", *run(step, Path(sys.argv[1])), sep="\n", flush=True)
