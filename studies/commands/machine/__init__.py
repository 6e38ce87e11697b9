"""Commands about the machine: what is compiled on it, and whether it is ready."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import COMPILE_EXAMPLES as COMPILE_EXAMPLES, compile_ as compile_
    from .doctor import diagnose as diagnose
    from .kernels import (
        compile_here as compile_here,
        compile_missing as compile_missing,
        default_kernels as default_kernels,
    )
    from .speed import core_count as core_count, python_seconds as python_seconds
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
