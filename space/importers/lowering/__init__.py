"""Lowering of operator graphs to layers: operators become loop nests, without reshapes.

Start at ``lower_graph.py``, the walk over the graph. ``tensor_view.py`` and ``feature_map.py`` say
where the values of a tensor stand, ``context.py`` and ``draft_layer.py`` hold what has been made so
far; each other file lowers one family of operators.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .lower_graph import lower as lower
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
