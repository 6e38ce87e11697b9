"""The loop-nest model: accesses, energy and cycles of one layer under one mapping.

Read ``problem.py`` (what is mapped where), ``data_reuse.py`` (words that move, in closed form) and
``kernel.py`` (the compiled model); ``layer_cost.py`` is the result that people see. The kernel
reads ``kernel_inputs.py``; :mod:`.simd` evaluates many candidates at once, :mod:`.imperfect` nests
whose factors cover more than the bounds. ``vector_unit.py`` costs what runs on no MAC.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .constraint_arrays import conflicts as conflicts
    from .data_reuse import (
        COLUMNS as COLUMNS,
        DILATION as DILATION,
        INPUT_DIMS as INPUT_DIMS,
        ORDER as ORDER,
        OUTPUT_DIMS as OUTPUT_DIMS,
        PADDING as PADDING,
        ROWS as ROWS,
        SIZE as SIZE,
        SPATIAL_X as SPATIAL_X,
        SPATIAL_Y as SPATIAL_Y,
        STRIDE as STRIDE,
        TEMPORAL as TEMPORAL,
        WEIGHT_DIMS as WEIGHT_DIMS,
        X as X,
        Y as Y,
        axis_words as axis_words,
        diagonals as diagonals,
        extent as extent,
        tile_words as tile_words,
    )
    from .kernel import (
        OVER_CAPACITY as OVER_CAPACITY,
        VALID as VALID,
        evaluate_batch as evaluate_batch,
        evaluate_one as evaluate_one,
        extents as extents,
        fits as fits,
        ln_objective as ln_objective,
    )
    from .kernel_inputs import (
        ARRAY_COLUMNS as ARRAY_COLUMNS,
        ARRAY_LEVELS as ARRAY_LEVELS,
        ARRAY_ROWS as ARRAY_ROWS,
        BOTH_PORTS as BOTH_PORTS,
        DRAM_ROWS as DRAM_ROWS,
        EXPOSED as EXPOSED,
        FILLS as FILLS,
        MAX_LEVELS as MAX_LEVELS,
        NO_FILL as NO_FILL,
        OF_ENERGY as OF_ENERGY,
        OF_LATENCY as OF_LATENCY,
        READ_PORT as READ_PORT,
        READS as READS,
        UPDATES as UPDATES,
        WRITE_PORT as WRITE_PORT,
        KernelInputs as KernelInputs,
        Workspace as Workspace,
        new_workspace as new_workspace,
    )
    from .layer_cost import (
        Counts as Counts,
        Energies as Energies,
        LayerCost as LayerCost,
        added_cost as added_cost,
        energy_by_level as energy_by_level,
        mapped_cost as mapped_cost,
        setup_for as setup_for,
        whole_grains as whole_grains,
        whole_pj as whole_pj,
    )
    from .noc import group_sizes as group_sizes
    from .optional_effects import array_cycles as array_cycles
    from .padding import padded_bounds as padded_bounds
    from .problem import (
        STREAMED as STREAMED,
        MappingProblem as MappingProblem,
        Residency as Residency,
        design_inputs as design_inputs,
        packed_row_words as packed_row_words,
    )
    from .vector_unit import (
        ManyVectors as ManyVectors,
        VectorTile as VectorTile,
        pinned_vector_cost as pinned_vector_cost,
        vector_cost as vector_cost,
        vector_fits as vector_fits,
        vector_least as vector_least,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
