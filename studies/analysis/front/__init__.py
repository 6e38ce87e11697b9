"""Pareto fronts of studies: ``pareto_front.py`` in the objectives that a study searched, and
``other_objectives.py`` in those that it only recorded.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .pareto_front import (
        Front as Front,
        front_of as front_of,
        read_front as read_front,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
