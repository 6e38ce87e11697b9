"""Tables of plans: networks fused on given hardware by several planners, beside layer by layer."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .plan_rows import PlanRow as PlanRow, planned as planned
    from .plan_table import PlanTable as PlanTable
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
