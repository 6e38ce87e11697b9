"""Tables of streams: networks that share an NPU, interleaved by several schedulers."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .stream_rows import StreamRow as StreamRow, woven as woven
    from .stream_table import StreamTable as StreamTable
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
