"""DRAM words of a fused group whose maps pass through line buffers, as Optimus counts them.

Optimus (Cai et al., ACM TECS 22(1), 2022): a group runs in bands of whole rows of its last map.
A band of ``h`` rows needs (h - 1) * stride + kernel rows of what is read, and so on back through
branches. Every second map passes in slices of one channel: what makes it has all of its input
channels there, what reads it all sums of its output channels. Which of the two halves of the maps
is sliced is the choice that takes less of the buffer. DRAM sends inputs once, and weights once if
they stay beside the least that the maps need, else once for each band:
Q = weights * bands + inputs + outputs.

Left open by the paper, and ours: windows are cut at the borders of a map; maps that are read
whole (flattened, or the second factor of a product) are held whole; where branches meet so that a
reader and what it reads would both be sliced, the later one is not; rows of a sliced map that two
bands share stay, of all channels; other maps that leave advance in step with the last one; rows
grow before images do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from archloom.evaluators.fusion.tiling import Interval, needs
from archloom.space import Infeasible
from archloom.space.workload import Layer, Network, remembered

from ..group_graph import Edge, GroupShape, group_reads, group_shape, group_sources


@dataclass(frozen=True, slots=True)
class BandCost:
    """Bands in which a group runs, and the words that DRAM moves.

    Attributes:
        rows, images: of the group's last map in one band.
        bands: how often weights that do not stay are fetched.
        stay: whether weights stay in the buffer.
        weights, inputs, outputs: words, each once.
        least: words of the buffer below which the group cannot run.
    """

    rows: int
    images: int
    bands: int
    stay: bool
    weights: int
    inputs: int
    outputs: int
    least: int

    @property
    def words(self) -> int:
        """Words between DRAM and buffer."""
        return self.weights * (1 if self.stay else self.bands) + self.inputs + self.outputs


def band_cost(
    network: Network, layers: tuple[int, ...], capacity: int, holds_weights: bool = True
) -> BandCost | Infeasible:
    """Return the DRAM words of a group of ``network`` in a buffer of ``capacity`` words.

    Args:
        network, layers: the group, ascending positions.
        capacity: words of the buffer.
        holds_weights: whether weights may stay in the buffer.
    """
    lines = line_buffers(network, layers)
    band = lines.band(capacity, holds_weights)
    if band is not None:
        return band
    name = network.layers[layers[-1]].name
    hint = "cut the group or enlarge the buffer"
    return Infeasible(
        "line_buffers", f"group up to {name}", lines.least + 1, capacity, "words", hint
    )


@dataclass(frozen=True, eq=False)
class LineBuffers:
    """Maps of one group, and the rows of each that a band needs.

    Attributes:
        shape, layers: the group.
        weights: words, those that several layers use once.
        sliceable: for each map, whether it can pass in slices of channels.
    """

    shape: GroupShape
    layers: tuple[Layer, ...]
    weights: int
    sliceable: tuple[bool, ...]

    def band(self, capacity: int, holds_weights: bool) -> BandCost | None:
        """Return how the group runs, as :func:`band_cost` says; None if it does not fit."""
        if capacity <= self.least:
            return None
        stay = not self.weights or (holds_weights and capacity >= self.weights + self.least)
        # weights that do not stay need a word to pass through
        return self.cost(capacity - self.weights if stay else capacity - 1, stay)

    def cost(self, capacity: int, stay: bool) -> BandCost:
        """Return the cost with maps that may take ``capacity`` words, at least ``least``."""
        height, images = self.shape.sizes[self.shape.anchor][0], self.layers[0].n
        together, whole = 1, self.words(height, 1)
        if whole <= capacity:
            rows, together = height, min(images, capacity // whole)
        else:
            rows = _most(height - 1, lambda n: self.words(n, 1) <= capacity)
        return BandCost(
            rows,
            together,
            # Optimus runs the rows of all images as one stream
            -(-height * images // (together * rows)),
            stay,
            self.weights,
            images * self.inputs,
            images * self.outputs,
            self.least,
        )

    def words(self, rows: int, images: int) -> int:
        """Return the words that all maps take while a band of ``rows`` and ``images`` runs."""
        if rows not in self._known_words:
            self._known_words[rows] = self._image_words(rows)
        return images * self._known_words[rows]

    @cached_property
    def _known_words(self) -> dict[int, int]:
        """Words of one image by rows: buffers of many sizes ask for the same."""
        return {}

    def _image_words(self, rows: int) -> int:
        held = self.heights(rows)
        ends = rows >= self.shape.sizes[self.shape.anchor][0]
        return min(
            sum(
                width * (rows + (channels - 1) * (0 if ends else min(kept, rows)))
                if sliced
                else width * channels * rows
                for sliced, rows, kept, channels, (_, width) in zip(
                    half, held, self._kept, self.shape.channels, self.shape.sizes, strict=True
                )
            )
            for half in self._halves
        )

    @cached_property
    def least(self) -> int:
        """Words below which the group cannot run: a band of one row, or all at once.

        All at once shares no rows with a next band, so it may be the smaller one.
        """
        return min(self.words(1, 1), self.words(self.shape.sizes[self.shape.anchor][0], 1))

    @cached_property
    def floor(self) -> int:
        """Words that this group and any that it grows into by later readers need."""
        held = self._rows(dict.fromkeys(self.shape.exported, 1))
        return min(
            sum(
                width * rows * (1 if sliced else channels)
                for sliced, rows, channels, (_, width) in zip(
                    half, held, self.shape.channels, self.shape.sizes, strict=True
                )
            )
            for half in self._halves
        )

    def heights(self, rows: int) -> list[int]:
        """Return the rows of each map that ``rows`` of the last one need."""
        whole = self.shape.sizes[self.shape.anchor][0]
        own = {u: -(-rows * self.shape.sizes[u][0] // whole) for u in self.shape.exported}
        return self._rows(own)

    def _rows(self, own: dict[int, int]) -> list[int]:
        held = [own.get(u, 0) for u in range(len(self.shape.sizes))]
        # edges are listed by reader
        for edge in reversed(self.shape.edges):
            reader = self.layers[edge.reader]
            read = _back(edge, reader, self.shape.sizes[edge.source][0], held[edge.reader])
            held[edge.source] = max(held[edge.source], read)
        return held

    @cached_property
    def _kept(self) -> list[int]:
        """Rows of each map that two neighbouring bands read."""
        kept = [0] * len(self.shape.sizes)
        for edge in self.shape.edges:
            reader = self.layers[edge.reader]
            overlap = (reader.r - 1) * reader.dilation[0] + 1 - reader.stride[0]
            kept[edge.source] = max(kept[edge.source], overlap)
        return kept

    @cached_property
    def _halves(self) -> tuple[list[bool], list[bool]]:
        """Whether each map is sliced, for each of the two choices."""
        sources: list[list[int]] = [[] for _ in self.shape.sizes]
        for edge in self.shape.edges:
            sources[edge.reader].append(edge.source)
        depth = [0] * len(sources)
        for m in range(self.shape.members):
            depth[m] = 1 + max((depth[u] for u in sources[m]), default=0)
        return self._half(sources, depth, 0), self._half(sources, depth, 1)

    def _half(self, sources: list[list[int]], depth: list[int], parity: int) -> list[bool]:
        sliced = [False] * len(sources)
        for u in (*self.shape.externals, *range(self.shape.members)):
            free = not any(sliced[s] for s in sources[u])
            sliced[u] = free and depth[u] % 2 == parity and self.sliceable[u]
        return sliced

    @cached_property
    def inputs(self) -> int:
        """Words of all maps from outside that are needed for one image."""
        rows, columns = self.needed(0), self.needed(1)
        return sum(
            self.shape.channels[u] * _length(rows[u]) * _length(columns[u])
            for u in self.shape.externals
        )

    def needed(self, axis: int) -> tuple[Interval | None, ...]:
        """Return the positions of each map, along one axis, that the maps that leave need."""
        wanted = {u: (0, self.shape.sizes[u][axis]) for u in self.shape.exported}
        return needs(self.shape, self.layers, axis, wanted)

    @cached_property
    def outputs(self) -> int:
        """Words of all maps of one image that leave."""
        maps = ((self.shape.channels[u], *self.shape.sizes[u]) for u in self.shape.exported)
        return sum(channels * rows * columns for channels, rows, columns in maps)


def line_buffers(
    network: Network, layers: tuple[int, ...], sliceable: tuple[bool, ...] | None = None
) -> LineBuffers:
    """Return the maps of a group of ``network``, ``layers`` ascending.

    ``sliceable`` are those of :func:`sliceable_maps` if they are known.
    """
    owners = {network.weight_owner(i): network.layers[i].weight_words for i in layers}
    return LineBuffers(
        group_shape(network, layers),
        tuple(network.layers[i] for i in layers),
        sum(owners.values()),
        sliceable or sliceable_maps(network, layers),
    )


def sliceable_maps(network: Network, layers: tuple[int, ...]) -> tuple[bool, ...]:
    """Return for each map of a group whether it can pass in slices of channels.

    It follows from all of its readers in the network: groups that are the same but for it differ.
    """
    by_slices, members = _by_slices(network), set(layers)
    outside: dict[int, bool] = {}
    for i in layers:
        for source, name in zip(group_sources(network)[i], network.reads[i], strict=True):
            if source.layer not in members:
                outside.setdefault(source.box, by_slices[name])
    return (*(by_slices[network.layers[i].name] for i in layers), *outside.values())


def inputs_read(network: Network) -> tuple[int, ...]:
    """Return for each layer words of inputs of the network that it fetches in any plan.

    Each box of an input is counted once, for the layer that reads most of it: other groups may
    fetch it for others, but what that layer makes is at least what the outputs of the network need.
    Layers that leave out rows between their windows do not count.
    """
    everything = tuple(range(len(network.layers)))
    lines = line_buffers(network, everything)
    made = [lines.needed(axis) for axis in (0, 1)]
    most: dict[int, tuple[int, int]] = {}
    for i, (sources, layer) in enumerate(zip(group_sources(network), network.layers, strict=True)):
        # alone, a layer can skip rows between its windows
        gaps = (layer.r - 1) * layer.dilation[0] + 1 < layer.stride[0]
        if gaps or all(source.layer >= 0 for source in sources):
            continue
        alone = group_shape(network, (i,))
        spans = [needs(alone, (layer,), axis, _wanted(made[axis][i])) for axis in (0, 1)]
        boxes = dict.fromkeys(source.box for source in sources)
        inputs = {source.box for source in sources if source.layer < 0}
        for u, box in zip(alone.externals, boxes, strict=True):
            words = layer.n * alone.channels[u] * _length(spans[0][u]) * _length(spans[1][u])
            if box in inputs:
                most[box] = max(most.get(box, (0, i)), (words, i))
    read = [0] * len(everything)
    for words, i in most.values():
        read[i] += words
    return tuple(read)


def _wanted(made: Interval | None) -> dict[int, Interval]:
    return {} if made is None else {0: made}


def _length(span: Interval | None) -> int:
    return 0 if span is None else span[1] - span[0]


def _back(edge: Edge, reader: Layer, size: int, rows: int) -> int:
    """Rows of a map, of ``size``, that ``rows`` of its reader need at most."""
    if edge.full:
        return size
    reach = (reader.r - 1) * reader.dilation[0] + 1
    # Optimus: (h - 1) * stride + kernel
    read = min(reader.input_size[0], (rows - 1) * reader.stride[0] + reach)
    patch = edge.patch[0]
    # an interleaved map has rows in patches, and a band may begin in the middle of one
    return min(size, (read + 2 * patch - 2) // patch)


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``limit`` that fits; 1 does, and so does less than fits."""
    low, high = 1, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@remembered
def _by_slices(network: Network) -> dict[str, bool]:
    """For each map whether it can pass in slices: who makes and reads it goes by channels."""
    found = {layer.name: _by_channels(layer) for layer in network.layers}
    for layer, names, reads in zip(
        network.layers, network.reads, group_reads(network), strict=True
    ):
        for name, read in zip(names, reads, strict=True):
            found[name] = found.get(name, True) and _by_channels(layer) and not read.full
    return found


def _by_channels(layer: Layer) -> bool:
    """Whether a layer can take in and give out one channel after another."""
    vector = layer.vector
    if vector is not None and (vector.whole_vectors or vector.gathers or vector.maps):
        return False
    return layer.interleave is None
