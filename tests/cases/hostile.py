"""The command line on files that want its memory or time, and what it took."""

import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .studies import COMMAND

#: most that may be taken before something is refused; a process beyond either does not pass
MEMORY_MB: Final = 500
CPU_S: Final = 10


@dataclass(frozen=True)
class Ended:
    """How a command ended, what it said, and its largest resident memory."""

    code: int
    said: str
    memory_mb: float


def hostile(*words: str | Path, cwd: Path) -> Ended:
    """Run a command of archloom, which is killed after :data:`CPU_S` CPU-seconds."""
    said = cwd / "said"
    with said.open("w") as output:
        process = subprocess.Popen(
            [*COMMAND, *map(str, words)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, said.read_text(), used.ru_maxrss * 1024 / 1e6)


def aliases(depth: int, width: int = 8) -> str:
    """Return YAML in which a value stands ``width ** depth`` times, through aliases of aliases."""
    lines = [f"x0: &x0 [{', '.join(['1'] * width)}]"]
    lines += [f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * width)}]" for i in range(1, depth)]
    return "\n".join(lines) + "\n"


def empty_lists(count: int) -> str:
    """Return JSON that takes thirty times its own memory once it is read."""
    return f"[{','.join(['[]'] * count)}]"
