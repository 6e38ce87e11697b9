"""DeepFrack's benchmark: every layer in tiles of every size, under every residency.

Layers are mapped by the mapper of the evaluator, with all of the buffer to themselves, and
remembered by kind of layer, size and residency. Maps of a stack lie in the buffer; what
comes from DRAM or goes there is added for the layers that read or make it. Weights lie in the
buffer or stream from DRAM. Sizes are asked for as stacks need them; before a size is measured it
has bounds (docs/bounds.md).
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from archloom.evaluators import access_costs
from archloom.evaluators.fusion import ProblemMapper, tile_cost
from archloom.evaluators.loopnest import LayerCost
from archloom.search.fusion.tiling import LayerTile, TileEstimates
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

from ..group_equivalence import layer_kinds

#: costs are rounded, bounds are not
_BELOW: Final = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class LayerTileCost:
    """One layer on one tile: dynamic energy, cycles without DRAM, and cycles of DRAM."""

    energy_pj: float
    chip_cycles: float
    dram_cycles: float


class TileBenchmark:
    """Costs of single tiles of the layers of ``network``.

    Args:
        network, hardware: what runs where.
        mapper: finds mappings.
    """

    def __init__(self, network: Network, hardware: Hardware, mapper: ProblemMapper) -> None:
        self.network = network
        self.hardware = hardware
        self._mapper = mapper
        self._access_costs = access_costs(hardware)
        self._kinds = layer_kinds(network)
        self._runs: dict[LayerTile, LayerTileCost | None] = {}
        self._bounds: dict[LayerTile, LayerTileCost] = {}
        self._estimates = TileEstimates(network, hardware)

    @property
    def measured(self) -> int:
        """Layers, sizes and residencies that were measured."""
        return len(self._runs)

    @property
    def leakage_pj(self) -> float:
        """Of the whole chip in a cycle."""
        return self._access_costs.leakage_pj_per_cycle

    def run(self, layer: int, rows: int, columns: int, resident: bool) -> LayerTileCost | None:
        """Return the cost of a layer on a tile of its result; None if no mapping is possible."""
        key = (self._kinds[layer], rows, columns, resident)
        if key not in self._runs:
            kind = self.network.layers[layer]
            found = tile_cost(kind, resident, rows, columns, self.hardware, None, self._mapper)
            self._runs[key] = None if isinstance(found, Infeasible) else _run(found)
        return self._runs[key]

    def least(self, layer: int, rows: int, columns: int, resident: bool) -> LayerTileCost | None:
        """Return what :meth:`run` returns if that is known, else what no mapping goes below."""
        key, of = (self._kinds[layer], rows, columns, resident), self.network.layers[layer]
        if key in self._runs or not of.uses_macs:
            return self.run(layer, rows, columns, resident)
        if key not in self._bounds:
            ((energy, cycles),) = self._estimates.of([(layer, rows, columns, resident)], cut=True)
            words = 0 if resident or of.multiplies_maps else of.weight_words
            width = self.hardware.levels[-1].width_words
            energy += words * float(self._access_costs.read_pj[-1, WEIGHTS]) / width
            run = LayerTileCost(_BELOW * energy, _BELOW * cycles, self.dram_cycles(words))
            self._bounds[key] = run
        return self._bounds[key]

    def fetch_pj(self, words: int) -> float:
        """Energy of bringing words of a map into the buffer, in whole accesses."""
        read = self._accesses(words, -1) * self._access_costs.read_pj[-1, INPUTS]
        return float(read + self._accesses(words, -2) * self._access_costs.write_pj[-2, INPUTS])

    def store_pj(self, words: int) -> float:
        """Energy of writing words of a map to DRAM, in whole accesses."""
        return float(self._accesses(words, -1) * self._access_costs.write_pj[-1, OUTPUTS])

    def dram_cycles(self, words: float) -> float:
        """Cycles that DRAM needs for words."""
        return words / self.hardware.levels[-1].bandwidth_words

    def _accesses(self, words: int, level: int) -> int:
        return ceil(words / self.hardware.levels[level].width_words)


def _run(cost: LayerCost) -> LayerTileCost:
    return LayerTileCost(cost.dynamic_pj, float(cost.chip_cycles), float(cost.dram_cycles))
