"""Searches of mappings whose edge tiles are cut."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .search import Imperfect as Imperfect, best_imperfect as best_imperfect
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
