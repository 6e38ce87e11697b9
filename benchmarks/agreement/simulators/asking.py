"""Requests to simulators in interpreters of their own, and files of what they answered."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import other_interpreter

_ANSWERING: Final = Path(__file__).with_name("answering.py")


def ask(simulator: str, runner: Path, needed: str, python: Path, asked: Any) -> dict[str, Any]:
    """Run a simulator in its interpreter; an empty request returns versions.

    Args:
        simulator: its name in messages.
        runner: the text that the interpreter runs.
        needed: what has to be installed, for the message if it is not.
        python: the interpreter.
        asked: what the runner reads, as JSON.

    Returns:
        What the runner answers.

    Ends the program with a message if it cannot run.
    """
    parts = (runner.read_text(), _ANSWERING.read_text(), "answer(versions, simulate)\n")
    program = "\n".join(parts)
    found: dict[str, Any] = other_interpreter.ask(
        "--python", python, simulator, needed, program, asked
    )
    return found


def write(file: Path, about: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of recorded answers, a line for each row."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in about.items())
    file.write_text(f'{{{head}"rows": [\n{lines}\n]}}\n')


def read(file: Path) -> dict[str, Any]:
    """Return what a file of recorded answers holds."""
    found: dict[str, Any] = json.loads(file.read_text())
    return found
