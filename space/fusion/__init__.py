"""Fusion plans: groups of layers that run together tile by tile, and what stays on chip.

Read ``plan.py``; ``irregular_tiles.py`` has tiles of any sizes, ``residency.py`` what lies in the
buffer beside a group while it runs, ``folding.py`` layers that a compiler folds into others,
``sub_batches.py`` parts of the batch.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .folding import (
        Computation as Computation,
        computation_numbers as computation_numbers,
        computation_of as computation_of,
        computations as computations,
        fold as fold,
    )
    from .irregular_tiles import TileRect as TileRect, bad_cuts as bad_cuts
    from .loop_nest import STREAMED as STREAMED, LoopNest as LoopNest, NestLoop as NestLoop
    from .plan import (
        FusionGroup as FusionGroup,
        FusionPlan as FusionPlan,
        HaloPolicy as HaloPolicy,
        Pin as Pin,
        folded_of as folded_of,
        layer_by_layer as layer_by_layer,
        plan_violations as plan_violations,
    )
    from .residency import ALONE as ALONE, Residents as Residents, plan_residents as plan_residents
    from .running_order import group_order as group_order, runnable as runnable
    from .sub_batches import divisors as divisors, sub_batch as sub_batch
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
