"""Compilation of kernels: once each, with all their parts, and cached on disk.

``decorators.py`` has what kernels and parts are marked with, ``references.py`` how records are
passed to parts and ``unboxing.py`` how Python passes them, ``pipelines.py`` how numba compiles a
function, by ``passes.py``, ``calls.py`` and ``lowering.py``, which ``short_forms.py`` tells what
needs no value, without the ``upkeep.py`` of what nobody watches;
``libraries.py`` how a kernel is optimised with its parts, ``cache.py`` where machine code is kept,
``ahead.py`` how kernels are compiled before their first call, by types that ``signatures.py``
reads. ``copies.py`` has parts that kernels of all packages share.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .ahead import (
        Compiled as Compiled,
        Kernels as Kernels,
        cache_root as cache_root,
        compile_ahead as compile_ahead,
        missing as missing,
    )
    from .copies import (
        copy_row as copy_row,
        copy_table as copy_table,
        descending as descending,
        fill_row as fill_row,
        fill_table as fill_table,
    )
    from .decorators import (
        allocating as allocating,
        compiled as compiled,
        helper as helper,
        lean as lean,
    )
    from .signatures import Written as Written
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
