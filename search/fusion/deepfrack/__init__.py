"""DeepFrack's planner: stacks of layers in tiles of a face, with cached weights.

``planner.py`` chooses stacks, by ``range_paths.py`` and ``range_scores.py``; ``stack.py`` and
``tile_benchmark.py`` cost them; ``face_tiling.py``, ``guillotine.py`` and ``knapsack.py`` find
tiles and cached weights exactly. ``ranges.py``, ``extents.py`` and ``tile_sets.py`` have what
follows from the network alone.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .planner import CostObjective as CostObjective, DeepFrackSearch as DeepFrackSearch
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
