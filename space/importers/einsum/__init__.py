"""Networks from YAML files in extended Einsum notation: ranks, and one line per operator.

``syntax.py`` has the parts of a line and ``parser.py`` reads it. ``file.py`` reads what else a file
has, ``ranks.py`` the sizes; ``tensors.py`` compares all that is said of each tensor.
``translation.py`` turns lines into a graph, products in ``product.py`` and windows in
``window.py``, and ``reader.py`` has that lowered.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .reader import read_einsums as read_einsums
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
