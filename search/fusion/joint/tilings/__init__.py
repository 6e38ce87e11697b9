"""Tilings of groups in a shared buffer, whatever else the design is.

``group_tiles.py`` has what tiles of a group hold and move and what runs in them, and
``buffer_tilings.py`` which of them fit a buffer; ``columns.py`` says where the costs of their
layers stand in arrays. ``bounded_tilings.py`` has figures of them that no mappings go below.
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
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
