"""Bounds of layers on one mesh of private buffers: what is unrolled there decides energy and cycles
together (docs/explanation/bounds_proofs.md, lemma 20).

``unrollings.py`` lists what a mesh may unroll, ``private_tiles.py`` tiles of one of its buffers,
``moved_words.py`` counts what both move, ``word_costs.py`` prices it, and ``corners.py`` has energy
and cycles of all of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .corners import mesh_corners as mesh_corners
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
