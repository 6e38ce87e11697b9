"""Optimus' own cost: DRAM words of fused and of single layers (Cai et al., ACM TECS 22(1), 2022).

Only its planner, :mod:`archloom.search.fusion.optimus`, minimises it; plans are costed as all
others.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .fused import (
        BandCost as BandCost,
        LineBuffers as LineBuffers,
        inputs_read as inputs_read,
        line_buffers as line_buffers,
        sliceable_maps as sliceable_maps,
    )
    from .unfused import layer_words as layer_words
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
