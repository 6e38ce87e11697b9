"""What no nest around a group goes below.

``nest_bounds.py`` has corners of energy and latency below all nests of a group, from the least of
all that may stay in the buffer (``nest_prices.py``), where operands may pass it by or not
(``passing_facts.py``). ``close_nests.py`` makes them closer with energy and cycles of tiles
together.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .close_nests import NestRows as NestRows
    from .nest_bounds import (
        KnownNests as KnownNests,
        nest_corners as nest_corners,
        nest_words as nest_words,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
