"""Tilings of groups in a shared buffer, whatever else the design is.

``group_tiles.py`` has what tiles of a group hold and move and what runs in them, and
``buffer_tilings.py`` which of them fit a buffer; ``columns.py`` says where the costs of their
layers stand in arrays. ``tiling_sums.py`` has what they add up, and ``bounded_tilings.py`` figures
of them that no mappings go below.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .bounded_tilings import (
        BoundedTilings as BoundedTilings,
        without_sizes as without_sizes,
    )
    from .buffer_tilings import (
        BufferFacts as BufferFacts,
        BufferTilings as BufferTilings,
        PlacedTiling as PlacedTiling,
    )
    from .columns import OptionColumns as OptionColumns
    from .group_tiles import GroupTiling as GroupTiling
    from .tiling_sums import (
        NO_TILINGS as NO_TILINGS,
        MovedPrices as MovedPrices,
        TilingSums as TilingSums,
        joined_sums as joined_sums,
        moved_prices as moved_prices,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
