"""Single searches for the command line: a mapping, a front of mappings, a plan, under a clock.

``interruptible.py`` runs a search in a thread that Ctrl-C stops; the other modules use it.
:mod:`.measuring` times kernels on this machine, :mod:`.compression` finds how accurate compressed
networks are.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .borders import Border as Border
    from .chains import network_chain as network_chain
    from .fusion import (
        FusionEffort as FusionEffort,
        FusionProgress as FusionProgress,
        Schedule as Schedule,
        in_sub_batches as in_sub_batches,
        search_plan as search_plan,
    )
    from .mapping import (
        UNLIMITED as UNLIMITED,
        MappingEffort as MappingEffort,
        MappingProgress as MappingProgress,
        Solution as Solution,
        solve_compiled as solve_compiled,
        warm as warm,
    )
    from .mapping_front import FrontFound as FrontFound, Point as Point, find_front as find_front
    from .proof_effort import PROOF_STEPS as PROOF_STEPS, with_proof as with_proof
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
