"""What the joint planner proves of its plans.

``step_bounds.py`` first: what each step of the cut graph takes at the least, however it runs.
``mapped_sizes.py`` has what is known of the sizes in which layers run, with which bounds of tilings
rise; ``core_tilings.py`` those bounds on several cores (``core_turns.py``), and :mod:`.nests` those
of all nests around a group.
``space_bound.py`` has the least EDP of all paths of such steps, and prices steps until it is near
that of the best plan; ``plan_space.py`` has that least on one design after another, without prices;
``small_networks.py`` lists all options of a small network, nests as well.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .core_tilings import CoreTilings as CoreTilings
    from .proven_plans import PROVEN as PROVEN, bounded_state as bounded_state
    from .small_networks import prove_best as prove_best
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
