"""All mappings of small problems whose factors cover the bounds, edge tiles cut.

From the innermost place outwards a factor is any number up to the tiles that are left, rounded up;
the last place takes all that is left. So no step is idle, and every nest that a mapping can be is
listed. Orders and ways to keep tensors are those of :mod:`.enumerated_mappings`.

Independent of: all code of the mapping searches; costs are those of the kernel of imperfect nests,
which :mod:`.imperfect_nest` walks step by step.
"""

from functools import cache
from math import inf

import numpy as np

from archloom.evaluators.jit import compiled
from archloom.evaluators.loopnest.imperfect.kernel import evaluate_imperfect, imperfect_room
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs

from .enumerated_mappings import Flags, Int, _on_mesh, _ordered, kept, orders

#: from the inside out children along x and y, then steps
_INSIDE_OUT = (1, 2, 0)


@cache
def covering(bound: int, places: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all factors, innermost first, at most ``places`` each, that cover a bound with no step
    more."""
    if len(places) == 1:
        return [(bound,)] if bound <= places[0] else []
    return [
        (first, *rest)
        for first in range(1, min(bound, places[0]) + 1)
        for rest in covering(-(-bound // first), places[1:])
    ]


def imperfect_tilings(setup: KernelInputs, most: int) -> Int | None:
    """Return all factors: int64[B, L, 3, 8]; None if there are more than ``most``."""
    levels, found = len(setup.fanout), np.ones((1, len(setup.fanout), 3, 8), np.int64)
    for d in range(8):
        bound = int(setup.bounds[d])
        places = [(level, kind) for level in range(levels) for kind in _INSIDE_OUT]
        most_each = tuple(
            bound
            if kind == 0
            else int(setup.fanout[level, kind - 1])
            if setup.spatial[level, kind - 1, d]
            else 1
            for level, kind in places
        )
        table = np.array(covering(bound, most_each))
        ways = np.ones((len(table), levels, 3, 8), np.int64)
        for column, (level, kind) in enumerate(places):
            ways[:, level, kind, d] = table[:, column]
        ways = ways[_on_mesh(setup, ways)]
        if len(found) * len(ways) > 4 * most:
            return None
        found = (found[:, None] * ways[None]).reshape(-1, levels, 3, 8)
        found = found[_on_mesh(setup, found)]
    return None if len(found) > most else found


@compiled
def _least(setup, loops, keep, room):
    """Least objective of ``loops[B, L, 4, 8]``, with the chip's leakage."""
    least, (a, b) = np.inf, setup.weights
    for i in range(loops.shape[0]):
        _, energy, chip, dram = evaluate_imperfect(setup, loops[i], keep, room)
        cycles = max(chip, dram)
        if cycles < np.inf:
            least = min(least, (energy + setup.leakage_pj * cycles) ** a * cycles**b)
    return least


def least_objective(setup: KernelInputs, most: int) -> float | None:
    """Return the least energy and latency to the powers of the setup, multiplied, of all mappings;
    None if there are more than ``most``."""
    tiled = imperfect_tilings(setup, most)
    if tiled is None:
        return None
    keeps: list[Flags] = kept(setup)
    if orders(tiled) * len(keeps) > most:
        return None
    room, least = imperfect_room(len(setup.fanout)), inf
    for loops in _ordered(tiled):
        for keep in keeps:
            least = min(least, _least(setup, loops, keep, room))
    return least
