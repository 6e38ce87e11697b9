"""The command line on files that want its memory or time, and what it took."""

import resource
import subprocess
import sys
import zlib
from base64 import b85encode
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final

#: most that may be taken before something is refused; a process beyond either does not pass
MEMORY_MB: Final = 500
CPU_S: Final = 10

_PEAK: Final = "largest resident KiB: "

#: A command that says in the end how much memory it had, and its children. What others say of a
#: process counts the one that it was forked from as well.
_COMMAND: Final = f"""\
import atexit, re, resource
from pathlib import Path
def peak():
    own = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
    print({_PEAK!r}, max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), sep="")
atexit.register(peak)
from archloom.studies.commands.cli import main
main()
"""


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
            [sys.executable, "-c", _COMMAND, *map(str, words)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
        )
    code = process.wait()
    text, told, peak = said.read_text().rpartition(_PEAK)
    # a process that was killed tells nothing
    return Ended(code, text if told else peak, int(peak) * 1024 / 1e6 if told else inf)


def aliases(depth: int, width: int = 8) -> str:
    """Return YAML in which a value stands ``width ** depth`` times, through aliases of aliases."""
    lines = [f"x0: &x0 [{', '.join(['1'] * width)}]"]
    lines += [f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * width)}]" for i in range(1, depth)]
    return "\n".join(lines) + "\n"


def empty_lists(count: int) -> str:
    """Return JSON that takes thirty times its own memory once it is read."""
    return f"[{','.join(['[]'] * count)}]"


def packed(text: str) -> str:
    """Return a result as a journal has it."""
    return b85encode(zlib.compress(text.encode())).decode()


def refused(*words: str | Path, cwd: Path, says: str, code: int = 2) -> None:
    """Run a command; it must refuse with one message, and take little."""
    ended = hostile(*words, cwd=cwd)
    assert ended.code == code, ended.said
    assert says in ended.said
    assert "Traceback" not in ended.said
    assert len(ended.said) < 40_000
    assert ended.memory_mb < MEMORY_MB
