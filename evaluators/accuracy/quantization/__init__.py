"""Quantisation after training: float16, and int8 with and without calibration.

``folding.py`` takes up batch norms, ``rounding.py`` says what is rounded to what, ``float16.py``
and ``int8.py`` make models of it that run.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .float16 import half_state as half_state, to_float16 as to_float16
    from .folding import folded as folded
    from .int8 import map_ranges as map_ranges, to_int8 as to_int8
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
