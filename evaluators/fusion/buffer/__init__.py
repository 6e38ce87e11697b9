"""The shared buffer under a fused group: words needed, capacity left, and why it overflows.

``words.py`` first; ``capacity.py`` is what a group leaves for streamed weights, ``demand.py`` the
step that needs most, in words for users. ``kept.py`` is what passes through.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .capacity import (
        BufferFit as BufferFit,
        BufferNeeds as BufferNeeds,
        buffer_needs as buffer_needs,
        pinned_overflow as pinned_overflow,
        resident_loads as resident_loads,
    )
    from .demand import (
        bytes_text as bytes_text,
        group_name as group_name,
        map_names as map_names,
        over_capacity as over_capacity,
        overflow as overflow,
        peak_demand as peak_demand,
    )
    from .kept import kept_words as kept_words
    from .words import (
        buffer_words as buffer_words,
        fusion_blocked as fusion_blocked,
        kept_on_cores as kept_on_cores,
        shape_of as shape_of,
        streams as streams,
        tiles_of as tiles_of,
        without_second_map as without_second_map,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
