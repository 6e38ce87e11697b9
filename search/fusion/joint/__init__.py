"""The joint planner: groups, tiles, halos, resident weights and pinned feature maps at once.

``planner.py`` first; a plan is a path (``shortest_path.py``) through cuts of the network
(``cuts``), whose steps are chosen among the options of ``single_buffer_options.py`` or, on chips
of several cores, ``multicore_options.py`` (their ``tilings``); ``option_table.py`` estimates and
costs them. ``neighbours.py`` goes on from the best of them, and ``proof.py`` proves the best of a
small network.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .neighbours import (
        Regrouping as Regrouping,
        joins as joins,
        regrouped as regrouped,
        ways as ways,
    )
    from .proofs.plan_space import PlanSpaces as PlanSpaces
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
