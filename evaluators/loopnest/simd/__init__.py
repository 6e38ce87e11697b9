"""The loop-nest kernel for a batch of candidates, one per SIMD lane, with bit-identical results.

``inputs.py`` and ``records.py`` hold what the kernel reads and writes, ``tiles.py`` and ``cost.py``
are its two halves, ``batch_kernel.py`` runs them block by block.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .batch_kernel import (
        Room as Room,
        cost_block as cost_block,
        filter_block as filter_block,
        gather as gather,
        new_room as new_room,
    )
    from .cost import VALID as VALID
    from .inputs import SimdInputs as SimdInputs, simd_inputs as simd_inputs
    from .records import (
        LANES as LANES,
        OF_DRAM as OF_DRAM,
        ON_CHIP as ON_CHIP,
        Records as Records,
        new_nests as new_nests,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
