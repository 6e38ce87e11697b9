"""What layers take inside the buffer between groups, whatever moves between it and DRAM."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from archloom.space.hardware import Cores, Hardware
from archloom.space.workload import OUTPUTS, Sparsity

from ...arrays import Floats
from ..compulsory import dram_shares
from ..layer import design_and_prices
from ..layer_kernel import CYCLES, ENERGY_PJ
from ..level_capacity import Design
from ..mac_work import served_by
from ..rounding import TileRounding, tile_rounding
from ..word_prices import Prices
from .work import Nests


def waits(hardware: Hardware, zeros: Sparsity, nests: Nests, busy: Floats) -> Floats:
    """Return float64[B], cycles for which layers wait for their own weights, whatever the plan,
    beyond those for which they are ``busy``.

    In a loop nest the weights of one layer come while others run, if a buffer can hold them for it.
    Where none can, weights stream to each layer as it runs (docs/explanation/bounds.md, waiting).
    """
    if "weights" in hardware.levels[-2].keeps:
        return np.zeros(len(busy))
    paid, *_ = dram_shares(hardware, served_by(hardware, zeros))
    narrow = min(1.0, hardware.bits(-1, "weights") / hardware.word_bits)
    fetched = nests.weights * (paid * narrow / hardware.levels[-1].bandwidth_words)
    late: Floats = np.maximum(0.0, fetched - busy)
    return late


def inside_costs(
    hardware: Hardware, cores: Cores, zeros: Sparsity, nests: Nests
) -> NDArray[np.float64]:
    """float64[B, 2], energy and cycles of each nest without DRAM.

    The energy is what rounding leaves of that of tiles; what it takes off a layer by itself is not
    subtracted.
    """
    fused = on_one_core(hardware, cores, zeros, nests)
    if cores.count == 1:
        return fused
    # at best all cores work on it all the time
    fused[:, CYCLES] /= cores.count
    alone = nests.costs(*without_dram(hardware, zeros))
    return np.minimum(fused, alone)


def on_one_core(hardware: Hardware, cores: Cores, zeros: Sparsity, nests: Nests) -> Floats:
    """float64[B, 2], energy and cycles of each nest in tiles that run one after another."""
    rounding = _rounding(hardware, zeros)
    fused = nests.costs(*_in_buffer(cores.one, zeros, rounding.buffer))
    if rounding.mac_pj:
        spared = nests.bounds.prod(axis=1, dtype=np.float64) * rounding.mac_pj
        fused[:, ENERGY_PJ] = np.maximum(0.0, fused[:, ENERGY_PJ] - spared)
    return fused


@lru_cache(maxsize=1024)
def without_dram(hardware: Hardware, zeros: Sparsity) -> tuple[Design, Prices]:
    """Design and prices of a layer by itself, as if DRAM cost nothing."""
    design, prices = design_and_prices(hardware, zeros)
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-1] = ports[:, -1] = 0.0
    return design._replace(strict=True), prices._replace(accesses_pj=accesses, ports=ports)


@lru_cache(maxsize=1024)
def _rounding(hardware: Hardware, zeros: Sparsity) -> TileRounding:
    return tile_rounding(hardware, served_by(hardware, zeros)[OUTPUTS])


@lru_cache(maxsize=1024)
def _in_buffer(hardware: Hardware, zeros: Sparsity, left: float) -> tuple[Design, Prices]:
    """Design and prices as if all operands lived in the fusion level, and DRAM cost nothing.

    Rounding leaves the share ``left`` of what that level's accesses cost.
    """
    level = hardware.levels[-2]
    staged = ("weights" in level.keeps, True, True)
    design, prices = design_and_prices(hardware, zeros, staged)
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-2] *= left
    if level.optional:
        # operands of a layer that runs by itself may pass the buffer, and cost nothing there
        accesses[-2] = ports[:, -2] = 0.0
    accesses[-1] = ports[:, -1] = 0.0
    return design._replace(strict=True), prices._replace(accesses_pj=accesses, ports=ports)
