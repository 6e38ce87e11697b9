"""Weaving schedulers."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .mixing import (
        MixedStream as MixedStream,
        alone_ticks as alone_ticks,
        mixed_stream as mixed_stream,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
