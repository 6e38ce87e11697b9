"""Decision diagrams over cells, level by level: exact, restricted (a beam), or relaxed.

A level holds the states after so many layers. With dominance alone the last level has the least
makespan. A beam keeps the states of least bound: what it finds can be run, and no schedule is
below the least bound that it dropped. A relaxed diagram merges states of a cell: its last level is
a lower bound (Bergman, Cire, van Hoeve and Hooker, Decision Diagrams for Optimization, 2016).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import allocating, compiled
from archloom.evaluators.weaving import Ticks, inherent_idle, strides_of

from .expansion import Problem, expand
from .selection import merged, sort, undominated
from .states import States, new_states


class Limits(NamedTuple):
    """What a pass through the levels may do.

    Attributes:
        upper: makespan of a schedule at hand; only better ones are looked for.
        width: most states of a level; the others are dropped. 0: none are.
        merge: most states of a cell; the others are merged. 0: none are.
        effort: most states and comparisons; then the pass ends with the bound that it has.
    """

    upper: int
    width: int
    merge: int
    effort: int


class Outcome(NamedTuple):
    """What a pass found.

    Attributes:
        lower: no schedule is done before.
        reached: whether the last level was; then the order that led there was written.
        exact: whether nothing was dropped or merged.
        effort: states and comparisons.
    """

    lower: int
    reached: bool
    exact: bool
    effort: int


@compiled
def problem_of(work: Ticks, table: Ints) -> Problem:
    """Return the problem of one query of each chain."""
    left = np.zeros((work.first[-1], 4), np.int64)
    for m in range(len(work.first) - 1):
        for part in range(work.first[m + 1] - 1, work.first[m] - 1, -1):
            if part + 1 < work.first[m + 1]:
                left[part] = left[part + 1]
            left[part, 0] += work.compute[part]
            left[part, 1] += work.fetch[part]
            left[part, 2] += work.maps[part]
            left[part, 3] += inherent_idle(work, part)
    return Problem(work, strides_of(work.first), table, left, work.fetch.sum())


@allocating
def _start() -> States:
    states = new_states(1, 1)
    states.cell[0] = states.fetched[0] = states.lag[0] = states.done[0] = 0
    states.bound[0] = states.rank[0] = 0
    states.parent[0] = states.chain[0] = -1
    states.begin[0] = states.end[0] = 0
    states.used[0] = 1
    return states


@allocating
def _expanded(problem: Problem, limits: Limits, old: States, kept: Ints, numbers: Ints) -> States:
    """Return the states of the next level, before selection."""
    chains, room = len(problem.strides), 0
    for s in kept:
        room += chains * (old.end[s] - old.begin[s] + 1)
    count = chains * len(kept)
    # meets take a row for each group, and the room of what they merge twice
    grows = 3 if limits.merge else 1
    new = new_states(min(grows, 2) * count + 1, grows * room)
    for i in range(len(kept)):
        expand(problem, limits.upper, old, kept[i], numbers[i], new)
    return new


@allocating
def _selected(limits: Limits, states: States, spent: Ints, dropped: Ints) -> Ints:
    """Return the states of a level that go on.

    ``dropped`` gets the least bound of what was dropped, and whether anything was merged.
    """
    count = states.used[0]
    index = np.arange(count)
    sort(states, index, 0, count, False)
    begin, kept = 0, 0
    while begin < count:
        end = begin + 1
        while end < count and states.cell[index[end]] == states.cell[index[begin]]:
            end += 1
        low = kept
        kept = undominated(states, index, begin, end, low, spent, limits.merge > 0)
        if limits.merge and kept - low > limits.merge:
            kept = merged(states, index, low, kept, limits.merge)
            dropped[1] = 1
        begin = end
    if limits.width and kept > limits.width:
        sort(states, index, 0, kept, True)
        dropped[0] = min(dropped[0], states.bound[index[limits.width]])
        kept = limits.width
    return index[:kept].copy()


@compiled
def diagram(problem: Problem, limits: Limits, order: Ints) -> Outcome:
    """Go through the levels; ``order[n]`` gets the chains of the steps to the best last state."""
    layers = problem.work.first[-1]
    old, kept = _start(), np.zeros(1, np.int64)
    numbers = np.full(1, -1)
    spent, dropped = np.zeros(1, np.int64), np.array([limits.upper, 0])
    # steps so far: parent and chain of each state that went on
    parents, chains, count = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for _ in range(layers):
        new = _expanded(problem, limits, old, kept, numbers)
        spent[0] += 4 * new.used[0]
        kept = _selected(limits, new, spent, dropped)
        old = new
        if len(kept) == 0:
            # all were pruned: nothing is better than what is at hand, or than what was dropped
            return Outcome(dropped[0], False, dropped[0] == limits.upper, spent[0])
        if count + len(kept) > len(parents):
            more = np.empty(2 * len(parents) + len(kept), np.int64)
            parents = np.concatenate((parents, more))
            chains = np.concatenate((chains, more))
        numbers = np.arange(count, count + len(kept))
        least = limits.upper
        for i in range(len(kept)):
            parents[count], chains[count] = new.parent[kept[i]], new.chain[kept[i]]
            count += 1
            least = min(least, new.bound[kept[i]])
        if spent[0] > limits.effort:
            return Outcome(min(dropped[0], least), False, False, spent[0])
    # of a relaxed state the bound may be above its end
    best = 0
    for i in range(1, len(kept)):
        if old.bound[kept[i]] < old.bound[kept[best]]:
            best = i
    at = numbers[best]
    for step in range(layers - 1, -1, -1):
        order[step] = chains[at]
        at = parents[at]
    lower = min(dropped[0], old.bound[kept[best]])
    exact = dropped[0] == limits.upper and dropped[1] == 0
    return Outcome(lower, True, exact, spent[0])
