"""How fast this machine is, for those who compare times."""

import os
from time import process_time
from typing import Final

_SUMS: Final = 300_000
_RUNS: Final = 3


def python_seconds() -> float:
    """Return the CPU-seconds that plain Python takes here for a million of ``s += i * i``: by the
    best of a few runs, for others may use the same core."""
    return 1e6 / _SUMS * min(_run() for _ in range(_RUNS))


def core_count() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _run() -> float:
    began, total = process_time(), 0
    for i in range(_SUMS):
        total += i * i
    return process_time() - began
