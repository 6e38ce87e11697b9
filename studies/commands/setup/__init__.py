"""Commands for one's own work: ``archloom init``, with the starters that it copies.

``starters/`` has a study file and a hardware template for each of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .starter import INIT_EXAMPLES as INIT_EXAMPLES, init as init
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
