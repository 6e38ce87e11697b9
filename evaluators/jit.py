"""Compilation of kernels, with a cache on disk that notices a change in anything they are made of.

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
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile on first call and cache on disk; division follows numpy (no checks).

    While it runs, other threads run too.
    """
    return _jit(function, inline="never", _nrt=True)


def lean(function: Function) -> Function:
    """Like :func:`compiled`, but it counts no references, as a :func:`helper`."""
    return _jit(function, inline="never", _nrt=False)


def helper(function: Function) -> Function:
    """Compile as a part of the kernels that call it, with no wrapper for Python and no cache.

    It allocates nothing and counts no references to arrays (numba's ``_nrt``): what it is passed
    outlives the call, and counting takes longer than all else that a short function does.
    """
    return _part(function, forceinline=False)


def expanded(function: Function) -> Function:
    """Like :func:`helper`, and always copied into its callers once it is compiled.

    For what is passed large records in inner loops. It compiles once, where one that is
    :func:`inlined` compiles again in each caller.
    """
    return _part(function, forceinline=True)


def _part(function: Function, **options: Any) -> Function:
    jit: Any = numba.njit
    jitted: Function = jit(
        function,
        error_model="numpy",
        _nrt=False,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        **options,
    )
    return jitted


def inlined(function: Function) -> Function:
    """Like :func:`compiled`, copied into each caller.

    For helpers of a line or two, and for what one kernel calls in one place.
    """
    return _jit(function, inline="always", _nrt=True)


def _jit(function: Function, **options: Any) -> Function:
    # numba reads the folder while it decorates; other users of numba keep theirs
    config: Any = numba.config
    jit: Any = numba.njit
    before = config.CACHE_DIR
    folder = cache_folder(function, before)
    config.CACHE_DIR = folder or before
    try:
        jitted: Function = jit(
            function,
            cache=bool(folder),
            error_model="numpy",
            nogil=True,
            no_cfunc_wrapper=True,
            **options,
        )
        return _once_among_processes(jitted, folder, function.__qualname__)
    finally:
        config.CACHE_DIR = before


def _once_among_processes(jitted: Function, folder: str, name: str) -> Function:
    """Let one process compile a kernel; others that want it wait, and load it from the cache.

    Locks are taken in the order of calls between kernels, which has no cycles.
    """
    # numba returns the function itself where a debugger wants no compiled code
    if not folder or not isinstance(jitted, Dispatcher):
        return jitted
    dispatcher: Any = jitted
    compile_here, lock = dispatcher.compile, Path(folder, f"{name}.lock")

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

    dispatcher.compile = compile_or_load
    return jitted


#: locks of kernels that this process compiles, each called by the one before it
_HELD: set[Path] = set()


def cache_folder(function: Callable[..., object], chosen: str = "") -> str:
    """Return the folder that a function is cached in; empty, for no cache, if none can be made.

    Args:
        function: to be compiled; all that its file imports is imported by now.
        chosen: folder that the user wants all caches in, ``NUMBA_CACHE_DIR``.
    """
    file = Path(function.__code__.co_filename)
    name = f"{file.stem}-{digest(function)}"
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
        # this file chooses how numba compiles
        found = blake2b(Path(file).read_bytes() + Path(__file__).read_bytes(), digest_size=8)
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
