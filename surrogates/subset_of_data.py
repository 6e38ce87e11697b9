"""Subset-of-data approximation and refresh schedule for surrogates of thousands of trials.

Both are functions of the trials alone, so an optimizer that observes them in other portions, or
anew, is in the same state.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from archloom.evaluators import Floats

#: Share by which a history has to grow until what costs much and changes little is done anew.
GROWTH: Final = 0.2

#: Distances that are worked out at once: a fraction of a cache, whatever the number of results.
_MOST_DISTANCES: Final = 2**14

#: Results that a process is conditioned on; the cost of a posterior grows with their square.
MOST_ROWS: Final = 768


def last_refresh(trials: int) -> int:
    """Return the number of trials at which work that is redone at each fifth more was last done.

    Up to 10 trials it is done with each.
    """
    last = following = min(trials, 1)
    while 0 < following <= trials:
        last, following = following, following + max(1, int(GROWTH * following))
    return last


def informative_rows(
    inputs: Floats, costs: Floats, front: Floats, most: int = MOST_ROWS
) -> NDArray[np.int64]:
    """Return the results to condition a surrogate on, in their order.

    All, if they are no more than ``most``. Else half of them are those nearest to the front, and
    the others lie far apart in the space of inputs, from the first half and from each other: a
    subset of the data (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006,
    section 8.3.3) that is dense where designs are compared and leaves no region out.

    Args:
        inputs: [n, d] of the results.
        costs: [n, m] logarithms of their objectives.
        front: [k, m] the same of the front.
        most: how many.
    """
    if len(inputs) <= most:
        return np.arange(len(inputs))
    behind = np.full(len(costs), -np.inf)
    for member in front:
        # by how much every objective has to fall so that this member does not dominate
        behind = np.maximum(behind, (costs - member).min(axis=1))
    near = np.argsort(behind, kind="stable")[: most // 2]
    return np.sort(farthest_points(inputs, most, list(near)))


def farthest_points(inputs: Floats, n: int, chosen: list[int]) -> NDArray[np.int64]:
    """Return ``n`` rows of ``inputs`` [m, d] that lie far apart, after those that are chosen.

    The greedy farthest-point order of Gonzalez, "Clustering to minimize the maximum intercluster
    distance" (1985): each row is the one farthest from those before it. The order does not
    depend on ``n``.
    """
    order = list(chosen)
    parts = np.array_split(inputs, -(-len(inputs) * len(order) // _MOST_DISTANCES))
    distance = np.concatenate(
        [cdist(part, inputs[order], "sqeuclidean").min(axis=1) for part in parts]
    )
    distance[order] = -1.0
    while len(order) < min(n, len(inputs)):
        order.append(int(np.argmax(distance)))
        latest = cdist(inputs, inputs[order[-1:]], "sqeuclidean")[:, 0]
        distance = np.minimum(distance, latest)
        distance[order[-1]] = -1.0
    return np.array(order, dtype=np.int64)
