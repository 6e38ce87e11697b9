"""Cuts of a network and the groups between them, whatever the design but for the size of a buffer.

``cut_graph.py`` first: a plan is a path through it. ``cut_groups.py`` has its groups, without pins;
``group_arrays.py`` what they are, as arrays; ``edge_kinds.py`` which edges cost the same, and
``whole_groups.py`` what moves for each kind in one piece.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cut_graph import CutEdge as CutEdge
    from .edge_kinds import (
        EdgeKinds as EdgeKinds,
        GroupAmongPins as GroupAmongPins,
        KindsOfGroups as KindsOfGroups,
    )
    from .whole_groups import WholeGroups as WholeGroups, WholeGroupsOf as WholeGroupsOf
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
