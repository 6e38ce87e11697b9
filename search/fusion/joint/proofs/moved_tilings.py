"""What moves between DRAM and the buffer for tilings of kinds of steps, whatever runs inside.

It tells most kinds of steps apart from their bound as a whole, for a hundredth of the memory of the
sizes in which their layers run.
"""

from collections.abc import Mapping as Dict
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.search.fusion.joint.tilings import MovedPrices, TilingSums


class MovedTilings(NamedTuple):
    """Tilings of kinds of steps, one kind after another, without their sizes.

    Attributes:
        kinds: int64[k].
        counts: int64[k], how many each has, at least one.
        rounded, words: as of :class:`archloom.search.fusion.joint.tilings.TilingSums`.
    """

    kinds: Ints
    counts: Ints
    rounded: Floats
    words: Ints

    def and_more(self, found: Dict[int, TilingSums]) -> "MovedTilings":
        """Return these and those of other kinds; kinds without tilings are left out."""
        some = {kind: sums for kind, sums in found.items() if len(sums.rounded)}
        if not some:
            return self
        counts = np.array([len(sums.rounded) for sums in some.values()], np.int64)
        return MovedTilings(
            np.concatenate([self.kinds, np.array(list(some), np.int64)]),
            np.concatenate([self.counts, counts]),
            np.concatenate([self.rounded, *(sums.rounded for sums in some.values())]),
            np.concatenate([self.words, *(sums.words for sums in some.values())], axis=1),
        )

    def least(self, prices: MovedPrices, count: int) -> Floats:
        """Return float64[``count``, 2], the least energy (pJ) and the least cycles that what moves
        takes, of each kind of all; infinite for those without tilings here."""
        found = np.full((count, 2), np.inf)
        if len(self.kinds):
            starts = np.cumsum(self.counts) - self.counts
            energy = prices.moved_pj(self.words) - self.rounded * prices.rounded_pj
            found[self.kinds, 0] = np.minimum.reduceat(energy, starts)
            found[self.kinds, 1] = np.minimum.reduceat(self.words.sum(axis=0), starts) / prices.rate
        return found


#: no tilings
NO_MOVED: Final = MovedTilings(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros((3, 0), np.int64)
)
