"""The front of energy and latency of listed mappings."""

from math import inf

import numpy as np
from numpy.typing import NDArray


def listed_front(energy: NDArray[np.float64], cycles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cycles and least energy [n, 2] of the mappings that no faster one undercuts."""
    least, found = inf, []
    for steps in np.unique(cycles):
        here = energy[cycles == steps].min()
        if here < least * (1 - 1e-9):
            least = here
            found.append((steps, here))
    return np.array(found)
