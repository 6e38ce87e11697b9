"""Lower bounds on when all layers of chains are done, whatever their order.

Names are those of docs/explanation/weaving.md ("Bounds on the makespan"), which has the proofs. All
are whole ticks and hold exactly.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators.jit import allocating, compiled, helper

from ..arrays import Ints
from .engines import DONE, new_engines, run_layer
from .ticks import Ticks

#: cells of the table of B3; beyond that it is left out
MOST_CELLS: Final = 2**23


@dataclass(frozen=True)
class MakespanBounds:
    """Lower bounds in ticks.

    Attributes:
        engines: B0, the busier engine alone.
        ends: B1, and with inherent idle time B2: the busier engine and what the other does first
            or last.
        suffixes: B3, over all orders of what is left; None where its table would be too large.
        chain: B4, one chain alone and the least that each layer of the others adds.
    """

    engines: int
    ends: int
    suffixes: int | None
    chain: int

    @property
    def best(self) -> int:
        """The largest."""
        return max(self.engines, self.ends, self.suffixes or 0, self.chain)


@helper
def inherent_idle(work: Ticks, part: int) -> int:
    """Return how long the fetch of weights must rest while a part runs.

    At most the rest of the buffer is filled meanwhile (Section III-D of the Layerweaver paper).
    """
    return max(0, work.fetch[part] + work.compute[part] - work.buffer)


def cells(work: Ticks) -> int:
    """Return how many cells there are: one for each number of layers done of each chain."""
    count = 1
    for length in np.diff(work.first).tolist():
        count *= length + 1
    return count


@allocating
def strides_of(first: Ints) -> Ints:
    """Return by how much the number of a cell grows with a layer of each chain."""
    strides = np.ones(len(first) - 1, np.int64)
    for m in range(len(strides) - 2, -1, -1):
        strides[m] = strides[m + 1] * (first[m + 2] - first[m + 1] + 1)
    return strides


@compiled
def suffix_bounds(work: Ticks) -> Ints:
    """Return for each cell the least time from the last fetch until all that is left is done.

    For the k-th layer of what is left, its start is no earlier than the fetches up to it and the
    inherent idle time of those before it; then all arrays' work from it on follows. The table
    takes the least over the orders of the largest over k. With maps over the pins, time in which
    weights rest may be spent on maps: then one account has the maps, another the idle time.
    """
    first, strides = work.first, strides_of(work.first)
    chains = len(strides)
    count = strides[0] * (first[1] - first[0] + 1)
    table = np.zeros(count, np.int64)
    has_maps = work.maps.max() > 0
    for account in range(2 if has_maps else 1):
        other = np.empty(count, np.int64)
        left = np.zeros(chains, np.int64)
        other[count - 1] = 0
        compute_left = 0
        for cell in range(count - 2, -1, -1):
            # one layer fewer is done: of the last chain, or of one before it, and of all
            # chains after that one everything is done again
            m = chains - 1
            while left[m] == first[m + 1] - first[m]:
                for part in range(first[m], first[m + 1]):
                    compute_left -= work.compute[part]
                left[m] = 0
                m -= 1
            left[m] += 1
            compute_left += work.compute[first[m + 1] - left[m]]
            best = 2**62
            for m in range(chains):
                if left[m]:
                    part = first[m + 1] - left[m]
                    moved, idle = work.fetch[part], inherent_idle(work, part)
                    if has_maps and account == 0:
                        moved, idle = moved + work.maps[part], 0
                    after = max(compute_left, idle + other[cell + strides[m]])
                    best = min(best, moved + after)
            other[cell] = best
        table = np.maximum(table, other)
    return table


@compiled
def _plain_bounds(work: Ticks) -> tuple[int, int, int]:
    """Return B0, the larger of B1 and B2, and B4."""
    first = work.first
    moved, compute, weights, idle, least = 0, 0, 0, 0, 0
    for part in range(first[-1]):
        moved += work.fetch[part] + work.maps[part]
        weights += work.fetch[part]
        compute += work.compute[part]
        idle += inherent_idle(work, part)
        least += min(work.fetch[part], work.compute[part])
    begin, end, end_idle = 2**62, 2**62, 2**62
    chain = 0
    for m in range(len(first) - 1):
        if first[m] == first[m + 1]:
            continue
        last = first[m + 1] - 1
        begin = min(begin, work.fetch[first[m]] + work.maps[first[m]])
        end = min(end, work.compute[last])
        end_idle = min(end_idle, work.compute[last] - inherent_idle(work, last))
        engines = new_engines(first[m + 1] - first[m])
        others = least
        for part in range(first[m], first[m + 1]):
            fetch, needed = work.fetch[part], work.compute[part]
            run_layer(engines, fetch, work.maps[part], needed, work.buffer)
            others -= min(fetch, needed)
        chain = max(chain, engines.state[DONE] + others)
    ends = max(begin + compute, max(moved + end, weights + idle + end_idle))
    return max(moved, compute), ends, chain


def makespan_bounds(work: Ticks, table: Ints | None = None) -> MakespanBounds:
    """Return lower bounds on the makespan of one query of each chain.

    Args:
        work: at least one layer.
        table: what :func:`suffix_bounds` returned, where it is at hand.
    """
    if table is None and cells(work) <= MOST_CELLS:
        table = suffix_bounds(work)
    engines, ends, chain = _plain_bounds(work)
    return MakespanBounds(engines, ends, None if table is None else int(table[0]), chain)
