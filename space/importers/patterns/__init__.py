"""Patterns of small operators that are one operator: activations, norms, masks, padding.

``rewrite.py`` applies all of them to a graph before it is lowered; ``matching.py`` looks back
through the graph for them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .matching import live as live
    from .rewrite import simplify as simplify
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
