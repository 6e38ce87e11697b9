"""Cache of machine code on disk, which notices a change in anything that kernels are made of.

numba checks the file of the function that it loads, and no file of what that function calls:
after an edit of a helper it would go on with the old code. So the cache of each file lies in a
folder that is named after a digest of the file, of the compiled functions and constants that it
imports, and of what those are made of in turn. Plain functions and modules do not count, for
kernels can call neither.
"""

import os
from collections.abc import Callable
from enum import Enum
from fcntl import LOCK_EX, flock
from hashlib import blake2b
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
from numba.core import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys


def once_among_processes(kernel: Any, folder: str, name: str) -> None:
    """Let one process compile a kernel; others that want it wait, and load it from the cache.

    Locks are taken in the order of calls between kernels, which has no cycles.
    """
    compile_here, lock = kernel.compile, Path(folder, f"{name}.lock")

    def compile_or_load(signature: object) -> object:
        # numba's own lock first: a thread that holds that of a file waits for no other thread
        with global_compiler_lock:
            if lock in _HELD:
                return compile_here(signature)
            try:
                file = lock.open("w")
            except OSError:
                return compile_here(signature)  # the folder has gone, and the cache with it
            with file:
                flock(file, LOCK_EX)
                _HELD.add(lock)
                try:
                    return compile_here(signature)
                finally:
                    _HELD.remove(lock)

    kernel.compile = compile_or_load


def load_alone(kernel: Any) -> None:
    """Let machine code be loaded without what could compile more of it.

    numba fills its tables of types and of functions that may be called before it looks into its
    cache. That takes half a CPU-second, imports scipy, and nothing of it is needed for code that is
    compiled; whatever compiles later fills them then.
    """
    kernel._cache.load_overload = MethodType(_load, kernel._cache)


def _load(cache: Any, signature: object, context: Any) -> object:
    """Stand in for numba's ``load_overload``; compiled code still allocates by its runtime."""
    rtsys.initialize(context)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)


#: locks of kernels that this process compiles, each called by the one before it
_HELD: set[Path] = set()


def cache_folder(function: Callable[..., object], chosen: str = "") -> str:
    """Return the folder that a function is cached in; empty, for no cache, if none can be made.

    Args:
        function: to be compiled; all that its file imports is imported by now.
        chosen: folder that the user wants all caches in, ``NUMBA_CACHE_DIR``.
    """
    file = Path(function.__code__.co_filename)
    name = f"{file.stem}-{digest(function)}{'-checked' * bool(config.BOUNDSCHECK)}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "archloom"
    places = [Path(chosen)] if chosen else [file.parent / "__pycache__", home]
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place / name, os.W_OK):
            return str(place / name)
    return ""


def digest(function: Callable[..., object]) -> str:
    """Return what changes when anything changes that a function's file compiles into kernels."""
    file = function.__code__.co_filename
    if file not in _DIGESTS:
        # this package chooses how numba compiles
        texts = [Path(file), *sorted(Path(__file__).parent.glob("*.py"))]
        found = blake2b(b"".join(text.read_bytes() for text in texts), digest_size=8)
        for name, value in sorted(function.__globals__.items()):
            # where a package lies and how it was loaded compiles into nothing
            if not name.startswith("__"):
                found.update(f"{name}={_compiled_in(value, file)};".encode())
        _DIGESTS[file] = found.hexdigest()
    return _DIGESTS[file]


#: by file; the first kernel of a file is decorated when all that the file imports is there
_DIGESTS: dict[str, str] = {}


def _compiled_in(value: object, file: str) -> str:
    """Return text that is equal for equal values of a global, if kernels can be made of them."""
    if isinstance(value, Dispatcher):
        same = value.py_func.__code__.co_filename == file
        return "" if same else digest(value.py_func)
    if isinstance(value, type) and issubclass(value, Enum):
        return str([(member.name, member.value) for member in value])
    if isinstance(value, type) and hasattr(value, "_fields"):
        return str(value._fields)
    if isinstance(value, tuple):
        names = getattr(value, "_fields", "")
        return f"{names}({', '.join(_compiled_in(part, file) for part in value)})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    return repr(value) if isinstance(value, _CONSTANTS) else ""


#: whose text is equal where they are
_CONSTANTS = (bool, int, float, complex, str, bytes, Enum, np.generic, np.dtype)
