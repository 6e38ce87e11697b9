"""Iterations of the loops of a nest: those that are evaluated, and tiles that a mask drops.

``loops.py`` has the iterations of one loop, ``masked.py`` the tiles of two loops over queries and
keys of which a mask leaves something, ``cells.py`` those that are looked at where it drops others,
``when_used.py`` those in which members run and operands are read, ``walked_loops.py`` all loops of
a nest together, and ``side_by_side.py`` those of cores that take iterations in turn.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cells import (
        masked_cells as masked_cells,
        shown_tiles as shown_tiles,
        unfolded_cells as unfolded_cells,
    )
    from .loops import (
        every as every,
        shown as shown,
        turns as turns,
    )
    from .masked import (
        KEYS as KEYS,
        QUERIES as QUERIES,
        TileGrid as TileGrid,
        seen_tiles as seen_tiles,
    )
    from .side_by_side import shares_in_turn as shares_in_turn
    from .walked_loops import CoreShare as CoreShare, WalkedLoops as WalkedLoops
    from .when_used import (
        ALL as ALL,
        BOTH as BOTH,
        FIRST as FIRST,
        LAST as LAST,
        uses as uses,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
