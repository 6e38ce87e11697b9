"""What lies in the shared buffer while a plan runs: maps, weights and words on their way.

Fused groups hold what :mod:`.occupancy` counts; a tile's cycles are shared by its steps in
proportion to the time that their layers keep the array busy, since the price does not say at
which of them a tile waits for DRAM. A layer by itself holds the tiles that its mapping keeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from ..space.cores import Cores
from ..space.network import Network
from .buffer_demand import map_names
from .buffer_room import resident_loads
from .group_cost import streams, tiles_of
from .group_latency import no_work, round_cycles
from .kept_words import streamed_held, streamed_weights
from .network_cost import NetworkCost
from .occupancy import Tiles
from .rounds import Grid, rounds_of
from .sweep import Ints
from .tile_cost import LayerRun, layer_run, load_of

Kind = Literal["map", "weights", "pinned", "in flight", "streamed"]

#: begins the names of weights
WEIGHTS_OF: Final = "weights of "

_MOST: Final = 2000
"""Segments of a plan, about: more than a picture has columns of pixels."""


@dataclass(frozen=True, slots=True)
class Held:
    """Words that one thing takes.

    Attributes:
        name: of a map: the layer that makes it, or the input; ``weights of`` a layer; or empty.
        kind: maps and resident weights of the group that runs; what the plan pinned for several
            groups; words that neighbouring tiles have in flight; tiles of operands that stream.
        words: how many.
    """

    name: str
    kind: Kind
    words: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time, and the fullest moment of it.

    Attributes:
        group: position in the plan.
        start_cycle, end_cycle: from the start of the pass on; equal where a layer has nothing to
            do in a tile.
        steps: how many steps of tiles it stands for.
        held: at the fullest of them, without what takes no words.
        least_words: at the emptiest of them, without what streams.
    """

    group: int
    start_cycle: int
    end_cycle: int
    steps: int
    held: tuple[Held, ...]
    least_words: int

    @property
    def words(self) -> int:
        """All words at the fullest moment."""
        return sum(held.words for held in self.held)

    @property
    def planned_words(self) -> int:
        """Words at the fullest moment but for what streams, which takes only what is left."""
        return sum(held.words for held in self.held if held.kind != "streamed")


def buffer_timeline(cost: NetworkCost, most: int = _MOST) -> tuple[Segment, ...]:
    """Return what the buffer holds over one pass of a plan, in order and without gaps.

    Steps are folded where there are too many: a stretch of tiles, of steps or of images becomes
    one segment with what its fullest step holds. The most planned words of a group's segments are
    the :attr:`GroupCost.peak_words` of the group, however much is folded.

    Args:
        cost: of the plan.
        most: segments, about; every group has at least one for each layer.

    Raises:
        ValueError: groups that run on several cores, each with a buffer of its own.
    """
    if any(group.cores > 1 for group in cost.groups):
        raise ValueError(f"{cost.hardware.name} has several buffers; only one can be shown")
    found: list[Segment] = []
    begin, whole = 0, max(1, cost.latency_cycles)
    for g, group in enumerate(cost.groups):
        end = begin + group.latency_cycles
        pinned = _pinned(cost, g)
        if streams(group.group):
            layer = group.group.layers[0]
            names = streamed_held(cost.network, layer, group, cost.hardware)
            held = tuple(Held(name, "streamed", words) for name, words in names if words)
            at_least = sum(h.words for h in pinned)
            found.append(Segment(g, begin, end, 1, (*pinned, *held), at_least))
        else:
            share = most * group.latency_cycles // whole
            fused = _FusedGroup(cost, g, pinned)
            found += fused.segments(begin, max(len(group.group.layers), share))
        begin = end
    return tuple(found)


def _pinned(cost: NetworkCost, g: int) -> tuple[Held, ...]:
    """What the plan keeps in the buffer while a group runs, besides what is the group's own."""
    network, around = cost.network, cost.groups[g].around
    found = [(i, network.layers[i].output_words) for i in (*around.held, *around.kept)]
    maps = tuple(Held(network.layers[i].name, "pinned", words) for i, words in found)
    steady = (i for group in cost.groups for i in group.group.steady)
    owners = dict.fromkeys(map(network.weight_owner, steady))
    weights = [(_weights(network, i), network.layers[i].weight_words) for i in owners]
    return (*maps, *(Held(name, "pinned", words) for name, words in weights if words))


def _weights(network: Network, layer: int) -> str:
    return f"{WEIGHTS_OF}{network.layers[layer].name}"


class _FusedGroup:
    """The steps of one fused group."""

    def __init__(self, cost: NetworkCost, g: int, pinned: tuple[Held, ...]) -> None:
        self._network, self._hardware = cost.network, cost.hardware
        self._cost, self._number = cost.groups[g], g
        group = self._cost.group
        tiles = tiles_of(cost.network, group, cost.hardware, self._cost.around)
        assert isinstance(tiles, Tiles)
        self._tiles, self._rounds = tiles, rounds_of(tiles, 1)
        self._sizes = [tiles.sizes(m) for m in range(tiles.shape.members)]
        self._names = map_names(cost.network, group.layers)
        loads = resident_loads(cost.network, group)
        weights = [Held(_weights(cost.network, i), "weights", n) for i, n in loads.items() if n]
        self._always = (*pinned, *weights)
        rows, self._kind = tiles.row_kinds
        at = np.ix_(rows, np.arange(tiles.grid[1]))
        self._states = tiles.states((at[0], at[1]))
        # int64[m, K, Tw]
        self._maps = tiles.at_steps(self._states)
        self._flying = tiles.passing if self._cost.prefetch else np.zeros(tiles.grid, np.int64)

    def segments(self, begin: int, most: int) -> Iterator[Segment]:
        """Yield about ``most`` segments from cycle ``begin`` on."""
        time = self._tile_cycles()
        images, steps = self._tiles.images, self._tiles.shape.members
        groups = _cuts(images, min(images, most))
        for first, end in pairwise(groups):
            of_images = [self._image(time, i) for i in range(first, end)]
            if end - first > 1:
                whole = sum(int(image.sum()) for image in of_images)
                yield self._folded(0, self._tiles.count, begin, begin + whole, end - first)
                begin += whole
                continue
            room = max(1, most // images)
            ends = begin + np.append(0, np.cumsum(of_images[0])).astype(np.int64)
            if self._tiles.count > room:
                for a, b in pairwise(_cuts(self._tiles.count, room)):
                    yield self._folded(a, b, int(ends[a]), int(ends[b]), 1)
            else:
                cuts = _cuts(steps, min(steps, max(1, room // self._tiles.count)))
                busy = self._busy()
                for tile in range(self._tiles.count):
                    span = int(ends[tile]), int(ends[tile + 1])
                    yield from self._steps(tile, cuts, busy[:, tile], *span)
            begin = int(ends[-1])

    def _image(self, time: Grid, image: int) -> Grid:
        """Cycles of each tile of an image: the first, the last, or one between them."""
        last = self._tiles.images - 1
        cycles: Grid = time[{0: 0, last: -1}.get(image, len(time) // 2)]
        return cycles

    @cached_property
    def _runs(self) -> list[LayerRun]:
        return [
            layer_run(self._rounds.sizes(m), [c for _, c in share.evaluations], 1, True)
            for m, share in enumerate(self._cost.layers)
        ]

    def _tile_cycles(self) -> Grid:
        """float64[V, Th * Tw], as of :func:`round_cycles`."""
        rounds, cores = self._rounds, Cores(1, self._hardware)
        loads, work = resident_loads(self._network, self._cost.group), no_work(rounds)
        for share, run in zip(self._cost.layers, self._runs, strict=True):
            work.add(run, load_of(loads.get(share.layer, 0), rounds, cores), self._hardware)
        return round_cycles(rounds, self._hardware, self._cost.prefetch, work)

    def _busy(self) -> Grid:
        """float64[m, Th * Tw], cycles for which each layer keeps the array in each tile."""
        return np.stack([run.busy for run in self._runs])

    def _steps(
        self, tile: int, cuts: list[int], busy: Grid, begin: int, end: int
    ) -> Iterator[Segment]:
        """Yield the steps of one tile, a segment from each cut to the next."""
        # what is never busy waits as long at each step
        shares = busy if busy.sum() else np.ones_like(busy)
        ends = np.append(0, np.cumsum(shares)) / shares.sum() * (end - begin)
        at = begin + np.rint(ends).astype(np.int64)
        words = self._words(tile)
        for a, b in pairwise(cuts):
            step = a + int(words[a:b].argmax())
            held, least = self._held(tile, step), int(words[a:b].min())
            yield Segment(self._number, int(at[a]), int(at[b]), b - a, held, least)

    def _folded(self, first: int, last: int, begin: int, end: int, images: int) -> Segment:
        """Return one segment for the tiles from ``first`` until before ``last``."""
        flying, kinds, columns = self._places(first, last)
        words = self._maps[:, kinds, columns] + flying
        fullest = int(words.max(axis=0).argmax())
        step = int(words[:, fullest].argmax())
        least = int(words.min()) + sum(held.words for held in self._always)
        steps = (last - first) * self._tiles.shape.members * images
        return Segment(self._number, begin, end, steps, self._held(first + fullest, step), least)

    def _places(self, first: int, last: int) -> tuple[Ints, Ints, Ints]:
        """Words in flight, kind of row, and column of some tiles."""
        rows, columns = np.divmod(np.arange(first, last), self._tiles.grid[1])
        return self._flying[rows, columns], self._kind[rows], columns

    def _words(self, tile: int) -> Ints:
        """int64[m], words at each step of a tile, without what streams."""
        flying, kinds, columns = self._places(tile, tile + 1)
        always = sum(held.words for held in self._always)
        words: Ints = self._maps[:, kinds[0], columns[0]] + flying[0] + always
        return words

    def _held(self, tile: int, step: int) -> tuple[Held, ...]:
        """What a step of a tile holds."""
        flying, kinds, columns = self._places(tile, tile + 1)
        place = int(kinds[0]), int(columns[0])
        alive = self._tiles.words_at(self._states, step, place)
        found = [Held(name, "map", words) for name, words in zip(self._names, alive, strict=True)]
        share = self._cost.layers[step]
        layer, size = self._tiles.layers[step], self._sizes[step].running_at(tile)
        through = streamed_weights(layer, share, size, self._cost.group, self._hardware)
        found += [
            Held("", "in flight", int(flying[0])),
            Held(_weights(self._network, share.layer), "streamed", through),
        ]
        return (*self._always, *(held for held in found if held.words))


def _cuts(count: int, parts: int) -> list[int]:
    """Cut ``range(count)`` into parts that are as even as can be; return where they begin and end.

    ``parts`` is from 1 to ``count``.
    """
    return [i * count // parts for i in range(parts + 1)]
