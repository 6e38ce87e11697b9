"""Processes of this machine, as Linux has them: what they have used so far, and that one ends with
the one that began it, however that ended."""

import ctypes
import os
import signal
from pathlib import Path
from time import clock_gettime
from typing import Final

#: kind of clock that counts what the threads of a process ran (CPUCLOCK_SCHED of Linux)
_WHOLE_PROCESS: Final = 2

_GROUPS: Final = Path("/sys/fs/cgroup")

#: prctl's option (linux/prctl.h): the signal that a process gets when its parent ends
_PARENT_DEATH_SIGNAL: Final = 1


def end_with(parent: int) -> bool:
    """Have this process killed when its parent ends; return whether that one is still there.

    Args:
        parent: its process id.
    """
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    return os.getppid() == parent


def cpu_seconds(process: int) -> float:
    """Return the CPU time of all threads of a process, also of one that has ended and still counts.

    Raises:
        OSError: there is no such process.
    """
    # as clock_getcpuclockid(3) does it
    return clock_gettime((~process << 3) | _WHOLE_PROCESS)


def peak_bytes(process: int) -> int:
    """Return the most memory that a process has had resident at once; 0 if it has ended.

    Raises:
        OSError: there is no such process.
    """
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def machine_bytes() -> int:
    """Return the memory that the programs of this machine, or of this container, may have."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # version 2 of control groups has no names here; else the limit is one of several trees
        tree, name = (_GROUPS, "memory.max")
        if controllers:
            tree, name = (_GROUPS / "memory", "memory.limit_in_bytes")
        if controllers in ("", "memory"):
            group = tree / path.lstrip("/")
            found += [_limit(one / name) for one in (group, *group.parents) if one >= tree]
    return min(size for size in found if size > 0)


def _limit(file: Path) -> int:
    """Return the limit that a file holds; 0 if it holds none."""
    try:
        text = file.read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0
