"""What a process of this machine has used so far, as Linux tells it, and what the machine has."""

import os
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_GROUPS: Final = Path("/sys/fs/cgroup")


def cpu_seconds(process: int) -> float:
    """Return the CPU time of all threads of a process, to a hundredth of a second.

    Raises:
        OSError: there is no such process.
    """
    # behind the name, which may hold anything: the state is the first (proc_pid_stat(5))
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


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
