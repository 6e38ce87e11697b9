"""What rules know of networks before any request comes."""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import compiled
from archloom.evaluators.weaving import Ticks

from .rules import Facts


def facts_of(work: Ticks, lead_target: float = 0.5) -> Facts:
    """Return what rules know of chains.

    Args:
        work: the chains.
        lead_target: share of the weight buffer; below that much lead ``strings`` builds up more.
    """
    need, rest, largest, computes = _facts(work)
    gain = work.compute - work.fetch - work.maps
    return Facts(need, gain, rest, largest, computes, int(lead_target * work.buffer))


@compiled
def _facts(work: Ticks) -> tuple[Ints, Ints, Ints, Ints]:
    chains, parts = len(work.first) - 1, len(work.fetch)
    need, rest = np.full(parts, -1, np.int64), np.empty(parts, np.int64)
    largest, computes = np.zeros(chains, np.int64), np.zeros(chains, np.int64)
    for m in range(chains):
        begin, end = work.first[m], work.first[m + 1]
        compute, moved = 0, 0
        for part in range(end - 1, begin - 1, -1):
            compute += work.compute[part]
            moved += work.fetch[part] + work.maps[part]
            rest[part] = max(compute, moved)
            largest[m] = max(largest[m], work.fetch[part] + work.maps[part])
        computes[m] = compute > moved
        for part in range(begin, end):
            # queries follow each other: after the last layer comes the first
            most, gain, at = 0, 0, part
            for _ in range(end - begin):
                gain -= work.fetch[at] + work.maps[at]
                most = max(most, -gain)
                gain += work.compute[at]
                if gain > 0:
                    need[part] = most
                    break
                at = at + 1 if at + 1 < end else begin
    return need, rest, largest, computes
