"""Objectives and limits of a study, and the costs of a design that they are made of.

Read ``metrics.py`` (names, units and directions), ``costs.py`` (of one design), ``objective.py``
(a metric of some networks), ``limits.py`` (what designs have to keep; all that a study asks).
``tenants.py`` says what several networks ask of a chip that they share.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .costs import DesignCosts as DesignCosts, design_costs as design_costs
    from .limits import Limit as Limit, ObjectiveSet as ObjectiveSet, limit_reason as limit_reason
    from .metrics import METRICS as METRICS
    from .objective import (
        ACCURACY as ACCURACY,
        AREA as AREA,
        EDP as EDP,
        TDP as TDP,
        Aggregate as Aggregate,
        Objective as Objective,
    )
    from .tenants import (
        EngineTimes as EngineTimes,
        Tenant as Tenant,
        least_together as least_together,
        mean_worth as mean_worth,
        shares as shares,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
