"""Bounds of layers on one mesh of private buffers: what is unrolled there decides energy and cycles
together (docs/explanation/bounds_proofs.md, lemma 20).

``unrollings.py`` lists what a mesh may unroll, ``private_tiles.py`` tiles of one of its buffers,
``moved_words.py`` counts what both move, ``word_costs.py`` prices it, and ``corners.py`` has energy
and cycles of all of them. ``mesh_layer.py`` is a layer as they look at it, ``given_tiles.py``
bounds mappings some of whose tiles are given, and ``limit.py`` has the score that is to be beaten.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .corners import mesh_corners as mesh_corners
    from .given_tiles import (
        Further as Further,
        Given as Given,
        bound_tiles as bound_tiles,
        come_again as come_again,
        count_times as count_times,
        further_pj as further_pj,
        room_for_tiles as room_for_tiles,
    )
    from .limit import (
        NO_LIMIT as NO_LIMIT,
        Limit as Limit,
        below as below,
        least_score as least_score,
    )
    from .mesh_layer import (
        OnMesh as OnMesh,
        may_be_bounded as may_be_bounded,
        on_mesh as on_mesh,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
