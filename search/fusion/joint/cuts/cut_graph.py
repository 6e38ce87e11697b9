"""Cut graph of a network: cuts, and the groups that run between two of them as edges.

A cut is a set of executed layers, closed under "reads from", and which of their feature maps lie
pinned in the buffer. A plan is a path of cuts from no layer to all layers. Which sets and groups
are looked at is in :mod:`.cut_groups`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from archloom.evaluators import Ints
from archloom.space.workload import Network

from ...partition import Group
from .cut_groups import CutGroups, cut_groups
from .group_arrays import GroupArrays

#: groups with what they hold and keep
MOST_EDGES: Final = 16_000

#: sets of pinned maps of one cut
_MOST_PINNED: Final = 6

#: layers whose maps are pinned
Maps: TypeAlias = tuple[int, ...]

#: a set of executed layers, by number, and those of them whose maps are pinned
_Cut: TypeAlias = tuple[int, Maps]

#: cuts where a group starts and ends, the group, what it holds and what it keeps
_RawEdge: TypeAlias = tuple[_Cut, _Cut, int, Maps, Maps]

#: a group that keeps nothing: what it keeps, and words of that
_NOTHING: Final[tuple[tuple[Maps, int], ...]] = (((), 0),)


class CutEdge(NamedTuple):
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
    held: Maps
    kept: Maps


@dataclass(frozen=True, eq=False)
class CutEdges:
    """Edges of a cut graph.

    Attributes:
        starts, ends, groups: int64[E], cuts and group of each, by number.
        held, kept: of each, as of a :class:`CutEdge`.
        arrays: the groups.
    """

    starts: Ints
    ends: Ints
    groups: Ints
    held: tuple[Maps, ...]
    kept: tuple[Maps, ...]
    arrays: GroupArrays

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, number: int) -> CutEdge:
        return CutEdge(
            int(self.starts[number]),
            int(self.ends[number]),
            self.layers(number),
            self.held[number],
            self.kept[number],
        )

    def __iter__(self) -> Iterator[CutEdge]:
        return map(self.__getitem__, range(len(self)))

    def layers(self, number: int) -> Group:
        """Return what runs on an edge."""
        return self.arrays.group(int(self.groups[number]))

    def taken(self, chosen: Ints) -> "CutEdges":
        """Return some of them."""
        numbers = chosen.tolist()
        return CutEdges(
            self.starts[chosen],
            self.ends[chosen],
            self.groups[chosen],
            tuple(self.held[n] for n in numbers),
            tuple(self.kept[n] for n in numbers),
            self.arrays,
        )


@dataclass(frozen=True, slots=True)
class CutGraph:
    """Edges between cuts; the first cut is number 0, the last the greatest number.

    Attributes:
        cuts: how many there are.
        edges: ordered by ``start``; ``end`` is always greater.
        complete: whether all partitions into connected groups are paths, whatever is pinned.
    """

    cuts: int
    edges: CutEdges
    complete: bool


def cut_graph(network: Network, pin_words: int) -> CutGraph:
    """Return the cuts and edges of a network.

    Args:
        network: what runs.
        pin_words: words of the buffer that pinned maps may take; 0 to pin nothing.
    """
    groups = cut_groups(network)
    pins = _PinnableMaps(network, pin_words)
    # where pins make too many edges, only shorter groups hold or keep maps
    for longest in (len(network.layers), 32, 16, 8, 4, 2, 1, 0):
        found = _reachable_edges(groups, pins, longest)
        if found is not None:
            break
    assert found is not None, "without pins there are few"
    cuts, raw = found
    numbers = {cut: n for n, cut in enumerate(cuts)}
    edges = CutEdges(
        np.array([numbers[edge[0]] for edge in raw], np.int64),
        np.array([numbers[edge[1]] for edge in raw], np.int64),
        np.array([edge[2] for edge in raw], np.int64),
        tuple([edge[3] for edge in raw]),
        tuple([edge[4] for edge in raw]),
        groups.arrays,
    )
    return CutGraph(len(cuts), edges, groups.complete)


def _reachable_edges(
    groups: CutGroups, pins: "_PinnableMaps", longest: int
) -> tuple[list[_Cut], list[_RawEdge]] | None:
    """Return cuts with what may be pinned there, and the groups between them; None if they are too
    many.

    Groups of more layers than ``longest`` hold and keep nothing.
    """
    # all that may be pinned at a cut, with how many edges lead there, then what is looked at:
    # nothing, and what holds most
    known: list[dict[Maps, int]] = [{(): 0} for _ in groups.outgoing]
    known[0][()] = 1
    pinned: list[list[Maps]] = []
    lengths = groups.arrays.lengths.tolist()
    raw, count, settled = list[_RawEdge](), 0, 0
    for run, leading in enumerate(groups.outgoing):
        leads = known[run]
        looked_at = sorted(leads, key=lambda maps: (bool(maps), -pins.words(maps), maps))
        pinned.append(looked_at[:_MOST_PINNED])
        # edges to cuts that are not looked at lead nowhere
        settled += sum([leads[held] for held in pinned[run]])
        if settled - 1 > MOST_EDGES and longest:
            return None
        for held in pinned[run]:
            start, taken, reached = (run, held), pins.words(held), leads[held] > 0
            every, left_of = sum([1 << i for i in held]), dict[int, Maps]()
            for group, after, crossing in leading:
                short = lengths[group] <= longest
                if held and not short:
                    break  # longer ones come later
                unread = groups.unread[after] & every
                stays = left_of.get(unread)
                if stays is None:
                    stays = left_of[unread] = tuple([i for i in held if unread >> i & 1])
                to = known[after]
                for kept, words in pins.choices(crossing) if short else _NOTHING:
                    if kept and not pins.fit(taken + words):
                        continue
                    left = tuple(sorted((*stays, *kept))) if stays and kept else stays or kept
                    to[left] = to.get(left, 0) + reached
                    count += 1
                    if reached:
                        raw.append((start, (after, left), group, held, kept))
        if count > 2 * MOST_EDGES:
            return None
    looked = {(run, held) for run, some in enumerate(pinned) for held in some}
    edges = [edge for edge in raw if edge[1] in looked]
    cuts = [(run, held) for run, some in enumerate(pinned) for held in some]
    return [(run, held) for run, held in cuts if known[run][held]], edges


class _PinnableMaps:
    """Maps that can stay in the buffer from one group to another."""

    def __init__(self, network: Network, words: int) -> None:
        self._most = words
        self._size = [layer.output_words for layer in network.layers]
        self._choices: dict[Maps, Sequence[tuple[Maps, int]]] = {}

    def words(self, maps: Maps) -> int:
        """Words of some maps."""
        return sum(self._size[i] for i in maps)

    def fit(self, words: int) -> bool:
        """Whether so many words may be pinned at once."""
        return words <= self._most

    def choices(self, crossing: Maps) -> Sequence[tuple[Maps, int]]:
        """Return what a group may keep of the maps that are read later, with its words."""
        if not self._most:
            return _NOTHING
        found = self._choices.get(crossing)
        if found is None:
            some = ((kept, self.words(kept)) for kept in _subsets(crossing))
            found = [(kept, words) for kept, words in some if not kept or self.fit(words)]
            self._choices[crossing] = found
        return found


def _subsets(maps: Iterable[int]) -> Iterator[Maps]:
    """Nothing, each of the maps, and all of them; any subset of two or three."""
    maps = tuple(maps)
    sizes = range(len(maps) + 1) if len(maps) <= 3 else (0, 1, len(maps))
    for size in sizes:
        yield from combinations(maps, size)
