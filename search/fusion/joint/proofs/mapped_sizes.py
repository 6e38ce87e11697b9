"""What the sizes in which layers run cost with the mappings that the mapping search finds.

Tilings share most of their sizes. Once the mapping of a size is known, so is what it costs in every
tiling, whose bounds rise without being evaluated.
"""

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion import ProblemMapper, tile_cost
from archloom.search.fusion.tiling import SizeNumbers
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ...plan_evaluator import MemoizedPlanEvaluator
from ..group_options import GroupOptions


def mapped_sizes(evaluator: MemoizedPlanEvaluator, options: GroupOptions) -> "MappedSizes":
    """Return what is known of the sizes of a network's tilings: nothing at first."""
    return MappedSizes(evaluator.network, options.core, evaluator.mapper, options.numbers)


class MappedSizes:
    """Costs of sizes by place, twice a size's number plus 1 where its weights are resident.

    Args:
        network: whose layers they are.
        core: that runs a tile.
        mapper: finds the mappings.
        numbers: of the sizes.
    """

    def __init__(
        self, network: Network, core: Hardware, mapper: ProblemMapper, numbers: SizeNumbers
    ) -> None:
        self._network, self._core, self._mapper = network, core, mapper
        self._numbers = numbers
        keeps = "weights" in core.levels[-2].keeps
        layers = network.layers
        # bool[L, 2], of which layers the mapping of a tile follows from its size, as weights stream
        # and as they stay: those that pass the buffer have what other operands leave of it
        passing = np.array([keeps and layer.weight_words > 0 for layer in layers], np.bool_)
        macs = np.array([layer.uses_macs for layer in layers], np.bool_)
        self._follows = np.stack([macs & ~passing, macs], axis=1)
        self._costs = np.zeros((2, 0))
        self._asked = np.zeros(0, np.bool_)
        #: sizes that were mapped
        self.count = 0

    def at(self, places: Ints) -> Floats:
        """Return float64[2, n], energy inside the buffer (pJ, without leakage) and cycles besides
        those of DRAM of some places; 0 where they are not known."""
        self._enlarge()
        costs: Floats = self._costs[:, places]
        return costs

    def unknown(self, places: Ints) -> NDArray[np.bool_]:
        """Return bool[n], of which places :meth:`find` would find out the cost."""
        self._enlarge()
        layers = np.array([self._numbers.sizes[n][0] for n in (places // 2).tolist()], np.int64)
        follows: NDArray[np.bool_] = self._follows[layers, places % 2]
        return follows & ~self._asked[places]

    def find(self, place: int) -> None:
        """Find the mapping of a place."""
        layer, rows, columns = self._numbers.sizes[place // 2]
        cost = tile_cost(
            self._network.layers[layer],
            bool(place % 2),
            rows,
            columns,
            self._core,
            None,
            self._mapper,
        )
        self._asked[place] = True
        self.count += 1
        # that nothing fits is said when a tiling is evaluated
        if not isinstance(cost, Infeasible):
            inside = cost.dynamic_pj - float(cost.energy_pj[-1].sum())
            self._costs[:, place] = inside, cost.chip_cycles

    def _enlarge(self) -> None:
        """Make room for sizes that have got numbers since."""
        more = 2 * len(self._numbers.sizes) - self._costs.shape[1]
        if more > 0:
            self._costs = np.concatenate([self._costs, np.zeros((2, more))], axis=1)
            self._asked = np.concatenate([self._asked, np.zeros(more, np.bool_)])
