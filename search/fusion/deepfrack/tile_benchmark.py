"""DeepFrack's benchmark: every layer in tiles of every size, under every residency.

Layers are mapped by the mapper of the evaluator, with all of the buffer to themselves, and
remembered by kind of layer, size and residency. Maps of a stack lie in the buffer; what
comes from DRAM or goes there is added for the layers that read or make it. Weights lie in the
buffer or stream from DRAM. Sizes are asked for as stacks need them, all of a stack at once; before
a size is measured it has bounds (docs/explanation/bounds.md).
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.fusion import ProblemMapper, tile_cost
from archloom.evaluators.loopnest import LayerCost
from archloom.search.fusion.tiling import SizeNumbers, TileEstimates
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

#: costs are rounded, bounds are not
_BELOW: Final = 1 - 1e-9

#: whether weights lie in the buffer
RESIDENCIES: Final = (False, True)


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
        numbers: of the sizes of tiles.
    """

    def __init__(
        self, network: Network, hardware: Hardware, mapper: ProblemMapper, numbers: SizeNumbers
    ) -> None:
        self.network = network
        self.hardware = hardware
        self._mapper = mapper
        self._numbers = numbers
        self._access_costs = access_costs(hardware)
        self._runs: dict[tuple[int, bool], LayerTileCost | None] = {}
        # energy, cycles without and of DRAM by residency and number, of runs or at the least
        self._least = np.full((3, len(RESIDENCIES), 0), np.nan)
        self._ran = np.zeros((len(RESIDENCIES), 0), np.bool_)
        self._estimates = TileEstimates(network, hardware)

    @property
    def measured(self) -> int:
        """Layers, sizes and residencies that were measured."""
        return len(self._runs)

    @property
    def leakage_pj(self) -> float:
        """Of the whole chip in a cycle."""
        return self._access_costs.leakage_pj_per_cycle

    @property
    def cycles_per_word(self) -> float:
        """Cycles that DRAM needs for a word."""
        return 1 / self.hardware.levels[-1].bandwidth_words

    def run(self, size: int, resident: bool) -> LayerTileCost | None:
        """Return the cost of a size, by its number; None if no mapping is possible."""
        key = (size, resident)
        if key not in self._runs:
            i, rows, columns = self._numbers.sizes[size]
            kind = self.network.layers[i]
            found = tile_cost(kind, resident, rows, columns, self.hardware, None, self._mapper)
            run = self._runs[key] = None if isinstance(found, Infeasible) else _run(found)
            figures = (np.inf, 0.0, 0.0)
            if run is not None:
                figures = (run.energy_pj, run.chip_cycles, run.dram_cycles)
            self._grow()
            self._least[:, int(resident), size] = figures
            self._ran[int(resident), size] = True
        return self._runs[key]

    def ran(self, sizes: Ints) -> NDArray[np.bool_]:
        """Return bool[2, ...], whether sizes were run with weights that stream, that lie there."""
        self._grow()
        found: NDArray[np.bool_] = self._ran[:, sizes]
        return found

    def least(self, sizes: Ints) -> Floats:
        """Return float64[3, 2, ...]: energy, cycles without and of DRAM with weights that stream
        and that lie in the buffer, of sizes that were run, else what no mapping goes below.

        Where no mapping is possible energy is infinite.
        """
        self._grow()
        missing = np.isnan(self._least[0]).any(axis=0)[sizes]
        if missing.any():
            self._bound(np.unique(sizes[missing]))
        figures: Floats = self._least[:, :, sizes]
        return figures

    def _grow(self) -> None:
        """Make space for all sizes that have numbers."""
        count, known = len(self._numbers.sizes), self._least.shape[2]
        if count > known:
            more = np.full((3, len(RESIDENCIES), 2 * count - known), np.nan)
            self._least = np.concatenate([self._least, more], axis=2)
            self._ran = np.concatenate([self._ran, np.zeros(more.shape[1:], np.bool_)], axis=1)

    def _bound(self, sizes: Ints) -> None:
        """Fill in some sizes: bounds, and costs on the vector unit, where there is one way to
        run."""
        figures = np.array([self._numbers.sizes[size] for size in sizes.tolist()], np.int64)
        keeps = "weights" in self.hardware.levels[-2].keeps
        for i in np.unique(figures[:, 0]).tolist():
            of = figures[:, 0] == i
            some, (_, rows, columns) = sizes[of], figures[of].T
            for resident in RESIDENCIES:
                if resident and not (keeps and self.network.layers[i].weight_words):
                    # it is never asked for
                    self._least[:, 1, some] = self._least[:, 0, some]
                elif self.network.layers[i].uses_macs:
                    fresh = np.isnan(self._least[0, int(resident), some])
                    bounds = self._bounds(i, rows[fresh], columns[fresh], resident)
                    self._least[:, int(resident), some[fresh]] = bounds
                else:
                    for size in some.tolist():
                        self.run(size, resident)

    def _bounds(self, i: int, rows: Ints, columns: Ints, resident: bool) -> Floats:
        """Return float64[3, n], what no mapping of a layer on tiles goes below."""
        energy, cycles = self._estimates.least(i, rows, columns, resident)
        layer = self.network.layers[i]
        words = 0 if resident or layer.multiplies_maps else layer.weight_words
        dram = float(self._access_costs.read_pj[-1, WEIGHTS])
        fetch_pj = words * dram / self.hardware.levels[-1].width_words
        fetched = np.full(len(rows), words * self.cycles_per_word)
        return np.stack([(energy + fetch_pj) * _BELOW, cycles * _BELOW, fetched])

    def fetch_pj(self, words: Ints) -> Floats:
        """Energy of bringing words of a map into the buffer, in whole accesses."""
        read, write = (-(-words // self.hardware.levels[level].width_words) for level in (-1, -2))
        read_pj = float(self._access_costs.read_pj[-1, INPUTS])
        energy: Floats = read * read_pj + write * float(self._access_costs.write_pj[-2, INPUTS])
        return energy

    def store_pj(self, words: int) -> float:
        """Energy of writing words of a map to DRAM, in whole accesses."""
        accesses = ceil(words / self.hardware.levels[-1].width_words)
        return float(accesses * self._access_costs.write_pj[-1, OUTPUTS])


def _run(cost: LayerCost) -> LayerTileCost:
    return LayerTileCost(cost.dynamic_pj, float(cost.chip_cycles), float(cost.dram_cycles))
