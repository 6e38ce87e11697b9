"""What nests around a group take at the least where operands may pass the shared buffer by.

Which operands do so is the choice of each tile's mapping. So a tile costs here what it does with
the best choice, an operand that streams takes no room in the buffer and is not written to it, and
it crosses DRAM's pins once for each iteration that needs it, at the least. What one member makes
for another lies in the buffer, and so does what outlasts an iteration.
"""

from collections.abc import Hashable
from functools import cached_property
from itertools import product

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import layer_costs
from archloom.evaluators.fusion.nest import Operand, windowless
from archloom.evaluators.loopnest import Residency
from archloom.search.fusion.nest import NestFacts
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..step_bounds import staged_without_dram


class PassingFacts(NestFacts):
    """A group on a design whose shared buffer operands may pass by, as :class:`NestFacts` has it.

    Layers have no zeros that spare work (:func:`..step_bounds.unbounded`).
    """

    def __init__(
        self,
        network: Network,
        layers: tuple[int, ...],
        hardware: Hardware,
        split: tuple[int, ...] = (),
        dealt: int | None = None,
    ) -> None:
        super().__init__(network, layers, hardware, split, dealt)
        # what passes the buffer by is not written to it
        self.fetch_pj -= self.fill_pj
        if self.keeps_weights:
            self.weight_pj -= self.fill_pj
        #: for each word that is
        self.filled_pj = self.fill_pj
        self.fill_pj = self.rescale_pj = 0.0

    def later_sums_pj(self, m: int) -> float:
        """Energy for each word of a member's result in each later part of its sums: nothing is
        known of what need not lie in the buffer."""
        return super().later_sums_pj(m) if self._lies(self.group.made[m]) else 0.0

    def staying_sums_pj(self, m: int, /) -> float:
        """The same besides, if the result stays in the buffer."""
        return 0.0 if self._lies(self.group.made[m]) else super().later_sums_pj(m)

    def passes(self, operand: Operand) -> bool:
        """Whether an operand may pass the buffer by."""
        return operand.kind != "made" or not operand.readers

    def _lies(self, operand: int) -> bool:
        return not self.passes(self.group.operands[operand])

    @cached_property
    def _ways(self) -> tuple[tuple[Residency, ...], ...]:
        """Which operands of each member lie in the buffer: each way that mappings may choose."""
        found = []
        for m in range(len(self.group.layers)):
            weights, inputs = (
                bool(some) and all(map(self._lies, some))
                for some in (self.group.weights[m], self.group.maps[m])
            )
            lies = weights and self.keeps_weights, inputs, self._lies(self.group.made[m])
            may = self.keeps_weights, True, True
            ways = product(*({one, every} for one, every in zip(lies, may, strict=True)))
            found.append(tuple((w, i, o) for w, i, o in sorted(ways)))
        return tuple(found)

    @cached_property
    def _layer_keys(self) -> tuple[Hashable, ...]:
        maps = ((x.padding, x.input_size) for x in self.group.layers)
        return tuple(zip(super()._layer_keys, self._ways, maps, strict=True))

    def ways(self, m: int) -> tuple[Residency, ...]:
        """Which operands of a member may lie in the buffer, as mappings choose."""
        return self._ways[m]

    def nests(self, m: int, looped: tuple[int, ...], way: Residency) -> tuple[Ints, Ints]:
        """Return loop bounds and windows as :meth:`NestFacts.nests` does."""
        sizes, windows = super().nests(m, looped, way)
        layer = self.group.layers[m]
        if not (way[1] or windowless(layer)):
            # of a map that does not lie in the buffer no padding is fetched
            windows[:, :, 2] = layer.padding
            windows[:, :, 3] = np.minimum(windows[:, :, 3] - layer.padding, layer.input_size)
        return sizes, windows

    def _found_nest(self, m: int, looped: tuple[int, ...]) -> Floats:
        begin, add = list[Floats](), list[Floats]()
        for way in self._ways[m]:
            design, prices = staged_without_dram(self.hardware, way)
            tiles = self.nests(m, looped, way)
            begin.append(layer_costs(design, prices, *tiles))
            if way[2] and self._adds(m, looped):
                # as sums in the buffer are read again
                add.append(layer_costs(design._replace(begun=True), prices, *tiles))
        least = np.minimum.reduce(begin)
        more = np.minimum.reduce(add)[:, 1:] if add else least[:, 1:]
        found: Floats = np.concatenate([least, np.maximum(more, least[:, 1:])], axis=1).T
        return found.reshape(3, *self._shape(looped))
