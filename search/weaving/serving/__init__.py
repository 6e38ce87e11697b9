"""Serving: requests that arrive over time, for networks that share an NPU, with deadlines.

``tenants.py`` says who shares what, ``arrivals.py`` when requests come, ``policy.py`` how they are
served. ``serving.py`` runs the event loop of ``kernel.py``, which asks ``rules.py`` whose layer is
next. ``metrics.py`` has the figures of a run, ``stability.py`` and ``loads.py`` those of
many on common random numbers, and ``upper_bounds.py`` what no policy gets above.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .arrivals import (
        Draws as Draws,
        closed_requests as closed_requests,
        draws_of as draws_of,
        given_requests as given_requests,
        open_requests as open_requests,
    )
    from .loads import LoadPoint as LoadPoint, load_curve as load_curve
    from .metrics import (
        ServingMetrics as ServingMetrics,
        TenantMetrics as TenantMetrics,
        latencies as latencies,
        serving_metrics as serving_metrics,
    )
    from .policy import RULES as RULES, SHED_AT as SHED_AT, Policy as Policy
    from .requests import NO_DEADLINE as NO_DEADLINE, Requests as Requests
    from .serving import Served as Served, few_missed as few_missed, served as served
    from .stability import StableLoad as StableLoad, stable_load as stable_load
    from .tenants import Deadline as Deadline, Tenants as Tenants
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
