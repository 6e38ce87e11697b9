"""Requests to simulators in interpreters of their own, and files of what they answered."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


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
    program = f"{runner.read_text()}\nmain()\n"
    try:
        done = subprocess.run(
            [python, "-P", "-c", program],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        sys.exit(f"--python {python}: {error.strerror}. {needed}")
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        sys.exit(f"--python {python}: {simulator} does not run: {last}. {needed}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def write(file: Path, about: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of recorded answers, a line for each row."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in about.items())
    file.write_text(f'{{{head}"rows": [\n{lines}\n]}}\n')


def read(file: Path) -> dict[str, Any]:
    """Return what a file of recorded answers holds."""
    found: dict[str, Any] = json.loads(file.read_text())
    return found
