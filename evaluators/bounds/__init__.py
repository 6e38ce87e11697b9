"""Lower bounds on energy, latency and traffic, proven in ``docs/explanation/bounds_proofs.md``.

``compulsory.py`` holds for every plan and mapping, ``layer.py`` (compiled in ``layer_kernel.py``,
``traffic.py``, ``level_capacity.py``) for one layer on one hardware, ``network`` for a network, and
for the array and the pins of a chip apart, ``box`` for all designs of a box at once.
``rounding.py`` keeps bounds of exact energies below costs, whose energies are rounded, and
``gaps.py`` says how far a result is from its bound.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .array_fill import (
        indices_of_a_tile as indices_of_a_tile,
        least_fill_cycles as least_fill_cycles,
    )
    from .box.relaxation import Relaxation as Relaxation, Relaxed as Relaxed
    from .compulsory import compute_cycles as compute_cycles, pass_bounds as pass_bounds
    from .gaps import (
        PlanParts as PlanParts,
        TileRuns as TileRuns,
        mapping_gaps as mapping_gaps,
        plan_parts as plan_parts,
        up_to_rounding as up_to_rounding,
    )
    from .layer import (
        bounds_key as bounds_key,
        design_and_prices as design_and_prices,
        later_sums_pj as later_sums_pj,
        layer_bound as layer_bound,
        least_costs as least_costs,
        problem_bound as problem_bound,
        with_free_words as with_free_words,
        without_dram_cycles as without_dram_cycles,
    )
    from .layer_kernel import LayerBatch as LayerBatch, layer_costs as layer_costs
    from .level_capacity import Design as Design
    from .needed_outputs import needed as needed, touched as touched
    from .network.plans import (
        NetworkBound as NetworkBound,
        any_plan_bound as any_plan_bound,
        closest_pass_bounds as closest_pass_bounds,
        tight_pass_bounds as tight_pass_bounds,
    )
    from .network.two_engines import (
        EngineDemand as EngineDemand,
        engine_demand as engine_demand,
        tight_engine_demand as tight_engine_demand,
    )
    from .network.ways_to_keep import ways_to_keep as ways_to_keep
    from .network.work import (
        Nests as Nests,
        Plans as Plans,
        nests_of as nests_of,
        nests_of_problem as nests_of_problem,
    )
    from .rounding import (
        HALF_GRAIN_PJ as HALF_GRAIN_PJ,
        ROUNDING as ROUNDING,
        evaluation_pj as evaluation_pj,
        tile_rounding as tile_rounding,
    )
    from .word_prices import Prices as Prices
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
