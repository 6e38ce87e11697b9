"""Timeloop's problems: single shapes, and directories of them that make a network.

``shape.py`` and ``reader.py`` read one problem; ``layer.py``, ``layer_order.py`` and ``network.py``
make a network of a directory of them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .network import read_network as read_network
    from .reader import TENSORS as TENSORS, Problem as Problem, read_problem as read_problem
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
