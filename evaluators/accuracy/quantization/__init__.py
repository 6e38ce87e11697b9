"""Quantisation after training: float16, and integers of few bits with and without calibration.

``folding.py`` takes up batch norms, ``rounding.py`` says what is rounded to what, ``float16.py``
and ``integers.py`` make models of it that run.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .float16 import half_state as half_state, to_float16 as to_float16
    from .folding import folded as folded
    from .integers import (
        calibrated_ranges as calibrated_ranges,
        map_ranges as map_ranges,
        to_integers as to_integers,
    )
    from .rounding import MOST_BITS as MOST_BITS
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
