"""Energy and cycles of tiles together, on one design after another."""

import numpy as np

from archloom.evaluators import Floats, access_costs
from archloom.evaluators.bounds import (
    bounds_key,
    design_and_prices,
    nests_of,
    without_dram_cycles,
)
from archloom.search.fusion.tiling import LayerTile, tile_nest
from archloom.space.hardware import Hardware
from archloom.space.workload import NO_ZEROS, WEIGHTS, Network


class TileCorners:
    """Tiles of a network's layers on MACs, all maps in the buffer.

    Args:
        network: whose tiles they are; nothing of it is zero.
        hardware: a design that keeps the same operands in its buffer as all others.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        self._network = network
        self._keeps = "weights" in hardware.levels[-2].keeps
        self._known: dict[tuple[LayerTile, bytes], Floats] = {}

    def __call__(self, hardware: Hardware, tile: LayerTile) -> Floats:
        """Return float64[n, 2], energy on the chip (pJ, without leakage) and cycles; each mapping
        is above one row."""
        layer = self._network.layers[tile[0]]
        whole = self._keeps and (tile[3] or layer.multiplies_maps)
        design, prices = design_and_prices(hardware, NO_ZEROS, (whole, True, True))
        # what DRAM takes for weights is counted for all tiles together
        prices = without_dram_cycles(prices)
        key = bounds_key(design, prices)
        if (tile, key) not in self._known:
            bounds, windows = (np.array([part], np.int64) for part in tile_nest(layer, *tile[1:3]))
            nests = nests_of(bounds, windows)
            figures = nests.every_corner(design._replace(strict=True), prices)
            if not whole:
                dram = float(access_costs(hardware).read_pj[-1, WEIGHTS])
                streamed = layer.weight_words * (dram / hardware.levels[-1].width_words)
                figures[:, 0] -= streamed
            self._known[tile, key] = figures
        return self._known[tile, key]
