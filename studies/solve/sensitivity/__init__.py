"""Sensitivity of what a design costs to those values of it that no source gives.

Each value is divided and multiplied by a factor, one at a time. Read ``result.py``, what comes of
it; ``designs.py`` has the designs, ``pooled_mappings.py`` runs networks on them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .designs import sensitivity as sensitivity
    from .pooled_mappings import MappingsEffort as MappingsEffort
    from .result import (
        DECIDES as DECIDES,
        METRICS as METRICS,
        Effect as Effect,
        Metric as Metric,
        Outcome as Outcome,
        Sensitivity as Sensitivity,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
