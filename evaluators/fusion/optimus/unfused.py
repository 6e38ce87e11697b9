"""Words between DRAM and one buffer that a layer needs when it runs alone, by what it reuses.

Optimus (Cai et al., ACM TECS 22(1), 2022) takes the best of five ways: partial sums, filters or
the input map stay in the buffer, or a band of rows has all of its input or all of its output
channels there. The loop nests behind them are ours, written down beside each formula; so are
their tile sizes, of which all are tried. Groups of channels run one after another, each on its
own. All counts are words; a tensor takes what it ever needs there. The nests are run over
coordinates in the tests.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from archloom.space.workload import Layer

from ...arrays import Ints

Reuse = Literal["psums", "filters", "inputs", "input_channels", "output_channels"]

#: in the order in which ties are broken
REUSES: Final[tuple[Reuse, ...]] = get_args(Reuse)


@dataclass(frozen=True)
class Nest:
    """Loops of one layer, seen as bands of whole rows.

    For a product of two maps the second one stands where others have filters.

    Attributes:
        images, groups: that share filters; that share nothing.
        k, c, window: output and input channels of a group, taps of one filter channel.
        rows, columns: of the output.
        stride, padding, reach: of rows; a window spans ``reach`` rows.
        height, width: rows of the input; columns of it that windows span.
    """

    images: int
    groups: int
    k: int
    c: int
    window: int
    rows: int
    columns: int
    stride: int
    padding: int
    reach: int
    height: int
    width: int

    @classmethod
    def of(cls, layer: Layer) -> "Nest":
        """Return the loops of a layer of the MAC array."""
        images, groups, k, c, p, q, r, s = layer.bounds
        span = (q - 1) * layer.stride[1] - layer.padding[1] + (s - 1) * layer.dilation[1] + 1
        return cls(
            images,
            groups,
            k,
            c,
            r * s,
            p,
            q,
            layer.stride[0],
            layer.padding[0],
            (r - 1) * layer.dilation[0] + 1,
            layer.input_size[0],
            min(layer.input_size[1], span),
        )

    @property
    def filter_words(self) -> int:
        """Of one group."""
        return self.k * self.c * self.window

    @property
    def output_words(self) -> int:
        """Of one group, all images."""
        return self.images * self.k * self.rows * self.columns

    @property
    def input_words(self) -> int:
        """Of one group, all images, each once, rows between windows included."""
        return self.images * self.c * self.width * int(self.read(0, self.rows))

    def read(self, start: int | Ints, end: int | Ints) -> Ints:
        """Rows that windows of output rows [start, end) span, inside the map."""
        last = np.minimum(self.height, (end - 1) * self.stride - self.padding + self.reach)
        first = np.maximum(0, np.multiply(start, self.stride) - self.padding)
        rows: Ints = np.maximum(0, last - first)
        return rows

    @cached_property
    def bands(self) -> tuple[Ints, Ints]:
        """int64[B]: rows of a band, and images: rows of one image first, then whole images."""
        rows, images = np.arange(1, self.rows + 1), np.arange(2, self.images + 1)
        whole = np.full(len(images), self.rows)
        return np.append(rows, whole), np.append(np.ones(self.rows, np.int64), images)

    @cached_property
    def passes(self) -> Ints:
        """int64[B], how many bands there are."""
        rows, images = self.bands
        return -(-self.images // images) * -(-self.rows // rows)

    @cached_property
    def _band_rows(self) -> Ints:
        """int64[3, P], for bands of 1..P rows: what all bands read together, what one of them
        reads at most, and the most that lies there if other channels keep what bands share."""
        found = []
        for rows in range(1, self.rows + 1):
            starts = np.arange(0, self.rows, rows)
            spanned = self.read(starts, np.minimum(starts + rows, self.rows))
            # rows that a band shares with the one before it, and with the next
            shared = np.append(0, self.read(starts[1:], starts[1:]))
            kept = np.maximum(shared, np.append(shared[1:], 0))
            found.append((spanned.sum(), spanned.max(), (spanned + (self.c - 1) * kept).max()))
        return np.array(found, np.int64).T

    def _per_band(self, rows: Ints) -> Ints:
        """int64[B] from figures of bands of 1..P rows of one image."""
        return np.append(rows, np.full(self.images - 1, rows[-1]))

    @cached_property
    def banded_words(self) -> Ints:
        """int64[B], input words if rows that two bands share are fetched for each."""
        return self.images * self.c * self.width * self._per_band(self._band_rows[0])

    @cached_property
    def band_inputs(self) -> Ints:
        """int64[B], words of one input channel that a band needs at most."""
        return self.bands[1] * self.width * self._per_band(self._band_rows[1])

    @cached_property
    def slice_inputs(self) -> Ints:
        """int64[B], the same, and of the others what bands share."""
        return self.bands[1] * self.width * self._per_band(self._band_rows[2])

    @cached_property
    def band_outputs(self) -> Ints:
        """int64[B], words of one output channel of a band."""
        rows, images = self.bands
        return images * rows * self.columns


def reuse_words(layer: Layer, capacity: int, holds_weights: bool = True) -> dict[Reuse, float]:
    """Return the DRAM words of a layer under each reuse; infinite where nothing fits.

    Args:
        layer: of the MAC array.
        capacity: words of the buffer.
        holds_weights: whether filters may lie in the buffer; else they stream past it, word by
            word.
    """
    nest = Nest.of(layer)
    found = {
        "psums": _psums(nest, capacity, holds_weights),
        "filters": _filters(nest, capacity) if holds_weights else inf,
        "inputs": _inputs(nest, capacity, holds_weights),
        "input_channels": _input_channels(nest, capacity, holds_weights),
        "output_channels": _output_channels(nest, capacity),
    }
    return {reuse: nest.groups * found[reuse] for reuse in REUSES}


def layer_words(layer: Layer, capacity: int, holds_weights: bool = True) -> tuple[Reuse, float]:
    """Return the reuse with the fewest DRAM words, and these; infinite if none fits."""
    words = reuse_words(layer, capacity, holds_weights)
    best = min(REUSES, key=words.__getitem__)
    return best, words[best]


def _least(words: Ints, fits: NDArray[np.bool_]) -> float:
    return float(words[fits].min()) if fits.any() else inf


def _psums(nest: Nest, capacity: int, holds_weights: bool) -> float:
    """Partial sums stay: for band, for block of output channels, for input channel.

    A block's sums of one band wait for all input channels. Under them lies either one channel
    of the band's input, and filters pass word by word, or the block's taps of one channel, and
    inputs pass. Input words come again for each block, filters for each band:
    words = inputs by bands * ceil(k / block) + filters * bands + outputs.
    """
    block = (capacity - 1 - nest.band_inputs) // nest.band_outputs
    if holds_weights:
        block = np.maximum(block, (capacity - 1) // (nest.band_outputs + nest.window))
    fits, block = block >= 1, np.clip(block, 1, nest.k)
    inputs = nest.banded_words * -(-nest.k // block)
    return _least(inputs + nest.filter_words * nest.passes + nest.output_words, fits)


def _filters(nest: Nest, capacity: int) -> float:
    """Filters stay: for block of output channels, for block of input channels, for position.

    Beside the block lie the rows that a window spans of its input channels. Inputs come once
    for each block of output channels; sums that wait for other input channels go to DRAM and
    back: words = filters + inputs * ceil(k / block) + outputs * (2 * ceil(c / block) - 1).
    """
    c_block = np.arange(1, nest.c + 1)
    row = np.arange(nest.rows)
    line = int(nest.read(row, row + 1).max()) * nest.width
    k_block = (capacity - 1 - c_block * line) // (c_block * nest.window)
    fits, k_block = k_block >= 1, np.clip(k_block, 1, nest.k)
    inputs = nest.input_words * -(-nest.k // k_block)
    outputs = nest.output_words * (2 * -(-nest.c // c_block) - 1)
    return _least(nest.filter_words + inputs + outputs, fits)


def _inputs(nest: Nest, capacity: int, holds_weights: bool) -> float:
    """The input map stays: for band, for block of input channels, for output channel.

    Beside the band's block lie either the sums of the band, and filters pass word by word, or
    the taps of one output channel, and sums pass. Filters come for each band, sums that wait
    for other input channels go to DRAM and back:
    words = inputs by bands + filters * bands + outputs * (2 * ceil(c / block) - 1).
    """
    block = (capacity - 1 - nest.band_outputs) // nest.band_inputs
    if holds_weights:
        block = np.maximum(block, (capacity - 1) // (nest.band_inputs + nest.window))
    fits, block = block >= 1, np.clip(block, 1, nest.c)
    outputs = nest.output_words * (2 * -(-nest.c // block) - 1)
    return _least(nest.banded_words + nest.filter_words * nest.passes + outputs, fits)


def _input_channels(nest: Nest, capacity: int, holds_weights: bool) -> float:
    """A band has all input channels: for band, for output channel.

    Line buffers: rows that two bands share stay, so each input word comes once. Beside them
    lie the sums of one output channel, or its filter: words = inputs + filters * bands + outputs.
    """
    needed = nest.c * nest.band_inputs + 1
    taps = nest.c * nest.window
    needed += np.minimum(nest.band_outputs, taps) if holds_weights else nest.band_outputs
    words = nest.input_words + nest.filter_words * nest.passes + nest.output_words
    return _least(words, needed <= capacity)


def _output_channels(nest: Nest, capacity: int) -> float:
    """A band has all output channels: for band, for input channel.

    The input passes in slices of one channel. Rows that two bands share stay, of all channels
    (ours; else they would be fetched again): words = inputs + filters * bands + outputs.
    """
    needed = nest.k * nest.band_outputs + nest.slice_inputs + 1
    words = nest.input_words + nest.filter_words * nest.passes + nest.output_words
    return _least(words, needed <= capacity)
