"""The machine that kernels are timed on: processor, flags, libraries, load; and pinned cores."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from archloom.space import Infeasible

#: flags of a processor that decide which vector code there is
FLAGS: Final = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni"),
    *("avx512_fp16", "avx512_bf16", "amx_int8", "asimd", "asimdhp", "asimddp", "sve"),
)

_LIBRARIES: Final = ("halide", "torch", "numba", "numpy", "archloom")

#: with several threads, time is that of a clock: load of others, for each core, that is too much
MOST_LOAD: Final = 0.5

#: environment of a worker: every library runs on as many threads as are measured
_THREADS: Final = (
    "HL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts that a time depends on.

    Attributes:
        cpu: model of the processor.
        flags: those of :data:`FLAGS` that it has.
        cores: that this process may use.
        threads: of a kernel.
        libraries: versions by name; those that are not installed are left out.
        python: its version.
    """

    cpu: str
    flags: tuple[str, ...]
    cores: int
    threads: int
    libraries: tuple[tuple[str, str], ...]
    python: str

    @property
    def record(self) -> dict[str, Any]:
        """The facts as JSON."""
        lists = {"flags": list(self.flags), "libraries": dict(self.libraries)}
        return {**asdict(self), **lists}


def this_machine(threads: int) -> Machine:
    """Return the facts of this machine."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(errors="replace") if path.exists() else ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.M)
    flags = set(found[1].split()) if found else set()
    return Machine(
        cpu=model[1].strip() if model else platform.processor() or platform.machine(),
        flags=tuple(flag for flag in FLAGS if flag in flags),
        cores=len(usable_cores()),
        threads=threads,
        libraries=tuple((name, v) for name in _LIBRARIES if (v := _version(name))),
        python=platform.python_version(),
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def has_halide() -> bool:
    """Whether the package halide is installed."""
    return find_spec("halide") is not None


def usable_cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextmanager
def pinned(cores: list[int]) -> Iterator[None]:
    """Keep this process on some cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def thread_environment(threads: int) -> dict[str, str]:
    """Return the environment of a worker whose kernels have so many threads."""
    return {**os.environ, **dict.fromkeys(_THREADS, str(threads))}


def too_busy(threads: int, load: float, cores: int) -> Infeasible | None:
    """Return why kernels cannot be timed now: None with one thread, whose own time is counted.

    Args:
        threads: of a kernel.
        load: processes that want to run, on average over the last minute.
        cores: of the machine.
    """
    if threads == 1 or load <= MOST_LOAD * cores:
        return None
    hint = (
        f"the load average is {load:.2f}, and timing kernels of several threads needs at most "
        f"{MOST_LOAD * cores:g}; wait for other processes to end, or measure with one thread"
    )
    return Infeasible("machine_busy", "this machine", 1, 0, "", hint)
