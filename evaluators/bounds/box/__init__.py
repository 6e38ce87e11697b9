"""What all designs of a box have at least: the best hardware that it could be, area and power.

Read ``relaxation.py``; ``parts.py`` has each part of a chip for itself.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .relaxation import Relaxation as Relaxation, Relaxed as Relaxed
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
