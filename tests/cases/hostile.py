"""The command line on files that want its memory or time, and what it took."""

import zlib
from base64 import b85encode
from pathlib import Path
from typing import Final

from .studies import TINY
from .warm_command import Done, warm_command_of_now

#: most that may be taken before something is refused; a process beyond either does not pass
MEMORY_MB: Final = 500
CPU_S: Final = 10


def hostile(*words: str | Path, cwd: Path) -> Done:
    """Run a command of archloom, which is killed after :data:`CPU_S` CPU-seconds."""
    done = warm_command_of_now(TINY).run([str(word) for word in words], cwd, CPU_S)
    assert done is not None
    return done


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
