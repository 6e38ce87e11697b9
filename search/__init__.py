"""Searches: hardware, budgets, fusion plans and mappings, each family behind one protocol.

:mod:`.hardware` proposes designs and :mod:`.budget` shares effort out among them; :mod:`.software`
finds the best plan of a design with :mod:`.fusion`, which asks :mod:`.mapping` for the mappings.
Imports point from software to fusion to mapping. :mod:`.weaving` orders the layers of several
networks. :mod:`.objectives` and ``pareto.py`` say what is best, ``seeds.py`` derives all
randomness, :mod:`.registry` knows every search by its name.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .objectives import (
        ACCURACY as ACCURACY,
        AREA as AREA,
        EDP as EDP,
        METRICS as METRICS,
        TDP as TDP,
        Aggregate as Aggregate,
        Limit as Limit,
        Objective as Objective,
        ObjectiveSet as ObjectiveSet,
        Tenant as Tenant,
        design_costs as design_costs,
    )
    from .pareto import (
        PickRule as PickRule,
        Undominated as Undominated,
        hypervolume as hypervolume,
        hypervolume_after as hypervolume_after,
        hypervolume_percent as hypervolume_percent,
        non_dominated as non_dominated,
    )
    from .registry import (
        BUDGET_ALLOCATORS as BUDGET_ALLOCATORS,
        FUSION_SEARCHES as FUSION_SEARCHES,
        HARDWARE_OPTIMIZERS as HARDWARE_OPTIMIZERS,
        MAPPING_SEARCHES as MAPPING_SEARCHES,
        RENAMED as RENAMED,
        WEAVERS as WEAVERS,
        Family as Family,
        first_name as first_name,
        renamed as renamed,
    )
    from .seeds import derived_seed as derived_seed
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
