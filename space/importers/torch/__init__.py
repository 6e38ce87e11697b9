"""Exported PyTorch programs, read into the neutral graph.

``reader.py`` is the whole way, ``operators.py`` the table of operators; torch itself is not
imported.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .reader import network_of as network_of
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
