"""Objectives, limits and tenants of study files.

``entries.py`` reads objectives and limits and compares them with the workloads of the study,
``constraints.py`` is the section of caps and limits, ``tenants.py`` reads the networks that share
a chip.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .constraints import Constraints as Constraints
    from .entries import (
        OBJECTIVES as OBJECTIVES,
        stored_objective_set as stored_objective_set,
        with_sound_limits as with_sound_limits,
    )
    from .tenants import (
        TENANTS as TENANTS,
        with_deadlines as with_deadlines,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
