"""Budget allocators: which trials of a batch continue, and with how many evaluations.

``protocol.py`` first; ``successive_halving.py`` is CASCO's modified halving, the plain one and
none, ``hyperband.py`` begins to halve at different rounds.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .protocol import (
        AllocatorFactory as AllocatorFactory,
        BudgetAllocator as BudgetAllocator,
        Curve as Curve,
        Standing as Standing,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
