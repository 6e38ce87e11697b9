"""Cuts of a network, and the groups that run between two of them.

A cut is what has run, closed under "reads from", and which of its maps lie pinned in the buffer. A
plan is a path of cuts from nothing to everything. All sets of layers that may have run are cuts if
there are few enough of them (then every partition into connected groups is a path); else those that
three orders of the layers go through.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from ..space.fusion import connected
from ..space.graph_facts import bits, positions, rank_order
from ..space.network import Network
from .partition import Group

#: cuts, pinned maps aside, up to which all of them are looked at
MOST_CUTS: Final = 320

#: groups, whatever is pinned; shorter ones come first
MOST_GROUPS: Final = 8_000

#: groups with what they hold and keep
MOST_STEPS: Final = 24_000

#: sets of pinned maps of one cut
_MOST_PINNED: Final = 6


@dataclass(frozen=True, slots=True)
class Step:
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
    """Steps between cuts; the first cut is number 0, the last the greatest number.

    Attributes:
        cuts: how many there are.
        steps: ordered by ``start``; ``end`` is always greater.
        complete: whether all partitions into connected groups are paths, whatever is pinned.
    """

    cuts: int
    steps: tuple[Step, ...]
    complete: bool


def cut_graph(network: Network, fuse: bool, pin_words: int) -> CutGraph:
    """Return the cuts and steps of a network.

    Args:
        network: what runs.
        fuse: whether groups may have several layers.
        pin_words: words of the buffer that pinned maps may take; 0 to pin nothing.
    """
    runs, complete = _runs(network)
    ahead, every = _groups(network, runs, len(network.layers) if fuse else 1)
    complete = complete and every
    pins = _Pins(network, pin_words)
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    pinned: dict[int, list[tuple[int, ...]]] = {run: [] for run in runs}
    pinned[0].append(())
    raw: list[tuple[tuple[int, tuple[int, ...]], tuple[int, tuple[int, ...]], Step]] = []
    for run in runs:
        for held in pinned[run]:
            numbers[run, held] = len(numbers)
            for layers, after in ahead[run]:
                for kept, left in pins.choices(held, layers, after):
                    if left not in pinned[after]:
                        full = len(pinned[after]) >= _MOST_PINNED or len(raw) >= MOST_STEPS
                        if left and full:
                            continue
                        pinned[after].append(left)
                    raw.append(((run, held), (after, left), Step(0, 0, layers, held, kept)))
    steps = tuple(
        Step(numbers[start], numbers[end], step.layers, step.held, step.kept)
        for start, end, step in raw
    )
    return CutGraph(len(numbers), steps, complete)


def _runs(network: Network) -> tuple[list[int], bool]:
    """Sets of layers that may have run, smaller ones first, and whether these are all."""
    found = {0}
    frontier = [0]
    while frontier and len(found) <= MOST_CUTS:
        grown = {run | 1 << i for run in frontier for i in _ready(network, run)}
        frontier = sorted(grown - found)
        found |= grown
    if len(found) <= MOST_CUTS:
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


def _groups(
    network: Network, runs: list[int], longest: int
) -> tuple[dict[int, list[tuple[Group, int]]], bool]:
    """For each cut the connected groups that lead to another one, and whether these are all."""
    ahead: dict[int, list[tuple[Group, int]]] = {run: [] for run in runs}
    by_size: dict[int, list[int]] = {}
    for run in runs:
        by_size.setdefault(run.bit_count(), []).append(run)
    found = 0
    for length in range(1, longest + 1):
        if found >= MOST_GROUPS:
            return ahead, False
        for run in runs:
            for after in by_size.get(run.bit_count() + length, ()):
                layers = () if run & ~after else positions(after & ~run)
                if layers and connected(network, layers):
                    ahead[run].append((layers, after))
                    found += 1
    return ahead, True


class _Pins:
    """Which maps can stay in the buffer from one group to another."""

    def __init__(self, network: Network, words: int) -> None:
        self._words = words
        self._size = [layer.output_words for layer in network.layers]
        self._readers = [bits(readers) for readers in network.consumers]

    def choices(
        self, held: tuple[int, ...], layers: Group, after: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield what a group may keep, and what is pinned then at the cut after it."""
        stays = tuple(i for i in held if self._readers[i] & ~after)
        taken = sum(self._size[i] for i in held)
        crossing = [i for i in layers if self._readers[i] & ~after]
        for kept in _subsets(crossing if self._words else ()):
            if not kept or taken + sum(self._size[i] for i in kept) <= self._words:
                yield kept, tuple(sorted((*stays, *kept)))


def _subsets(maps: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Nothing, each of the maps, and all of them; any subset of two or three."""
    maps = tuple(maps)
    sizes = range(len(maps) + 1) if len(maps) <= 3 else (0, 1, len(maps))
    for size in sizes:
        yield from combinations(maps, size)
