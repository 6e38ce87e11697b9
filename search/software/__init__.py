"""Software search of one trial: the best fusion plan and mappings of each network on one design.

``search.py`` has :func:`~archloom.search.software.search.advance`, the pure function that a worker
runs; ``result.py`` what it returns, ``breakdown.py`` what its costs are made of, ``packing.py`` how
that is kept short; ``plan_tiles.py`` takes a plan apart into its mapped tiles, ``plan_bound.py``
bounds its EDP with any mappings, ``prove_mappings.py`` improves and proves them as a whole;
``trade_offs.py`` finds others that take less energy or fewer cycles;
``shared_budget.py`` shares evaluations between plans and mappings;
``planners.py`` knows what each fusion planner can do.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .breakdown import breakdown_of as breakdown_of
    from .packing import pack as pack, unpack as unpack
    from .plan_bound import least_edp_of as least_edp_of
    from .planners import (
        abilities_of as abilities_of,
        fusion_search as fusion_search,
        nothing_fused as nothing_fused,
        plans_of as plans_of,
        suited_budgets as suited_budgets,
        unable_to_fold as unable_to_fold,
        undivided as undivided,
        without_sub_batches as without_sub_batches,
    )
    from .prove_mappings import ProvenPlan as ProvenPlan, proven_plan as proven_plan
    from .result import (
        GROUP_FIGURES as GROUP_FIGURES,
        NetworkResult as NetworkResult,
        SoftwareResult as SoftwareResult,
    )
    from .search import (
        SoftwareSettings as SoftwareSettings,
        SoftwareTask as SoftwareTask,
        advance as advance,
        recorded_evaluator as recorded_evaluator,
        remembered as remembered,
    )
    from .serving import Sharing as Sharing
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
