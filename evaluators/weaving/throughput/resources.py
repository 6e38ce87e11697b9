"""Demands of a query: for how long it keeps each resource busy."""

import numpy as np

from archloom.evaluators.jit import compiled

from ...arrays import Floats
from ..bounds import inherent_idle
from ..ticks import Ticks

#: columns of :func:`demands`
_RESOURCES = 3


@compiled
def _demands(work: Ticks) -> Floats:
    chains = len(work.first) - 1
    rows = np.zeros((chains, _RESOURCES + 1))
    for m in range(chains):
        compute, pins, room, least = 0, 0, 0, 0
        for part in range(work.first[m], work.first[m + 1]):
            compute += work.compute[part]
            pins += work.fetch[part] + work.maps[part]
            room += work.fetch[part] + inherent_idle(work, part)
            least += min(work.fetch[part], work.compute[part])
        rows[m, 0], rows[m, 1], rows[m, 2], rows[m, 3] = compute, pins, room, least
    return rows


def demands(work: Ticks) -> Floats:
    """Return float64[k, 3]: ticks of a query of each chain on the array, on the pins, and of its
    weights with inherent idle time."""
    rows: Floats = _demands(work)[:, :_RESOURCES]
    return rows


def least_passages(work: Ticks) -> Floats:
    """Return float64[k]: ticks that a query adds to any schedule, the smaller of fetch and compute
    of each layer."""
    passages: Floats = _demands(work)[:, _RESOURCES]
    return passages
