"""What one operator on the vector unit (or one tile of it) costs."""

from math import ceil, prod

import numpy as np

from ..space.dims import INPUTS, OUTPUTS
from ..space.hardware import Hardware
from ..space.layer import Layer
from .hardware_cost import access_costs
from .layer_cost import LayerCost, whole_grains, whole_pj


def vector_cost(
    layer: Layer, hardware: Hardware, rows: int, columns: int, staged: bool
) -> LayerCost:
    """Return the cost of making ``rows`` x ``columns`` of a vector operator's output.

    The vector unit reads every tap of its window from the shared buffer and writes every
    result to it. Unless ``staged``, the input map comes from DRAM and the result goes there,
    each word once, through that buffer. Hardware without a shared buffer streams between
    DRAM and the unit, whose own registers then hold the window.
    """
    costs, buffer = access_costs(hardware), hardware.fusion_level
    images = layer.n if not staged else 1
    made = images * layer.output_channels * rows * columns
    taps = made * layer.r * layer.s * layer.operands
    levels = len(hardware.levels)
    # words by level, tensor and direction (read, write)
    moved = np.zeros((levels, 3, 2), np.int64)
    if buffer is not None:
        moved[buffer, INPUTS, 0] = taps
        moved[buffer, OUTPUTS, 1] = made
    if not staged:
        moved[-1, INPUTS, 0] = layer.read_words
        moved[-1, OUTPUTS, 1] = made
        if buffer is not None:
            moved[buffer, INPUTS, 1] = layer.read_words
    width = np.array([level.width_words for level in hardware.levels])[:, None, None]
    accesses = -(-moved // width)
    energy = accesses[..., 0] * costs.read_pj + accesses[..., 1] * costs.write_pj
    cycles = [
        ceil(int(moved[i].sum()) / level.bandwidth_words) for i, level in enumerate(hardware.levels)
    ]
    return LayerCost(
        mapping=None,
        words=moved.sum(axis=2),
        energy_pj=whole_grains(energy),
        compute_pj=whole_pj(taps * costs.vector_op_pj),
        chip_cycles=max(ceil(taps / hardware.vector_lanes), *cycles[:-1]),
        dram_cycles=cycles[-1],
        dram_reads=int(moved[-1, :, 0].sum()),
        dram_writes=int(moved[-1, :, 1].sum()),
        operations=prod((images, layer.output_channels, rows, columns, layer.r, layer.s))
        * layer.operands,
    )
