"""Kernels that estimate all sizes of tiles of loops in one order.

``loop_arrays.py`` has what they are given, ``loop_uses.py`` who runs when, ``loop_figures.py`` what
one size costs, ``least_layers.py`` what layers take at the least, ``stays.py`` which operands stay
then, ``loop_search.py`` the best sizes, and ``loop_tables.py`` the figures of all of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .loop_arrays import (
        MADE as MADE,
        GroupArrays as GroupArrays,
        LoopArrays as LoopArrays,
        LoopSizes as LoopSizes,
        group_arrays as group_arrays,
        stay_prices as stay_prices,
    )
    from .loop_search import (
        GoodNests as GoodNests,
        good_nests as good_nests,
        which_fit as which_fit,
    )
    from .loop_tables import LoopTable as LoopTable, loop_table as loop_table
    from .stays import StayOptions as StayOptions
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
