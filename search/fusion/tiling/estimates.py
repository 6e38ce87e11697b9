"""Estimated on-chip cost of a layer of a fused tile, without searching a mapping.

Weights that stream from DRAM are left out: what crosses its pins is known exactly. Bounds of many
tile sizes are worked out in one call of the compiled kernel and remembered. Cycles also are at
least those of the MACs that exact factors occupy (:mod:`.mesh_utilisation`).
"""

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import design_and_prices, layer_costs
from archloom.evaluators.loopnest import Residency, packed_row_words, vector_cost
from archloom.space.hardware import Hardware
from archloom.space.workload import WEIGHTS, Layer, Network, P, Q, Sparsity

from ..group_equivalence import layer_kinds
from .mesh_utilisation import mesh_axes, most_parallel

#: layer, rows and columns of its result, and whether its weights are resident
LayerTile: TypeAlias = tuple[int, int, int, bool]

#: energy on the chip (pJ, without leakage) and cycles
_Cost: TypeAlias = tuple[float, float]


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
        self._axes = mesh_axes(hardware)
        dram = access_costs(hardware).read_pj[-1, WEIGHTS]
        self._weight_pj = float(dram) / hardware.levels[-1].width_words
        # energy, cycles with exact factors, and cycles at the least
        self._memo: dict[LayerTile, tuple[float, float, float]] = {}

    def of(self, tiles: Sequence[LayerTile], cut: bool = False) -> list[_Cost]:
        """Return about what each tile costs (docs/explanation/bounds.md, theorem 1; vector tiles:
        exact).

        Of what is ``cut`` further, in any way, the least.
        """
        return [(energy, least if cut else exact) for energy, exact, least in self.figures(tiles)]

    def figures(self, tiles: Sequence[LayerTile]) -> list[tuple[float, float, float]]:
        """Return the energy of each tile, its cycles, and cycles of what is cut further."""
        keys: list[LayerTile] = [(self._kinds[layer], r, c, stays) for layer, r, c, stays in tiles]
        first = dict(zip(keys, (tile[0] for tile in tiles), strict=True))
        missing = {key: first[key] for key in dict.fromkeys(keys) if key not in self._memo}
        flavours: dict[tuple[Sparsity, Residency], list[tuple[LayerTile, int]]] = {}
        for key, i in missing.items():
            layer, (_, rows, columns, resident) = self._layers[i], key
            if layer.uses_macs:
                whole = self._keeps and (resident or layer.multiplies_maps)
                flavour = (self._zeros(layer), (whole, True, True))
                flavours.setdefault(flavour, []).append((key, i))
            else:
                cost = vector_cost(
                    layer, self._hardware, rows, columns, staged=True, resident=resident
                )
                cycles = float(cost.latency_cycles)
                on_chip = cost.dynamic_pj - float(cost.energy_pj[-1].sum())
                self._memo[key] = (on_chip, cycles, cycles)
        for (zeros, staged), found in flavours.items():
            design, prices = design_and_prices(self._hardware, zeros, staged)
            nests = [tile_nest(self._layers[i], key[1], key[2]) for key, i in found]
            bounds, windows = (np.array(part, np.int64) for part in zip(*nests, strict=True))
            costs = layer_costs(design, prices, bounds, windows)
            for (key, i), (energy, cycles), nest in zip(found, costs.tolist(), nests, strict=True):
                exact = self._exact(nest[0]) * prices.busy
                streamed = 0 if staged[0] else self._layers[i].weight_words
                self._memo[key] = (energy - streamed * self._weight_pj, max(cycles, exact), cycles)
        return [self._memo[key] for key in keys]

    def least(self, layer: int, rows: Ints, columns: Ints, resident: bool) -> Floats:
        """Return float64[2, n], energy and cycles of tiles of a layer on MACs, cut further.

        Nothing of it is remembered.

        Args:
            layer: whose tiles they are.
            rows, columns: int64[n], of the result of each.
            resident: whether its weights are resident.
        """
        of = self._layers[layer]
        staged = (self._keeps and (resident or of.multiplies_maps), True, True)
        design, prices = design_and_prices(self._hardware, self._zeros(of), staged)
        bounds, windows = (np.array([part], np.int64) for part in tile_nest(of, 1, 1))
        bounds, windows = (part.repeat(len(rows), axis=0) for part in (bounds, windows))
        bounds[:, P], bounds[:, Q] = rows, columns
        for axis, sizes in enumerate((rows, columns)):
            # positions that a window spans grow with the tile
            windows[:, axis, 3] += (sizes - 1) * of.stride[axis]
        costs: Floats = layer_costs(design, prices, bounds, windows).T
        streamed = 0 if staged[0] else of.weight_words
        costs[0] -= streamed * self._weight_pj
        return costs

    def _zeros(self, layer: Layer) -> Sparsity:
        return Sparsity(*layer.density, packed_row_words(layer, self._hardware))

    def _exact(self, bounds: list[int]) -> float:
        """Cycles of the MACs that exact factors occupy; 0 if that is not known."""
        parallel = most_parallel(self._axes, tuple(bounds))
        return prod(bounds) / parallel if parallel else 0.0


def tile_nest(
    layer: Layer, rows: int, columns: int
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Loop bounds and window of a tile, as the cost of groups maps it."""
    bounds = list(layer.image_bounds)
    bounds[P], bounds[Q] = rows, columns
    window = [
        (stride, dilation, 0, (size - 1) * stride + (kernel - 1) * dilation + 1)
        for stride, dilation, size, kernel in zip(
            layer.stride, layer.dilation, (rows, columns), (layer.r, layer.s), strict=True
        )
    ]
    return bounds, window
