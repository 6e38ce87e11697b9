"""Loop nests around groups: candidates, and estimates of many at once.

``facts.py`` has what is known of a group on a design, and ``nests.py`` which nests are looked at.
:mod:`.estimates` has the kernels that estimate all sizes of tiles of some loops.
``found_nests.py`` has the best of all orders of loops, ``streams.py`` what comes more than once to
those that are left, and ``waits.py`` for how long their layers wait. ``every.py`` and ``fits.py``
have all that may be better than what is known, for small groups, and ``mapped.py`` what they cost
with mappings.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .estimates import (
        LoopArrays as LoopArrays,
        LoopTable as LoopTable,
        loop_table as loop_table,
    )
    from .every import (
        NestLimit as NestLimit,
        kept_results as kept_results,
        nests_below as nests_below,
    )
    from .facts import NestFacts as NestFacts, shared_out as shared_out
    from .mapped import MappedNests as MappedNests
    from .nests import (
        MOST_MEMBERS as MOST_MEMBERS,
        NestChoice as NestChoice,
        best_nests as best_nests,
        nestable as nestable,
        skips_words as skips_words,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
