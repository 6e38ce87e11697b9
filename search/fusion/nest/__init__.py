"""Loop nests around groups: which may be good, estimated many at once.

``facts.py`` has what is known of a group on a design, ``estimates.py`` the estimates, for which
``placement.py`` says what stays; ``nests.py`` has which nests are looked at, and ``streams.py``
what comes more than once to those that are left.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .facts import NestFacts as NestFacts, shared_out as shared_out
    from .nests import (
        MOST_MEMBERS as MOST_MEMBERS,
        NestChoice as NestChoice,
        best_nests as best_nests,
        nestable as nestable,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
