"""All tilings of a kind of step, each with figures that no mappings go below, and the sizes in
which their layers run, so that the figures rise once it is known what some sizes cost."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archloom.evaluators import Floats, Ints

from ..option_batch import GroupWay, OptionBatch


@dataclass(frozen=True, eq=False)
class BoundedTilings:
    """B tilings of the group of a kind of step, with n sizes in which its layers run.

    Attributes:
        ways: what is evaluated of each.
        starts: int64[B + 1], where the sizes of each begin.
        places: int64[n], twice the number of each size, plus 1 where weights are resident.
        times: int64[n], tiles of that size, of all images.
        costs: float64[2, n], energy inside the buffer (pJ, without leakage) and cycles of one, at
            the least.
        total: adds up such costs: float64[2, B], energy (pJ, without leakage) and cycles of each
            tiling.
    """

    ways: tuple[GroupWay, ...]
    starts: Ints
    places: Ints
    times: Ints
    costs: Floats
    total: Callable[[Floats], Floats]

    def __len__(self) -> int:
        return len(self.ways)

    def figures(self, found: Floats | None = None) -> Floats:
        """Return float64[2, B], energy (pJ, without leakage) and cycles that no mappings of each
        tiling go below.

        Args:
            found: float64[2, n], what sizes cost with the mappings that were found for them, 0
                where that is not known; then with these mappings.
        """
        if not self.ways:
            return np.zeros((2, 0))
        return self.total(self.costs if found is None else np.maximum(self.costs, found))

    @property
    def energies(self) -> Floats:
        """float64[B], pJ at the least, without leakage."""
        energies: Floats = self.figures()[0]
        return energies

    @property
    def latencies(self) -> Floats:
        """float64[B], cycles at the least."""
        latencies: Floats = self.figures()[1]
        return latencies


def without_sizes(batch: OptionBatch) -> BoundedTilings:
    """Return options whose figures stay as they are."""
    figures = np.stack([batch.energies, batch.latencies])
    none, starts = np.zeros(0, np.int64), np.zeros(len(batch) + 1, np.int64)
    return BoundedTilings(batch.ways, starts, none, none, np.zeros((2, 0)), lambda _: figures)
