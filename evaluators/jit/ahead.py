"""Compilation of kernels before they are called: once on a machine, on all its cores.

Processes of their own compile, and end: what that takes (a gigabyte at times) is given back.
"""

import gc
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from os.path import commonpath
from pathlib import Path
from time import process_time
from typing import Any, Final

from numba.core.errors import NumbaError

from .signatures import Written, kernel_at, read_types

#: kernels by full name, each with the types of its arguments; what takes longest stands first
Kernels = Mapping[str, Sequence[Written]]

#: seconds after which a caller hears that nothing is done yet
PATIENCE_S: Final = 0.2


@dataclass(frozen=True)
class Compiled:
    """A kernel that was compiled.

    Attributes:
        name: its full name.
        cpu_s: what that took.
        error: why it could not be; it will then be compiled when it is called, and fail there.
    """

    name: str
    cpu_s: float
    error: str = ""


def cached_files(name: str, kind: str) -> list[Path]:
    """Return the files of a kernel in the cache, for what it is made of.

    Args:
        name: full name of the kernel.
        kind: ``nbi`` for its index, ``nbc`` for machine code.
    """
    kernel = kernel_at(name)
    folder = kernel._cache.cache_path
    return [*Path(folder).glob(f"*.{kernel.__name__}-*.{kind}")] if folder else []


def cache_root(kernels: Kernels) -> Path | None:
    """Return the folder below which all of the kernels are cached; None if some have none."""
    folders = [kernel_at(name)._cache.cache_path for name in kernels]
    return Path(commonpath(folders)) if folders and all(folders) else None


def missing(kernels: Kernels) -> list[str]:
    """Return the names of kernels that are not in the cache, what takes longest first.

    Names that there are no more are left out: their list is out of date, which is no reason to
    fail.
    """
    found = []
    for name in kernels:
        with suppress(ImportError, AttributeError):
            if not cached_files(name, "nbi"):
                found.append(name)
    return found


def compile_ahead(kernels: Kernels, workers: int) -> Iterator[list[Compiled]]:
    """Compile kernels into the cache; yield those that were done, none at times.

    What another process compiles at the same time is waited for. Whoever ends the iteration early
    ends the processes.

    Args:
        kernels: to compile, what takes longest first.
        workers: processes at a time.
    """
    # children must not inherit threads or locks, and import just what they need
    context = get_context("spawn")
    told = context.SimpleQueue()
    groups = _groups(kernels)
    begin = partial(ProcessPoolExecutor, max(1, min(workers, len(groups))), context)
    with begin(_prepare, (told,)) as pool:
        left = {pool.submit(_compile, group) for group in groups}
        try:
            while left:
                done, left = wait(left, PATIENCE_S, FIRST_COMPLETED)
                found = []
                while not told.empty():
                    found.append(told.get())
                for group in done:
                    found += group.result()
                yield found
        except BrokenProcessPool:
            # killed, for want of memory perhaps: what is left compiles where it is called
            left = set()
        finally:
            if left:
                for process in pool._processes.values():
                    process.terminate()
                pool.shutdown(cancel_futures=True)


def _groups(kernels: Kernels) -> list[Kernels]:
    """Return groups of kernels that share parts, each of which one process compiles.

    Kernels of neighbouring packages do: compiled apart, they take a fifth longer.
    """
    found: dict[str, dict[str, Sequence[Written]]] = {}
    for name, types in kernels.items():
        neighbours = name.rsplit(".", 3)[0]
        found.setdefault(neighbours, {})[name] = types
    return [*found.values()]


_told: Any = None


def _prepare(told: Any) -> None:
    global _told
    _told = told
    # Ctrl-C reaches all processes of a terminal; the one that waits ends the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a sixth of the time goes to looking for garbage, of which there is little
    gc.disable()


def _compile(kernels: Kernels) -> list[Compiled]:
    """Compile kernels, tell of each, and return those that could not be."""
    failed = []
    for name, signature in kernels.items():
        began = process_time()
        try:
            kernel_at(name).compile(read_types(signature))
        except (ImportError, AttributeError, NumbaError, TypeError, ValueError) as error:
            failed.append(Compiled(name, 0.0, f"{type(error).__name__}: {error}"))
        else:
            _told.put(Compiled(name, process_time() - began))
    return failed
