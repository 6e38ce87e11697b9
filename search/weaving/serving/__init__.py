"""Serving: requests that arrive over time, on networks that share an NPU, with deadlines.

``tenants.py`` says who shares what, ``arrivals.py`` when requests come, ``policy.py`` how they are
served; ``serving.py`` runs the event loop of ``kernel.py``, which asks ``rules.py`` for the next
layer.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .arrivals import draws_of as draws_of, open_requests as open_requests
    from .policy import Policy as Policy
    from .serving import missed_at_most as missed_at_most
    from .tenants import Deadline as Deadline, Tenants as Tenants
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
