"""Where a front could still grow: points that it does not dominate, and who may reach them.

Points are drawn once. Each counts for the sets of designs whose bounds reach it, in equal parts,
since it stays open until all of them are cut. So a set counts most that is alone to reach far.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints

from ...pareto import dominated_by

#: Points that are drawn, and rounds of as many draws before fewer have to do.
_POINTS: Final = 4096
_ROUNDS: Final = 64

#: What a point counts, in parts.
_WHOLE: Final = 2**40


def drawn_points(low: Floats, high: Floats, front: Floats, bounds: Floats | None = None) -> Floats:
    """Return float64[n, m], points between two corners that a front does not dominate.

    Args:
        low, high: float64[m], logarithms of the corners.
        front: float64[k, m], logarithms of the costs of its members.
        bounds: float64[r, m], logarithms; some of them dominates each point. None for any.
    """
    rng, points = np.random.default_rng(0), np.empty((0, len(high)))
    for _ in range(_ROUNDS):
        drawn = low + (high - low) * rng.random((_POINTS, len(high)))
        drawn = drawn[~dominated_by(front, drawn)]
        if bounds is not None:
            drawn = drawn[dominated_by(bounds, drawn)]
        points = np.vstack([points, drawn])
        if len(points) >= _POINTS:
            break
    return points[:_POINTS]


def reached(points: Floats, logs: Floats) -> Ints:
    """Return which points some of the bounds ``logs[k, m]`` dominate, ascending."""
    below = logs[:, :1] <= points[:, 0]
    for j in range(1, points.shape[1]):
        below &= logs[:, j : j + 1] <= points[:, j]
    return np.flatnonzero(below.any(axis=0))


def counts_of(sets: Sequence[Ints], points: int) -> NDArray[np.int64]:
    """Return int64[n], what the points that each of n sets reaches count, of so many points."""
    sizes = np.array([len(one) for one in sets], np.int64)
    every = np.concatenate([*sets, np.zeros(1, np.int64)])
    counts = np.bincount(every[:-1], minlength=points)
    # whole numbers add up to the same on every machine
    sums = np.append(0, np.cumsum((_WHOLE // np.maximum(counts, 1))[every[:-1]]))
    ends = np.cumsum(sizes)
    found: NDArray[np.int64] = sums[ends] - sums[ends - sizes]
    return found
