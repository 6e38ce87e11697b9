"""Costs of layers whose operands stream from DRAM: one by itself, or one with what is folded in.

Read ``layer.py``, then ``folded.py``; ``sub_batches.py`` has batches that run in parts, and
weights that are loaded once.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .folded import folded_buffer_use as folded_buffer_use, folded_layer as folded_layer
    from .layer import (
        naming as naming,
        streamed_buffer_use as streamed_buffer_use,
        streamed_layer as streamed_layer,
        streamed_problem as streamed_problem,
    )
    from .sub_batches import loaded_words as loaded_words, of_all_parts as of_all_parts
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
