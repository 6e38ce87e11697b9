"""Fusion planners, each in the folder of the paper that it comes from.

Read ``protocol.py`` and ``plan_evaluator.py`` (costs of plans, remembered), then a planner:
:mod:`.casco` (genetic), :mod:`.optimus` (dynamic programming), :mod:`.fast` (integer program),
:mod:`.deepfrack` (tilings and cached weights) or :mod:`.joint` (all of it at once, the default).
``partition.py`` cuts networks into groups, :mod:`.tiling` the groups into tiles.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .counted_work import WorkLimitError as WorkLimitError
    from .plan_evaluator import MemoizedPlanEvaluator as MemoizedPlanEvaluator, ln_edp as ln_edp
    from .protocol import (
        UNPRICED as UNPRICED,
        Abilities as Abilities,
        FusionFactory as FusionFactory,
        FusionSearch as FusionSearch,
        FusionState as FusionState,
        PlanEvaluator as PlanEvaluator,
        ProvingSearch as ProvingSearch,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
