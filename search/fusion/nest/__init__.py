"""Loop nests around groups: candidates, and estimates of many at once.

``facts.py`` has what is known of a group on a design, and ``nests.py`` which nests are looked at.
Kernels estimate all sizes of tiles of some loops: ``loop_arrays.py`` has what they are given,
``loop_uses.py`` who runs when, ``loop_figures.py`` what one size costs, ``stays.py`` which operands
stay then, ``loop_search.py`` the best sizes, and ``loop_tables.py`` the figures of all of them.
``found_nests.py`` has the best of all orders of loops, ``streams.py`` what comes more than once to
those that are left, and ``waits.py`` for how long their layers wait. ``every.py`` and ``fits.py``
have all that may be better than what is known, for small groups, and ``mapped.py`` what they cost
with mappings.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .every import (
        NestLimit as NestLimit,
        kept_results as kept_results,
        nests_below as nests_below,
    )
    from .facts import NestFacts as NestFacts, shared_out as shared_out
    from .loop_arrays import LoopArrays as LoopArrays
    from .loop_tables import loop_table as loop_table
    from .mapped import MappedNests as MappedNests
    from .nests import (
        MOST_MEMBERS as MOST_MEMBERS,
        NestChoice as NestChoice,
        best_nests as best_nests,
        nestable as nestable,
    )
    from .stays import StayOptions as StayOptions
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
