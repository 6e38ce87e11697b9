"""Loop nests around groups: which may be good, estimated many at once.

``facts.py`` has what is known of a group on a design, ``estimates.py`` the estimates, for which
``stays.py`` and ``placement.py`` say what stays; ``nests.py`` has which nests are looked at,
``streams.py`` what comes more than once to those that are left, and ``waits.py`` for how long their
layers wait. ``every.py`` has all that may be better than what is known, for small groups.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .every import (
        HALF_GRAIN_PJ as HALF_GRAIN_PJ,
        NestLimit as NestLimit,
        nests_below as nests_below,
    )
    from .facts import NestFacts as NestFacts, shared_out as shared_out
    from .nests import (
        MOST_MEMBERS as MOST_MEMBERS,
        NestChoice as NestChoice,
        best_nests as best_nests,
        nestable as nestable,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
