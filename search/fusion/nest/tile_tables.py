"""Tables of what tiles cost at the least, which many groups on a design have in common."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import design_and_prices, layer_costs
from archloom.space.hardware import Hardware
from archloom.space.workload import Sparsity

#: members' tables of tiles that are remembered of a design (ours: some KiB each)
_MOST_KNOWN: Final = 2**13


class TileTables:
    """Tables of tiles of members of many groups on a design."""

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self._known: dict[Hashable, Floats] = {}

    def of(self, key: Hashable, find: Callable[[], Floats]) -> Floats:
        """Return the table of a key, found once."""
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = find()
        return self._known[key]


tables_of = lru_cache(maxsize=8)(TileTables)


@lru_cache(maxsize=8192)
def tile_costs(
    hardware: Hardware,
    density: tuple[float, float],
    staged: bool,
    adds: bool,
    bounds: bytes,
    windows: bytes,
) -> Floats:
    """float64[3, n], least energy and cycles of tiles, and cycles of those that add to sums, if
    some do; groups have many of them in common."""
    design, prices = design_and_prices(hardware, Sparsity(*density), (staged, True, True))
    # arrays of their own: kernels are compiled for those that can be written
    sizes, window = (np.frombuffer(part, np.int64).copy() for part in (bounds, windows))
    tiles = sizes.reshape(-1, 8), window.reshape(-1, 2, 4)
    begin = layer_costs(design, prices, *tiles)
    add = layer_costs(design._replace(begun=True), prices, *tiles) if adds else begin
    found: Floats = np.concatenate([begin.T, add.T[1:]])
    return found
