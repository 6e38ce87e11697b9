"""Estimated costs of the sizes in which a network's layers run on one design, as arrays."""

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.search.fusion.tiling import LayerTile, SizeNumbers, TileEstimates

#: energy, cycles, and cycles of what is cut further
_ENERGY, _EXACT, _LEAST = range(3)


class SizeCosts:
    """Costs of sizes by number, worked out when they are first asked for.

    Args:
        estimates: of the design.
        numbers: of the sizes.
    """

    def __init__(self, estimates: TileEstimates, numbers: SizeNumbers) -> None:
        self._estimates = estimates
        self._sizes = numbers.sizes
        # two places for each size: weights stream, weights stay
        self._costs = np.full((3, 0), np.nan)

    def of(self, sizes: Ints, stays: Ints, cut: bool = False) -> tuple[Floats, Floats]:
        """Return float64[n], about the energy (pJ, without leakage) and cycles of each size.

        Args:
            sizes: int64[n], numbers of sizes.
            stays: int64[n], 1 where weights are resident.
            cut: as of :meth:`archloom.search.fusion.tiling.TileEstimates.of`.
        """
        found = self._at(2 * sizes + stays)
        return found[_ENERGY], found[_LEAST if cut else _EXACT]

    def at(self, places: Ints) -> Floats:
        """Return float64[2, n], energy and cycles as :meth:`of` has them.

        Args:
            places: int64[n], twice the number of each size, plus 1 where weights are resident.
        """
        return self._at(places)[: _EXACT + 1]

    def least(self, places: Ints) -> Floats:
        """Return the same, with cycles that no mapping is below."""
        return self._at(places)[[_ENERGY, _LEAST]]

    def _at(self, places: Ints) -> Floats:
        if self._costs.shape[1] < 2 * len(self._sizes):
            more = 4 * len(self._sizes) - self._costs.shape[1]
            self._costs = np.concatenate([self._costs, np.full((3, more), np.nan)], axis=1)
        found = self._costs.take(places, axis=1)
        unknown = np.isnan(found[_ENERGY])
        if unknown.any():
            missing = np.unique(places[unknown])
            tiles: list[LayerTile] = [
                (*self._sizes[place // 2], bool(place % 2)) for place in missing.tolist()
            ]
            self._costs[:, missing] = np.array(self._estimates.figures(tiles)).T
            found = self._costs.take(places, axis=1)
        return found
