"""Maps between layers that cost any plan something: because a core needs them whole
(``gathered.py``), or because the buffer does not hold them (``crossing_maps.py``,
``crossing_kernel.py``).
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .crossing_kernel import least_crossings as least_crossings
    from .crossing_maps import (
        Crossing as Crossing,
        crossings as crossings,
        figures_of as figures_of,
        room_of as room_of,
    )
    from .gathered import (
        Gathered as Gathered,
        best_corner as best_corner,
        gathered_maps as gathered_maps,
        words_between as words_between,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
