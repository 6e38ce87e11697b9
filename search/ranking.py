"""Which results are better than which, for optimizers that only compare."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .told import Result

Array = NDArray[np.float64]


def comparable(results: Sequence[Result]) -> Array:
    """Return the natural logarithms of the values, those of broken limits behind all others.

    A design that breaks a limit is dominated by every one that keeps them all, and by every one
    that breaks them by less: the constrained domination of Deb et al., "A fast and elitist
    multiobjective genetic algorithm" (2002), section VI.

    Args:
        results: at least one.

    Returns:
        [n, objectives], to be minimised.
    """
    logs = np.log([r.values for r in results])
    violation = np.array([r.violation for r in results])
    behind = logs.max(axis=0) + 1.0 + violation[:, None]
    return np.where(violation[:, None] > 0, behind, logs)


def ranked(results: Sequence[Result]) -> list[int]:
    """Return the rows of ``results``, at least one, from the best to the worst.

    The order of NSGA-II (Deb et al. 2002): by front, then by crowding distance, the loneliest
    first. With one objective it is the order of its values. Equal results stay in their order.
    """
    import moocore

    logs = comparable(results)
    front = np.asarray(moocore.pareto_rank(logs))
    crowding = np.zeros(len(logs))
    for number in np.unique(front):
        crowding[front == number] = crowding_distance(logs[front == number])
    return [int(i) for i in np.lexsort((-crowding, front))]


def crowding_distance(logs: Array) -> Array:
    """Return the crowding distance of each row of ``logs`` [n, m] (Deb et al. 2002, III-B)."""
    distance = np.zeros(len(logs))
    for column in logs.T:
        order = np.argsort(column, kind="stable")
        ends = column[order]
        span = ends[-1] - ends[0]
        gaps = (ends[2:] - ends[:-2]) / span if span > 0 else np.zeros(max(len(ends) - 2, 0))
        distance[order[1:-1]] += gaps
        distance[order[[0, -1]]] = np.inf
    return distance
