"""Random search: the feasible designs as the space draws them."""

from collections.abc import Sequence

import numpy as np

from archloom.space.design_space import Point

from .observations import ObservingOptimizer
from .proposals import draw_new


class RandomSearch(ObservingOptimizer):
    """Proposes feasible designs that are new, each as likely as the space draws it.

    Args:
        problem: what to search.
        seed: seed of the study.
    """

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        rng = np.random.default_rng(self._observations.draw_seed(self._seed, pending))
        return [c.point for c in draw_new(self._problem, rng, n, known)]
