"""What rules know of networks before any request comes."""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import compiled
from archloom.evaluators.weaving import Ticks
from archloom.search.weaving.rules import Greedy, deficits, largest_of

from ..applied import computes_longer
from .rules import Facts


def facts_of(work: Ticks, lead_target: float = 0.5, additional: bool = False) -> Facts:
    """Return what rules know of chains.

    Args:
        work: the chains.
        lead_target: share of the weight buffer; below that much lead ``strings`` builds up more.
        additional: whether only idle time counts that a choice adds; see
            :class:`~archloom.search.weaving.rules.Greedy`.
    """
    return Facts(
        # queries follow each other: after the last layer comes the first
        deficits(work, True),
        _rest(work),
        largest_of(work),
        Greedy(computes_longer(work), additional, False),
        int(lead_target * work.buffer),
        np.empty((work.chains, 4), np.int64),
    )


@compiled
def _rest(work: Ticks) -> Ints:
    rest = np.empty(len(work.fetch), np.int64)
    for m in range(len(work.first) - 1):
        compute, moved = 0, 0
        for part in range(work.first[m + 1] - 1, work.first[m] - 1, -1):
            compute += work.compute[part]
            moved += work.fetch[part] + work.maps[part]
            rest[part] = max(compute, moved)
    return rest
