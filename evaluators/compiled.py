"""Compiles kernels, with a cache on disk that notices a change in any file they are made of.

numba checks the file of the function it loads and no file of what that function calls: after
an edit of a helper it would go on with the old code, silently. So the cache lives in a folder
that is named after the contents of all files which kernels share.
"""

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_HERE = Path(__file__).parent

#: files whose functions and constants other kernels compile into themselves
_SHARED = (
    *(_HERE / f"{name}.py" for name in ("words", "noc", "extras", "setup", "kernel")),
    *(_HERE / f"{name}.py" for name in ("work", "level_room", "traffic_bounds")),
    _HERE / "clipped_words.py",
    *(_HERE / f"lane{name}.py" for name in ("_records", "_setup", "_tiles", "_prices", "s")),
    _HERE.parent / "space" / "dims.py",
    *(
        _HERE.parent / "search" / f"{name}.py"
        for name in ("draws", "permitted", "lane_moves", "lane_candidates")
    ),
    *(
        _HERE.parent / "search" / f"exact_{name}.py"
        for name in (
            *("frame", "orders", "hops", "closing", "lattice", "ports", "ahead", "labels", "walk"),
            *("pairs", "meshes", "outside", "siblings", "ends", "coupled", "goal", "bounded"),
            *("outline", "sieve", "sweeps"),
        )
    ),
)


@cache
def _folder() -> str:
    """Folder of the cache; empty (numba's own choice) where the package cannot be written."""
    digest = blake2b(digest_size=8)
    for path in _SHARED:
        digest.update(path.read_bytes())
    folder = _HERE / "__pycache__" / f"kernels-{digest.hexdigest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder)


def compiled(function: Function) -> Function:
    """Compile on first call and cache on disk; division follows numpy (no checks).

    While it runs, other threads run too.
    """
    return _jit(function, inline="never", _nrt=True)


def lean(function: Function) -> Function:
    """Like :func:`compiled`, but it counts no references, as a :func:`part`."""
    return _jit(function, inline="never", _nrt=False)


def part(function: Function) -> Function:
    """Compile as a part of the kernels that call it, with no wrapper for Python and no cache.

    It allocates nothing and counts no references to arrays (numba's ``_nrt``): what it is passed
    outlives the call, and counting takes longer than all else that a short function does.
    """
    jit: Any = numba.njit
    jitted: Function = jit(
        function, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
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
    config.CACHE_DIR = _folder() or before
    try:
        jitted: Function = jit(
            function,
            cache=True,
            error_model="numpy",
            nogil=True,
            no_cfunc_wrapper=True,
            **options,
        )
        return jitted
    finally:
        config.CACHE_DIR = before
