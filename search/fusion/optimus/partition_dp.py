"""Dynamic program for the valid partition of least cost, the sum over its groups.

Dynamic programming as in Optimus (Cai et al., ACM TECS 22(1), 2022): a group grows by one layer
after another whose inputs are there, or is cut, and the search starts again among all layers that
can run then; what is known is remembered. Here a state is the set of layers that are done, which
is all that later groups depend on. So every valid partition is among those compared: in running
order, what is done after each group is such a set.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isqrt
from typing import Final

from archloom.space.workload import Network, bits, connected, positions

from ..partition import Group, Partition

#: layers of all groups that are looked at, at most, before partitions are only sought among runs
#: of layers (ours: some seconds)
MOST_WORK: Final = 500_000


@dataclass(frozen=True, slots=True)
class GroupWordCosts:
    """Costs of groups in words.

    Attributes:
        words: cost of a group whose layers share data; infinite if it cannot run.
        never_fits: whether neither these layers nor any that they grow into, layer by layer in
            running order, can run as one group. False is always right.
        least: for each layer what it adds to the cost of any plan, at least.
    """

    words: Callable[[Group], float]
    never_fits: Callable[[Group], bool]
    least: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LeastPartition:
    """The partition with the least cost.

    Attributes:
        groups: in running order; empty if no partition can run.
        words: its cost.
        evaluated_groups: whose cost was asked for.
        longest_run: None if all valid partitions were compared; else only those whose groups
            are runs of so many layers at most, as the network lists them.
    """

    groups: Partition
    words: float
    evaluated_groups: int
    longest_run: int | None


def least_partition(
    network: Network,
    costs: GroupWordCosts,
    most_work: int = MOST_WORK,
    spend: Callable[[int], None] = lambda _: None,
) -> LeastPartition:
    """Return the valid partition of ``network`` with the least cost.

    The number of groups is exponential in the branching of the network. When ``most_work`` is
    spent, what is left are partitions into runs: then ``longest_run`` says so. ``spend`` is called
    with all work before it is done, and may raise.
    """
    count = len(network.layers)
    search = _PartitionSearch(network, costs, most_work, spend)
    everything = tuple(range(count))
    if (words := search.words(bits(everything))) <= sum(costs.least):
        # one group, and no plan costs less
        return LeastPartition((everything,), words, search.evaluated_groups, None)
    found = search.over(search.grown)
    if found is not None:
        return LeastPartition(*found, search.evaluated_groups, None)
    longest = max(1, isqrt(2 * most_work // count))
    runs = _PartitionSearch(network, costs, None, spend)
    groups, words = runs.over(lambda done: _runs(done.bit_length(), count, longest)) or ((), inf)
    return LeastPartition(groups, words, search.evaluated_groups + runs.evaluated_groups, longest)


def _runs(first: int, count: int, longest: int) -> Iterator[int]:
    """Runs of layers from ``first`` on, in bits."""
    for length in range(1, min(longest, count - first) + 1):
        yield ((1 << length) - 1) << first


class _PartitionSearch:
    """One pass over the sets of layers that can be done, from none to all."""

    def __init__(
        self,
        network: Network,
        costs: GroupWordCosts,
        most_work: int | None,
        spend: Callable[[int], None],
    ) -> None:
        self._network = network
        self._costs = costs
        self._left = inf if most_work is None else most_work
        self._told = spend
        self._producers = [bits(p) for p in network.producers]
        self._consumers = [bits(c) for c in network.consumers]
        self._words: dict[int, float] = {}
        self._never_fits: dict[int, bool] = {}

    @property
    def evaluated_groups(self) -> int:
        """Groups whose cost was asked for."""
        return len(self._words)

    def over(self, groups: Callable[[int], Iterator[int]]) -> tuple[Partition, float] | None:
        """Return the best partition, none if none can run; None if there was too much work.

        ``groups`` lists those that may come next, in bits, after a set of layers that are done.
        """
        count = len(self._network.layers)
        least, everything = self._costs.least, (1 << count) - 1
        # layer by layer is a plan: what cannot beat it need not be followed
        limit = sum(self.words(1 << i) for i in range(count))
        spent, before = {0: 0.0}, {0: 0}
        rest = {0: sum(least)}
        by_size: list[list[int]] = [[0], *([] for _ in range(count))]
        for size in range(count):
            for done in by_size[size]:
                if spent[done] + rest[done] > limit:
                    continue
                for group in groups(done):
                    self._spend(1)
                    words, after = spent[done] + self.words(group), done | group
                    if after not in spent and words < inf:
                        by_size[after.bit_count()].append(after)
                        rest[after] = rest[done] - sum(least[i] for i in positions(group))
                    if words < spent.get(after, inf):
                        spent[after], before[after] = words, done
                if self._left < 0:
                    return None
        if everything not in spent:
            return (), inf
        found: list[Group] = []
        at = everything
        while at:
            found.append(positions(at & ~before[at]))
            at = before[at]
        return tuple(reversed(found)), spent[everything]

    def grown(self, done: int) -> Iterator[int]:
        """Groups that can run when the layers of ``done`` have, and nothing else has."""
        first = bits(
            i for i, p in enumerate(self._producers) if not done >> i & 1 and not p & ~done
        )
        # they need not share data while they grow: a later layer may bring them together
        queue, seen = [(0, first)], {0}
        for group, ready in queue:
            for i in positions(ready):
                larger = group | 1 << i
                if larger in seen:
                    continue
                seen.add(larger)
                self._spend(1)
                if self._left < 0:
                    return
                if self._never_runs(larger):
                    continue
                have = done | larger
                freed = (c for c in positions(self._consumers[i]) if not self._producers[c] & ~have)
                queue.append((larger, ready & ~(1 << i) | bits(freed)))
                if self.words(larger) < inf:
                    yield larger

    def _spend(self, work: int) -> None:
        self._told(work)
        self._left -= work

    def words(self, group: int) -> float:
        """Cost of a group; infinite if its layers share no data."""
        if group not in self._words:
            layers = positions(group)
            self._spend(len(layers))
            together = connected(self._network, layers)
            self._words[group] = self._costs.words(layers) if together else inf
        return self._words[group]

    def _never_runs(self, group: int) -> bool:
        if self.words(group) < inf:
            return False
        if group not in self._never_fits:
            self._never_fits[group] = self._costs.never_fits(positions(group))
        return self._never_fits[group]
