"""What a layer of a fused tile costs at least, known without searching a mapping.

Bounds of many tile sizes are worked out in one call of the compiled kernel and remembered.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..evaluators.cost_bounds import layer_costs
from ..evaluators.layer_bounds import design_and_prices
from ..evaluators.problem import Residency
from ..evaluators.vector_cost import vector_cost
from ..space.dims import P, Q
from ..space.hardware import Hardware
from ..space.layer import Layer
from ..space.network import Network
from .group_kinds import layer_kinds

#: layer, rows and columns of its result, and whether its weights are resident
LayerTile: TypeAlias = tuple[int, int, int, bool]

#: energy (pJ, without leakage) and cycles
Cost: TypeAlias = tuple[float, float]


class TileEstimates:
    """Least energy and cycles of tiles of one network's layers, all maps in the buffer.

    Args:
        network, hardware: what runs where; there is a fusion level.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        self._layers = network.layers
        self._hardware = hardware
        self._kinds = layer_kinds(network)
        level = hardware.fusion_level
        self._keeps = level is not None and "weights" in hardware.levels[level].keeps
        self._memo: dict[LayerTile, Cost] = {}

    def of(self, tiles: Sequence[LayerTile]) -> list[Cost]:
        """Return the least cost of each tile (docs/bounds.md, theorem 1; vector tiles: exact)."""
        keys: list[LayerTile] = [(self._kinds[layer], r, c, stays) for layer, r, c, stays in tiles]
        first = dict(zip(keys, (tile[0] for tile in tiles), strict=True))
        missing = {key: first[key] for key in dict.fromkeys(keys) if key not in self._memo}
        flavours: dict[tuple[tuple[float, float], Residency], list[tuple[LayerTile, int]]] = {}
        for key, i in missing.items():
            layer, (_, rows, columns, resident) = self._layers[i], key
            if layer.uses_macs:
                whole = self._keeps and (resident or layer.multiplies_maps)
                flavour = (layer.density, (whole, True, True))
                flavours.setdefault(flavour, []).append((key, i))
            else:
                cost = vector_cost(
                    layer, self._hardware, rows, columns, staged=True, resident=resident
                )
                self._memo[key] = (cost.dynamic_pj, float(cost.latency_cycles))
        for (density, staged), found in flavours.items():
            design, prices = design_and_prices(self._hardware, density, staged)
            nests = [_nest(self._layers[i], key[1], key[2]) for key, i in found]
            bounds, windows = (np.array(part, np.int64) for part in zip(*nests, strict=True))
            costs = layer_costs(design, prices, bounds, windows)
            for (key, _), (energy, cycles) in zip(found, costs.tolist(), strict=True):
                self._memo[key] = (energy, cycles)
        return [self._memo[key] for key in keys]


def _nest(
    layer: Layer, rows: int, columns: int
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Loop bounds and window of a tile, as the price of groups maps it."""
    bounds = list(layer.image_bounds)
    bounds[P], bounds[Q] = rows, columns
    window = [
        (stride, dilation, 0, (size - 1) * stride + (kernel - 1) * dilation + 1)
        for stride, dilation, size, kernel in zip(
            layer.stride, layer.dilation, (rows, columns), (layer.r, layer.s), strict=True
        )
    ]
    return bounds, window
