"""One chain at a time: whole queries, the next one fetched while the last layers compute."""

from itertools import permutations
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled
from archloom.evaluators.weaving import Ticks, demands, new_engines, queue_room

from .run import Run, goes_on, take

#: chains of which all orders are tried
_MOST_PERMUTED: Final = 5


@compiled
def serial_steps(run: Run, shares: Floats) -> int:
    """Serve whole queries, each time of the chain that had least; return the number of steps.

    Args:
        run: what to serve.
        shares: float64[k], how much a query counts: its time, for equal shares of time. Of an
            equal count the first chain is served; a chain with a negative one never is.
    """
    work = run.work
    engines = new_engines(queue_room(run.work))
    had = np.zeros(len(run.queries))
    step = 0
    while True:
        m = -1
        for i in range(len(run.queries)):
            if run.queries[i] > 0 and shares[i] >= 0 and (m < 0 or had[i] < had[m]):
                m = i
        if m < 0:
            return step
        had[m] += shares[m]
        for _ in range(work.first[m], work.first[m + 1]):
            if not goes_on(run, engines, step):
                return step
            take(run, engines, step, m)
            step += 1


def serial_orders(work: Ticks) -> list[Ints]:
    """Return orders of one query of each chain, one chain after another: all, or of many chains
    by falling and rising share of compute.
    """
    lengths = np.diff(work.first)
    if len(lengths) <= _MOST_PERMUTED:
        found = [np.array(p, np.int64) for p in permutations(range(len(lengths)))]
    else:
        needed = demands(work)
        by_surplus = np.argsort(needed[:, 0] - needed[:, 1], kind="stable")
        found = [by_surplus, by_surplus[::-1]]
    return [np.repeat(order, lengths[order]) for order in found]
