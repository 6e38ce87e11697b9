"""Sets of layers that may have run, and the groups between them: a cut graph without pins.

All of it follows from the network. All sets of layers that may have run are looked at if there are
few enough of them (then every partition into connected groups is a path); else those that three
orders of the layers go through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from archloom.space.workload import Network, bits, rank_order, remembered

from .group_arrays import GroupArrays

#: sets of layers up to which all of them are looked at
_MOST_CUTS: Final = 320

#: groups, whatever is pinned; shorter ones come first
_MOST_GROUPS: Final = 8_000


class LeadingGroup(NamedTuple):
    """A group that runs after some set of layers.

    Attributes:
        group: by number.
        after: the set of layers that have run then, by number.
        crossing: layers of the group whose maps somebody reads who has not run then.
    """

    group: int
    after: int
    crossing: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CutGroups:
    """Groups between the sets of layers of one network that may have run.

    Attributes:
        outgoing: for each set the groups that lead from it, shorter ones first. Sets are numbered
            by size, from no layer to all.
        unread: for each set, in bits, the layers whose maps somebody reads who has not run.
        arrays: the groups by number.
        complete: whether all partitions into connected groups are there.
    """

    outgoing: tuple[tuple[LeadingGroup, ...], ...]
    unread: tuple[int, ...]
    arrays: GroupArrays
    complete: bool


@remembered
def cut_groups(network: Network) -> CutGroups:
    """Return the sets of layers of a network that may have run, and the groups between them."""
    runs, complete = _executed_sets(network)
    found, every = _groups(network, runs)
    numbers = {run: n for n, run in enumerate(runs)}
    members: dict[int, int] = {}
    ends = [(run, after, members.setdefault(after & ~run, len(members))) for run, after in found]
    readers = [bits(readers) for readers in network.consumers]
    unread = [bits(i for i, who in enumerate(readers) if who & ~run) for run in runs]
    # layers that hand nothing on after the group are most: look at those of the cut only
    crossing = {
        (run, after): _positions(unread[numbers[after]] & after & ~run) for run, after in found
    }
    outgoing: list[list[LeadingGroup]] = [[] for _ in runs]
    for run, after, group in sorted(ends, key=lambda end: (end[1] & ~end[0]).bit_count()):
        leading = LeadingGroup(group, numbers[after], crossing[run, after])
        outgoing[numbers[run]].append(leading)
    arrays = GroupArrays(network, list(members))
    return CutGroups(tuple(map(tuple, outgoing)), tuple(unread), arrays, complete and every)


def _positions(members: int) -> tuple[int, ...]:
    """Return the ascending layers of a small set."""
    found = list[int]()
    while members:
        lowest = members & -members
        found.append(lowest.bit_length() - 1)
        members ^= lowest
    return tuple(found)


def _executed_sets(network: Network) -> tuple[list[int], bool]:
    """Sets of layers that may have run, smaller ones first, and whether these are all."""
    found = {0}
    frontier = [0]
    while frontier and len(found) <= _MOST_CUTS:
        grown = {run | 1 << i for run in frontier for i in _ready(network, run)}
        frontier = sorted(grown - found)
        found |= grown
    if len(found) <= _MOST_CUTS:
        return sorted(found, key=lambda run: (run.bit_count(), run)), True
    count = len(network.layers)
    orders = (tuple(range(count)), rank_order(network), _depth_first(network))
    found = {bits(order[:n]) for order in orders for n in range(count + 1)}
    return sorted(found, key=lambda run: (run.bit_count(), run)), False


def _ready(network: Network, run: int) -> Iterator[int]:
    """Layers whose producers have run."""
    for i, producers in enumerate(network.producers):
        if not run >> i & 1 and all(run >> p & 1 for p in producers):
            yield i


def _depth_first(network: Network) -> Sequence[int]:
    """An order in which each layer comes as soon as it can after the last one."""
    run, order = 0, list[int]()
    while len(order) < len(network.layers):
        after = network.consumers[order[-1]] if order else ()
        ready = list(_ready(network, run))
        # of branches the one that was listed last runs first, other than in the network's order
        order.append(max([i for i in ready if i in after] or ready))
        run |= 1 << order[-1]
    return order


def _groups(network: Network, runs: list[int]) -> tuple[list[tuple[int, int]], bool]:
    """Pairs of sets between which a connected group runs, and whether these are all.

    Where they are too many, long ones are listed along the network's own order only.
    """
    count = len(network.layers)
    straight = [(1 << n) - 1 for n in range(count + 1)]
    near = [bits(near) for near in network.neighbours]
    found: dict[tuple[int, int], None] = {}
    for cuts, most in ((straight, _MOST_GROUPS // 2), (runs, _MOST_GROUPS)):
        by_size: dict[int, list[int]] = {}
        for run in cuts:
            by_size.setdefault(run.bit_count(), []).append(run)
        for length in range(1, count + 1):
            if len(found) >= most:
                break
            for run in cuts:
                for after in by_size.get(run.bit_count() + length, ()):
                    if not run & ~after and _hangs_together(near, run, after, found):
                        found[run, after] = None
    return list(found), len(found) < _MOST_GROUPS


def _hangs_together(
    near: list[int], run: int, after: int, found: dict[tuple[int, int], None]
) -> bool:
    """Whether the layers between two sets hang together by shared data."""
    members = after & ~run
    last = members.bit_length() - 1
    # a known group and a layer beside it
    shorter = after & ~(1 << last)
    if (run, shorter) in found and near[last] & members & shorter:
        return True
    return _connected(near, members)


def _connected(near: list[int], members: int) -> bool:
    """Whether layers, in bits, hang together by shared data."""
    part = new = members & -members
    while new:
        first = new & -new
        grown = part | near[first.bit_length() - 1] & members
        new = (new ^ first) | (grown ^ part)
        part = grown
    return part == members
