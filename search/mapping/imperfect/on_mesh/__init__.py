"""Proofs of mappings with factors of any size, on designs with one mesh of private buffers.

Read ``settle.py``: it asks, for each way to keep tensors, for a bound, and where that is below the
best mapping, for all mappings that may be better (``proof.py``). ``choices.py`` says whether what
is chosen of a mapping may be better, ``unrolled.py`` lists what a mesh may unroll, ``tiles.py`` has
what fits in buffers.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .settle import LOOKS as LOOKS, settled as settled
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
