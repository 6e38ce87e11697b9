"""Objectives, limits and tenants of study files.

``entries.py`` reads objectives and limits, ``constraints.py`` the section of caps and limits,
``tenants.py`` the networks that share a chip; ``known_workloads.py`` compares all of them with the
workloads of the study.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .constraints import Constraints as Constraints
    from .entries import (
        Objectives as Objectives,
        stored_objective_set as stored_objective_set,
    )
    from .known_workloads import (
        OF_KNOWN_LIMITS as OF_KNOWN_LIMITS,
        OF_KNOWN_OBJECTIVES as OF_KNOWN_OBJECTIVES,
    )
    from .tenants import (
        Tenants as Tenants,
        for_tenants as for_tenants,
        with_deadlines as with_deadlines,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
