"""Kernels that Halide compiles: three algorithms for dense weights, two for weights in CSR.

Ragan-Kelley et al., "Halide: a language and compiler for optimizing parallelism, locality, and
recomputation in image processing pipelines" (PLDI 2013): what is computed is said apart from how
its loops run. Read ``formula.py``, then ``direct.py``, ``gemm.py``, ``spatial_pack.py`` and
``sparse.py``; ``compile.py`` makes functions of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .compile import compiled_layer as compiled_layer
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
