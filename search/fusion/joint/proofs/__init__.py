"""What the joint planner proves of its plans.

``step_bounds.py`` first: what each step of the cut graph takes at the least, however it runs.
``bounded_tilings.py`` has the same of each tiling, whose figures rise with what is known of the
sizes in which layers run (``mapped_sizes.py``); ``core_tilings.py`` those on several cores
(``core_turns.py``), and ``nest_bounds.py`` all nests around a group (``nest_prices.py``).
``space_bound.py`` has the least EDP of all paths of such steps, and prices steps until it is near
that of the best plan; ``small_networks.py`` lists all options of a small network, nests as well.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .bounded_tilings import (
        BoundedTilings as BoundedTilings,
        without_sizes as without_sizes,
    )
    from .core_tilings import CoreTilings as CoreTilings
    from .mapped_sizes import MappedSizes as MappedSizes
    from .small_networks import prove_best as prove_best
    from .space_bound import prove_space as prove_space
    from .step_bounds import unbounded as unbounded
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
