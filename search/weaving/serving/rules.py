"""Rules that choose whose next layer runs, as parts of the kernel.

A rule is asked when the fetch engine is free. It sees the next layer of each network that has a
request waiting, and the engines; it never looks further. Where it sees no difference, the first
network in order comes first. Weaving's own rules are those of :mod:`archloom.search.weaving`.
"""

from typing import Final, NamedTuple

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.weaving import Engines
from archloom.search.weaving.rules import Greedy, Run, greedy_choice, strings_choice

FCFS: Final = 0
EDF: Final = 1
LAYERWEAVER: Final = 2
EXACT_IDLE: Final = 3
STRINGS: Final = 4

NOBODY: Final = -1


class Heads(NamedTuple):
    """The request that the next layer of each network belongs to.

    Attributes:
        arrival: int64[k], ticks.
        deadline: int64[k], ticks.
    """

    arrival: Ints
    deadline: Ints


class Facts(NamedTuple):
    """What rules know of the networks before any request comes.

    Attributes:
        needs: int64[parts], :func:`~archloom.search.weaving.rules.deficits`.
        rest: int64[parts], ticks of the busier engine for this layer and those after it.
        largest: int64[k], ticks of the longest fetch of each network.
        greedy: how idle time counts.
        target: ticks of lead up to which ``strings`` builds up more.
        idle: int64[k, 4], room that the greedy rule writes to.
    """

    needs: Ints
    rest: Ints
    largest: Ints
    greedy: Greedy
    target: int
    idle: Ints


@helper
def choice(rule: int, run: Run, engines: Engines, heads: Heads, facts: Facts) -> int:
    """Return the network whose layer goes next; ``run.queries`` says which have one."""
    if rule == STRINGS:
        return strings_choice(run, engines, facts.needs, facts.target)
    if rule == FCFS:
        return earliest(run.queries, heads.arrival)
    if rule == EDF:
        return earliest(run.queries, heads.deadline)
    return greedy_choice(run, engines, facts.greedy, facts.largest, facts.idle)


@helper
def earliest(ready: Ints, times: Ints) -> int:
    """Return the network with the least time."""
    chosen = NOBODY
    for m in range(len(ready)):
        if ready[m] and (chosen == NOBODY or times[m] < times[chosen]):
            chosen = m
    return chosen


@helper
def least_slack(run: Run, heads: Heads, facts: Facts, now: int, window: int) -> int:
    """Return the network whose request has the least time to spare, if that is below a window."""
    chosen, least = NOBODY, window
    for m in range(len(run.queries)):
        if run.queries[m]:
            slack = heads.deadline[m] - now - facts.rest[run.position[m]]
            if slack < least:
                chosen, least = m, slack
    return chosen
