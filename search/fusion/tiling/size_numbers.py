"""Numbers of the sizes in which the layers of one network run, whatever the design."""

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints
from archloom.space.workload import Network

from ..group_equivalence import layer_kinds


class SizeNumbers:
    """Numbers of the sizes in which the layers of one network run; layers of one kind share them.

    Attributes:
        sizes: a layer of the kind, rows and columns of its result, by number.
    """

    def __init__(self, network: Network) -> None:
        self._kinds = np.array(layer_kinds(network), np.int64)
        first = np.unique(self._kinds, return_index=True)[1]
        self._layers: list[int] = first.tolist()
        maps = [(network.layers[i].p + 1, network.layers[i].q + 1) for i in self._layers]
        self._widths = np.array([width for _, width in maps], np.int64)
        # a place for every size of every kind; memory that is never touched takes none
        self._starts = np.cumsum([0, *(height * width for height, width in maps)])
        self._numbers = np.zeros(self._starts[-1], np.int32)
        self.sizes: list[tuple[int, int, int]] = []

    def of(self, layers: Ints, rows: Ints, columns: Ints) -> Ints:
        """Return int64[...], the numbers of some layers with rows and columns of their results."""
        kinds = self._kinds[layers]
        places = self._starts[kinds] + rows * self._widths[kinds] + columns
        found: NDArray[np.int32] = self._numbers[places]
        if not found.all():
            self._number(np.unique(places[found == 0]))
            found = self._numbers[places]
        return found - np.int64(1)

    def _number(self, places: Ints) -> None:
        """Give numbers, from 1 on, to some places that have none yet."""
        first = len(self.sizes) + 1
        self._numbers[places] = np.arange(first, first + len(places))
        kinds = np.searchsorted(self._starts, places, side="right") - 1
        rows, columns = np.divmod(places - self._starts[kinds], self._widths[kinds])
        figures = zip(kinds.tolist(), rows.tolist(), columns.tolist(), strict=True)
        self.sizes += [(self._layers[kind], height, width) for kind, height, width in figures]
