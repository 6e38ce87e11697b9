"""CASCO's genetic search over fusion plans.

``genetic.py`` searches groups alone, ``genetic_tilings.py`` groups and their tilings.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .genetic import GeneticPlanner as GeneticPlanner
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
