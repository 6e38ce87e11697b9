"""Geometry of fused tiles: receptive fields, halos, and the words of feature maps at every step.

``receptive_field.py`` first, then ``sweep.py`` (one axis), ``geometry.py`` (regular tiles) and
``irregular.py`` (tiles of any sizes). ``tile_words.py`` has the sums that searches compare,
``least_words.py`` an estimate of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .geometry import GroupTiles as GroupTiles, Tiles as Tiles, group_tiles as group_tiles
    from .irregular import face_tiles as face_tiles
    from .least_words import (
        WeightPlaces as WeightPlaces,
        least_weight_words as least_weight_words,
    )
    from .receptive_field import Interval as Interval, needs as needs
    from .sweep import AxisSweep as AxisSweep, axis_sweep as axis_sweep
    from .tile_words import (
        MADE as MADE,
        AxisTiles as AxisTiles,
        TiledGroup as TiledGroup,
        TileWords as TileWords,
        tile_sizes as tile_sizes,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
