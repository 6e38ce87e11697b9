"""A tool that runs in an interpreter of its own: a request in JSON, an answer in JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def ask(option: str, python: Path, tool: str, needed: str, program: str, asked: Any) -> Any:
    """Run a program in an interpreter, and return what it answers.

    Args:
        option: of the command line that names the interpreter, for messages.
        python: the interpreter.
        tool: its name in messages.
        needed: what has to be installed, for the message if it is not.
        program: text that reads a request and prints an answer.
        asked: the request.

    Ends the program with a message if it cannot run.
    """
    try:
        done = subprocess.run(
            [python, "-P", "-c", program],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        sys.exit(f"{option} {python}: {error.strerror}. {needed}")
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        sys.exit(f"{option} {python}: {tool} does not run: {last}. {needed}")
    return json.loads(done.stdout)
