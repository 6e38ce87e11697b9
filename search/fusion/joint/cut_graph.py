"""Cut graph of a network: cuts, and the groups that run between two of them as edges.

A cut is a set of executed layers, closed under "reads from", and which of their feature maps lie
pinned in the buffer. A plan is a path of cuts from no layer to all layers. All sets of layers that
may have run are cuts if there are few enough of them (then every partition into connected groups is
a path); else those that three orders of the layers go through.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from archloom.space.workload import Network, bits, positions, rank_order, remembered

from ..partition import Group

#: cuts, pinned maps aside, up to which all of them are looked at
_MOST_CUTS: Final = 320

#: groups, whatever is pinned; shorter ones come first
_MOST_GROUPS: Final = 8_000

#: groups with what they hold and keep
MOST_EDGES: Final = 16_000

#: sets of pinned maps of one cut
_MOST_PINNED: Final = 6


#: executed layers, in bits, and those of them whose maps are pinned
_Cut: TypeAlias = tuple[int, tuple[int, ...]]

#: a group that keeps nothing: what it keeps, and what is pinned after it
_NOTHING: Final[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = (((), ()),)


@dataclass(frozen=True, slots=True)
class CutEdge:
    """One group, run between two cuts.

    Attributes:
        start, end: cuts, by number.
        layers: what runs.
        held: layers of earlier groups whose maps are pinned while it runs.
        kept: its own layers whose maps stay pinned, each until its last reader is done.
    """

    start: int
    end: int
    layers: Group
    held: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CutGraph:
    """Edges between cuts; the first cut is number 0, the last the greatest number.

    Attributes:
        cuts: how many there are.
        edges: ordered by ``start``; ``end`` is always greater.
        complete: whether all partitions into connected groups are paths, whatever is pinned.
    """

    cuts: int
    edges: tuple[CutEdge, ...]
    complete: bool


def cut_graph(network: Network, pin_words: int) -> CutGraph:
    """Return the cuts and edges of a network.

    Args:
        network: what runs.
        pin_words: words of the buffer that pinned maps may take; 0 to pin nothing.
    """
    runs, outgoing, complete = _runs_and_groups(network)
    pins = _PinnableMaps(network, pin_words)
    # where pins make too many edges, only shorter groups hold or keep maps
    for longest in (len(network.layers), 32, 16, 8, 4, 2, 1, 0):
        cuts, raw = _reachable_edges(runs, outgoing, pins, longest)
        if len(raw) <= MOST_EDGES:
            break
    numbers = {cut: n for n, cut in enumerate(cuts)}
    edges = (CutEdge(numbers[a], numbers[b], layers, a[1], kept) for a, b, layers, kept in raw)
    return CutGraph(len(cuts), tuple(edges), complete)


@remembered
def _runs_and_groups(
    network: Network,
) -> tuple[list[int], dict[int, list[tuple[Group, int]]], bool]:
    """Sets of layers that may have run, groups that lead from each to another one, and whether
    these are all."""
    runs, complete = _executed_sets(network)
    outgoing, every = _groups(network, runs)
    return runs, outgoing, complete and every


def _reachable_edges(
    runs: list[int],
    outgoing: dict[int, list[tuple[Group, int]]],
    pins: "_PinnableMaps",
    longest: int,
) -> tuple[list[_Cut], list[tuple[_Cut, _Cut, Group, tuple[int, ...]]]]:
    """Return cuts with what may be pinned there, and the groups between them."""
    # all that may be pinned at a cut, then what is looked at: nothing, and what holds most
    known: dict[int, dict[tuple[int, ...], None]] = {run: {(): None} for run in runs}
    pinned: dict[int, list[tuple[int, ...]]] = {}
    raw = []
    for run in runs:
        pinned[run] = sorted(known[run], key=lambda maps: (bool(maps), -pins.words(maps), maps))
        del pinned[run][_MOST_PINNED:]
        for held in pinned[run]:
            for layers, after in outgoing[run]:
                short = len(layers) <= longest
                if held and not short:
                    continue
                for kept, left in pins.choices(held, layers, after) if short else _NOTHING:
                    known[after][left] = None
                    raw.append(((run, held), (after, left), layers, kept))
        if len(raw) > 2 * MOST_EDGES:
            return [], raw
    # edges to cuts that are not looked at lead nowhere
    reached: dict[_Cut, None] = {(0, ()): None}
    edges = []
    for edge in raw:
        start, (after, left), _, _ = edge
        if start in reached and left in pinned[after]:
            reached[after, left] = None
            edges.append(edge)
    return [(run, held) for run in runs for held in pinned[run] if (run, held) in reached], edges


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


def _groups(network: Network, runs: list[int]) -> tuple[dict[int, list[tuple[Group, int]]], bool]:
    """For each cut the connected groups that lead to another one, and whether these are all.

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
                    if not run & ~after and _connected(near, after & ~run):
                        found[run, after] = None
    outgoing: dict[int, list[tuple[Group, int]]] = {run: [] for run in runs}
    for run, after in sorted(found, key=lambda ends: (ends[1] & ~ends[0]).bit_count()):
        outgoing[run].append((positions(after & ~run), after))
    return outgoing, len(found) < _MOST_GROUPS


def _connected(near: list[int], members: int) -> bool:
    """Whether layers, in bits, hang together by shared data."""
    part = new = members & -members
    while new:
        first = new & -new
        grown = part | near[first.bit_length() - 1] & members
        new = (new ^ first) | (grown ^ part)
        part = grown
    return part == members


class _PinnableMaps:
    """Maps that can stay in the buffer from one group to another."""

    def __init__(self, network: Network, words: int) -> None:
        self._words = words
        self._size = [layer.output_words for layer in network.layers]
        self._readers = [bits(readers) for readers in network.consumers]

    def words(self, maps: tuple[int, ...]) -> int:
        """Words of some maps."""
        return sum(self._size[i] for i in maps)

    def choices(
        self, held: tuple[int, ...], layers: Group, after: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield what a group may keep, and what is pinned then at the cut after it."""
        stays = tuple(i for i in held if self._readers[i] & ~after)
        if not self._words:
            yield (), stays
            return
        taken = self.words(held)
        crossing = [i for i in layers if self._readers[i] & ~after]
        for kept in _subsets(crossing):
            if not kept or taken + self.words(kept) <= self._words:
                yield kept, tuple(sorted((*stays, *kept)))


def _subsets(maps: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Nothing, each of the maps, and all of them; any subset of two or three."""
    maps = tuple(maps)
    sizes = range(len(maps) + 1) if len(maps) <= 3 else (0, 1, len(maps))
    for size in sizes:
        yield from combinations(maps, size)
