"""Timeline of the shared buffer while a plan runs: feature maps, weights and words in flight.

Fused groups hold what :mod:`.buffer` counts, or :mod:`.nest` for those in loops; the cycles of a
tile, or of an iteration, are shared by its layers in proportion to the time that they keep the
array busy, since the cost does not say at which of them it waits for DRAM. A layer by itself holds
the tiles that its mapping keeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from archloom.space.fusion import FusionGroup, folded_of
from archloom.space.hardware import Cores, Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Layer, Network

from ..arrays import Ints
from .buffer import kept_words, map_names, resident_loads, streams, tiles_of
from .core_rounds import Grid, rounds_of
from .group_share import GroupCost, LayerShare
from .latency import no_work, round_cycles
from .nest import NestContents
from .plan import NetworkCost
from .tile import LayerActivity, layer_activity, weight_load
from .tiling import Tiles

Kind = Literal["map", "weights", "pinned", "in flight", "streamed"]

#: begins the names of weights
WEIGHTS_OF: Final = "weights of "

_MOST: Final = 2000
"""Segments of a plan, about: more than a picture has columns of pixels."""


@dataclass(frozen=True, slots=True)
class HeldWords:
    """Words that one thing takes.

    Attributes:
        name: of a feature map: the layer that makes it, or the input; ``weights of`` a layer; or
            empty.
        kind: feature maps and resident weights of the group that runs; what the plan pinned for
            several groups; words that neighbouring tiles have in flight; tiles of operands that
            stream.
        words: how many.
    """

    name: str
    kind: Kind
    words: int


@dataclass(frozen=True, slots=True)
class TimelineSegment:
    """A stretch of time, and the fullest moment of it.

    Attributes:
        group: position in the plan.
        start_cycle, end_cycle: from the start of the pass on; equal where a layer has nothing to
            do in a tile.
        steps: how many steps of tiles, or of iterations of a nest, it stands for.
        held: at the fullest of them, without what takes no words.
        least_words: at the emptiest of them, without what streams.
    """

    group: int
    start_cycle: int
    end_cycle: int
    steps: int
    held: tuple[HeldWords, ...]
    least_words: int

    @property
    def words(self) -> int:
        """All words at the fullest moment."""
        return sum(held.words for held in self.held)


def buffer_timeline(cost: NetworkCost, most: int = _MOST) -> tuple[TimelineSegment, ...]:
    """Return what the buffer holds over one pass of a plan, in order and without gaps.

    Of a plan with sub-batches it is one of these, with all weights that stay there already.
    Steps are folded where there are too many: a stretch of tiles, of steps or of images becomes one
    segment with what its fullest step holds. The most words of a group's segments, operands that
    stream left out, are the :attr:`GroupCost.peak_words` of the group, however much is folded.

    Args:
        cost: of the plan.
        most: segments, about; every group has at least one for each layer.

    Raises:
        ValueError: groups that run on several cores, each with a buffer of its own.
    """
    cost = cost.one_part
    if any(group.cores > 1 for group in cost.groups):
        raise ValueError(f"{cost.hardware.name} has several buffers; only one can be shown")
    found: list[TimelineSegment] = []
    begin, whole = 0, max(1, cost.latency_cycles)
    for g, group in enumerate(cost.groups):
        end = begin + group.latency_cycles
        pinned = _pinned(cost, g)
        share = max(len(group.group.layers), most * group.latency_cycles // whole)
        computation = folded_of(cost.network, group.group)
        if streams(group.group) or computation is not None:
            layer = group.group.layers[0] if computation is None else computation.host
            names = _streamed_held(cost.network, layer, group, cost.hardware)
            held = tuple(HeldWords(name, "streamed", words) for name, words in names if words)
            at_least = sum(h.words for h in pinned)
            found.append(TimelineSegment(g, begin, end, 1, (*pinned, *held), at_least))
        elif group.group.nest is not None:
            found += _nest_segments(cost, g, pinned, begin, share)
        else:
            found += _FusedGroup(cost, g, pinned).segments(begin, share)
        begin = end
    return tuple(found)


def _pinned(cost: NetworkCost, g: int) -> tuple[HeldWords, ...]:
    """What the plan keeps in the buffer while a group runs, besides what is the group's own."""
    network, residents = cost.network, cost.groups[g].residents
    found = [(i, network.layers[i].output_words) for i in (*residents.held, *residents.kept)]
    maps = tuple(HeldWords(network.layers[i].name, "pinned", words) for i, words in found)
    staying = (i for group in cost.groups for i in group.group.staying)
    owners = dict.fromkeys(map(network.weight_owner, staying))
    weights = [(_weights(network, i), network.layers[i].weight_words) for i in owners]
    return (*maps, *(HeldWords(name, "pinned", words) for name, words in weights if words))


def _weights(network: Network, layer: int) -> str:
    return f"{WEIGHTS_OF}{network.layers[layer].name}"


def _nest_segments(
    cost: NetworkCost, g: int, pinned: tuple[HeldWords, ...], begin: int, most: int
) -> Iterator[TimelineSegment]:
    """Yield about ``most`` segments of a group in a nest from cycle ``begin`` on."""
    contents = NestContents(cost.network, cost.hardware, cost.groups[g])
    always = sum(held.words for held in pinned)
    for moment in contents.moments(most):
        held = [
            HeldWords(name, "weights" if weights else "map", words)
            for name, weights, words in contents.held(moment)
        ]
        held.append(HeldWords("", "in flight", contents.in_flight(moment)))
        held += (HeldWords(name, "streamed", words) for name, words in contents.streamed(moment))
        yield TimelineSegment(
            g,
            begin + moment.start_cycle,
            begin + moment.end_cycle,
            moment.steps,
            (*pinned, *(some for some in held if some.words)),
            always + moment.least_words,
        )


class _FusedGroup:
    """The steps of one fused group in tiles."""

    def __init__(self, cost: NetworkCost, g: int, pinned: tuple[HeldWords, ...]) -> None:
        self._network, self._hardware = cost.network, cost.hardware
        self._cost, self._number = cost.groups[g], g
        group = self._cost.group
        tiles = tiles_of(cost.network, group, cost.hardware, self._cost.residents)
        assert isinstance(tiles, Tiles)
        self._tiles, self._rounds = tiles, rounds_of(tiles, 1)
        self._sizes = [tiles.sizes(m) for m in range(tiles.shape.members)]
        self._names = map_names(cost.network, group.layers)
        loads = resident_loads(cost.network, group)
        weights = [
            HeldWords(_weights(cost.network, i), "weights", n) for i, n in loads.items() if n
        ]
        self._always = (*pinned, *weights)
        rows, self._kind = tiles.row_kinds
        at = np.ix_(rows, np.arange(tiles.grid[1]))
        self._states = tiles.states((at[0], at[1]))
        # int64[m, K, Tw]
        self._maps = tiles.at_steps(self._states)
        self._flying = tiles.passing if self._cost.prefetch else np.zeros(tiles.grid, np.int64)

    def segments(self, begin: int, most: int) -> Iterator[TimelineSegment]:
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
            per_image = max(1, most // images)
            ends = begin + np.append(0, np.cumsum(of_images[0])).astype(np.int64)
            if self._tiles.count > per_image:
                for a, b in pairwise(_cuts(self._tiles.count, per_image)):
                    yield self._folded(a, b, int(ends[a]), int(ends[b]), 1)
            else:
                cuts = _cuts(steps, min(steps, max(1, per_image // self._tiles.count)))
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
    def _runs(self) -> list[LayerActivity]:
        return [
            layer_activity(self._rounds.sizes(m), [c for _, c in share.evaluations], 1, True)
            for m, share in enumerate(self._cost.layers)
        ]

    def _tile_cycles(self) -> Grid:
        """float64[V, Th * Tw], as of :func:`round_cycles`."""
        rounds, cores = self._rounds, Cores(1, self._hardware)
        loads, work = resident_loads(self._network, self._cost.group), no_work(rounds)
        for share, run in zip(self._cost.layers, self._runs, strict=True):
            work.add(run, weight_load(loads.get(share.layer, 0), rounds, cores), self._hardware)
        return round_cycles(rounds, self._hardware, self._cost.prefetch, work)

    def _busy(self) -> Grid:
        """float64[m, Th * Tw], cycles for which each layer keeps the array in each tile."""
        return np.stack([run.busy for run in self._runs])

    def _steps(
        self, tile: int, cuts: list[int], busy: Grid, begin: int, end: int
    ) -> Iterator[TimelineSegment]:
        """Yield the steps of one tile, a segment from each cut to the next."""
        # what is never busy waits as long at each step
        shares = busy if busy.sum() else np.ones_like(busy)
        ends = np.append(0, np.cumsum(shares)) / shares.sum() * (end - begin)
        at = begin + np.rint(ends).astype(np.int64)
        words = self._words(tile)
        for a, b in pairwise(cuts):
            step = a + int(words[a:b].argmax())
            held, least = self._held(tile, step), int(words[a:b].min())
            yield TimelineSegment(self._number, int(at[a]), int(at[b]), b - a, held, least)

    def _folded(self, first: int, last: int, begin: int, end: int, images: int) -> TimelineSegment:
        """Return one segment for the tiles from ``first`` until before ``last``."""
        flying, kinds, columns = self._places(first, last)
        words = self._maps[:, kinds, columns] + flying
        fullest = int(words.max(axis=0).argmax())
        step = int(words[:, fullest].argmax())
        least = int(words.min()) + sum(held.words for held in self._always)
        steps = (last - first) * self._tiles.shape.members * images
        return TimelineSegment(
            self._number, begin, end, steps, self._held(first + fullest, step), least
        )

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

    def _held(self, tile: int, step: int) -> tuple[HeldWords, ...]:
        """What a step of a tile holds."""
        flying, kinds, columns = self._places(tile, tile + 1)
        place = int(kinds[0]), int(columns[0])
        alive = self._tiles.words_at(self._states, step, place)
        found = [
            HeldWords(name, "map", words) for name, words in zip(self._names, alive, strict=True)
        ]
        share = self._cost.layers[step]
        layer, size = self._tiles.layers[step], self._sizes[step].running_at(tile)
        through = _streamed_weights(layer, share, size, self._cost.group, self._hardware)
        found += [
            HeldWords("", "in flight", int(flying[0])),
            HeldWords(_weights(self._network, share.layer), "streamed", through),
        ]
        return (*self._always, *(held for held in found if held.words))


def _cuts(count: int, parts: int) -> list[int]:
    """Cut ``range(count)`` into parts that are as even as can be; return where they begin and end.

    ``parts`` is from 1 to ``count``.
    """
    return [i * count // parts for i in range(parts + 1)]


def _streamed_held(
    network: Network, position: int, cost: GroupCost, hardware: Hardware
) -> list[tuple[str, int]]:
    """Return what a layer by itself keeps of the operands that it streams, by name.

    Nothing of layers on the vector unit: what they stream goes straight through.
    """
    layer = network.layers[position]
    share = next(share for share in cost.layers if share.layer == position)
    mapping = share.evaluations[0][1].mapping
    if mapping is None or hardware.fusion_level is None:
        return []
    windowed, residents = len(layer.map_channels), cost.residents
    reads = network.reads[position]
    beside, second = reads[:windowed], reads[windowed:]

    def held(names: tuple[str, ...]) -> bool:
        return any(network.layers[i].name in names for i in residents.held)

    weights = _together(second, layer) if layer.multiplies_maps else f"weights of {layer.name}"
    staged = {
        INPUTS: held(beside),
        WEIGHTS: position in cost.group.steady or (layer.multiplies_maps and held(second)),
        OUTPUTS: position in residents.kept,
    }
    names = {INPUTS: _together(beside, layer), WEIGHTS: weights, OUTPUTS: layer.name}
    return [
        (names[tensor], kept_words(mapping, layer, tensor, hardware))
        for tensor, lies_there in staged.items()
        if not lies_there
    ]


def _together(names: tuple[str, ...], layer: Layer) -> str:
    return names[0] if len(names) == 1 else f"inputs of {layer.name}"


def _streamed_weights(
    layer: Layer, share: LayerShare, size: int | None, group: FusionGroup, hardware: Hardware
) -> int:
    """Return the words that the tiles of a member's weights take while they pass the buffer.

    Args:
        layer: the member.
        share: of it.
        size: of its evaluations that of the running tile; None if it makes nothing there.
        group: that it is in.
        hardware: that runs it.
    """
    lies_there = share.layer in group.resident or share.layer in group.steady
    if size is None or lies_there or layer.multiplies_maps:
        return 0
    mapping = share.evaluations[size][1].mapping
    return 0 if mapping is None else kept_words(mapping, layer, WEIGHTS, hardware)
