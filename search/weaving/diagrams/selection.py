"""Selection: which states of a level go on, and which are merged."""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import allocating, helper

from .states import States, dominates, meet


@helper
def _before(states: States, a: int, b: int, by_bound: bool) -> bool:
    """Whether a state stands before another: by bound and rank, or by cell, end and lag."""
    if by_bound:
        if states.bound[a] != states.bound[b]:
            return states.bound[a] < states.bound[b]
        return states.rank[a] < states.rank[b]
    if states.cell[a] != states.cell[b]:
        return states.cell[a] < states.cell[b]
    if states.done[a] != states.done[b]:
        return states.done[a] < states.done[b]
    return states.lag[a] < states.lag[b]


@allocating
def sort(states: States, index: Ints, begin: int, end: int, by_bound: bool) -> None:
    """Sort states ``index[begin:end]``; equal ones stay in order."""
    count = end - begin
    other = np.empty(count, np.int64)
    run = 1
    while run < count:
        for low in range(0, count, 2 * run):
            middle, high = min(low + run, count), min(low + 2 * run, count)
            i, j = low, middle
            for into in range(low, high):
                takes_right = i == middle
                if not takes_right and j < high:
                    takes_right = _before(states, index[begin + j], index[begin + i], by_bound)
                if takes_right:
                    other[into] = index[begin + j]
                    j += 1
                else:
                    other[into] = index[begin + i]
                    i += 1
        for i in range(count):
            index[begin + i] = other[i]
        run *= 2


@helper
def undominated(
    states: States, index: Ints, begin: int, end: int, into: int, spent: Ints, relaxed: bool
) -> int:
    """Keep the states of one cell that no other dominates; return where they end.

    The bound of a merged state holds for what it was merged from. Where it makes another one
    needless, it takes over the lesser bound.

    Args:
        states: holds them.
        index: from ``begin`` to ``end``, sorted by end: a state is dominated by none behind it,
            but for those that end at the same time. Kept ones are written from ``into`` on.
        begin, end, into: places in the index.
        spent: its first word grows by the comparisons.
        relaxed: whether states may be merged ones.
    """
    kept = into
    for i in range(begin, end):
        s = index[i]
        needed = True
        for k in range(into, kept):
            if dominates(states, index[k], s):
                needed = False
                if relaxed:
                    keeper = index[k]
                    states.bound[keeper] = min(states.bound[keeper], states.bound[s])
                break
        spent[0] += kept - into
        if needed:
            index[kept] = s
            kept += 1
    return kept


@allocating
def merged(states: States, index: Ints, begin: int, end: int, most: int) -> int:
    """Merge states of one cell until ``most`` are left; return where they end.

    The half of least bound stays as it is; the others, by their ends, become so many groups, each
    replaced by its meet.
    """
    sort(states, index, begin, end, True)
    keeps = most // 2
    groups = most - keeps
    sort(states, index, begin + keeps, end, False)
    count = end - begin - keeps
    for group in range(groups):
        low, high = count * group // groups, count * (group + 1) // groups
        first = index[begin + keeps + low]
        for i in range(low + 1, high):
            first = _joined(states, first, index[begin + keeps + i], i > low + 1)
        index[begin + keeps + group] = first
    return begin + keeps + groups


@helper
def _joined(states: States, a: int, b: int, again: bool) -> int:
    """Return the meet of two states, in the place of the first if that is a meet itself."""
    into = meet(states, a, b)
    if not again:
        return into
    begin, at = states.begin[a], states.begin[into]
    count = states.end[into] - at
    for i in range(count):
        states.places[begin + i], states.lags[begin + i] = (
            states.places[at + i],
            states.lags[at + i],
        )
    states.lag[a], states.done[a] = states.lag[into], states.done[into]
    states.bound[a], states.rank[a] = states.bound[into], states.rank[into]
    states.end[a] = begin + count
    states.used[0], states.used[1] = into, begin + count
    return a
