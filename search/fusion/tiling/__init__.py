"""Tilings of one group: candidates, estimates of their costs, and the default choice.

``default.py`` first: the tiling of a group when nobody searches for one.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .candidates import tilings as tilings
    from .default import (
        WeightUsers as WeightUsers,
        choose_weights as choose_weights,
        staying_weights as staying_weights,
        tile_group as tile_group,
        weight_users as weight_users,
    )
    from .estimates import (
        LayerTile as LayerTile,
        TileEstimates as TileEstimates,
        tile_nest as tile_nest,
    )
    from .grid import (
        GroupTilings as GroupTilings,
        Tile as Tile,
        in_one_piece as in_one_piece,
        least_weights as least_weights,
        leaving_out as leaving_out,
    )
    from .known_tilings import several_on_cores as several_on_cores
    from .least_tiles import LeastTiles as LeastTiles
    from .mesh_utilisation import even_sides as even_sides
    from .size_numbers import SizeNumbers as SizeNumbers
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
