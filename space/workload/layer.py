"""Layer: one operator as a loop nest."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Final, Literal, NamedTuple, get_args

from .layer_validation import (
    too_large,
    unknown_names,
    wrong_interleave,
    wrong_maps,
    wrong_mask,
    wrong_numbers,
    wrong_reads,
    wrong_values,
    wrong_windows,
)
from .slice import Mask, Slice
from .vector_ops import VECTOR_OPERATORS, VectorName, VectorOperator

MacName = Literal["conv", "gemm", "matmul"]
Operator = MacName | VectorName

#: Operators that run on the MAC array; the others run on the vector unit.
MAC_OPERATORS: frozenset[str] = frozenset(get_args(MacName))

#: Every operator.
OPERATORS: Final[tuple[str, ...]] = (*get_args(MacName), *VECTOR_OPERATORS)


@dataclass(frozen=True, slots=True)
class Interleave:
    """How channels of a result become rows and columns of the feature map that others read.

    The channels of one position are laid out as a patch of positions, as after the convolution
    that a transposed one is turned into (Shi et al., arXiv:1609.07009).

    Attributes:
        rows, columns: size of a patch.
        start, end: rows and columns that are cut off, at the top and left, at the bottom and
            right.
        zero_weights: weights of the nest that only fill its kernels up.
        idle_macs: multiply-accumulates of one image with those weights or for what is cut off.
    """

    rows: int
    columns: int
    start: tuple[int, int] = (0, 0)
    end: tuple[int, int] = (0, 0)
    zero_weights: int = 0
    idle_macs: int = 0


class Sparsity(NamedTuple):
    """Zeros of a layer, as far as hardware can spare work or space for them.

    Attributes:
        weights, inputs: shares that are not zero.
        row_words: learned weights of one output channel, if some of them are zero; else 0, and
            there is nothing to pack.
    """

    weights: float = 1.0
    inputs: float = 1.0
    row_words: int = 0


#: a layer without zeros
NO_ZEROS: Final = Sparsity()


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator: loop bounds, window, and what it reads.

    :mod:`archloom.space.workload.layer_builders` makes layers from shapes as people think of them.

    Channels of a grouped operator are counted per group: a depthwise convolution over 64
    channels has ``g=64, k=1, c=1``. A product of two feature maps (``matmul``) has its heads in
    ``g``, rows in ``p``, and its second map stands where others have weights. Operators of the
    vector unit put their channels in ``g`` and keep ``k = c = 1``; those that work on whole vectors
    (softmax, layer norm) have the length of a vector in both. Pairs are (rows, columns).

    Attributes:
        name: unique in its network.
        operator: what it computes, one of :data:`OPERATORS`.
        n: images.
        g, k, c, p, q, r, s: loop bounds of one image, all at least 1.
        stride, dilation, padding: window geometry; padding is at the top and left.
        input_size: rows and columns of the input map, without padding.
        operands: number of input maps (2 for an add).
        extra_params: learned values that no loop touches (bias, folded batch norm).
        activation: function folded into the layer's output, for the record (it costs nothing
            in this model: it is applied as the value leaves the array).
        parts: channels of each input map, if several are laid side by side (a concatenation).
        broadcast: the second map of an add or mul has one value for each channel.
        interleave: what becomes of the result, if others read it in another shape.
        density: shares of weights and of inputs that are not zero; only hardware whose
            ``effects`` gate or skip zeros gains by them.
        slices: for each map that it reads the box of it that it reads, None for all; empty if
            it reads all of every map.
        whole_parts: words of each map that together make what every part of the result needs
            all of: the second map of a product that comes in pieces, all maps of a copy.
        weights_of: name of an earlier layer whose weights it uses again; they count once.
        packed_words: words that its weights take on hardware that packs them, as
            :func:`archloom.space.hardware.packed` found; None where they are not packed.
        mask: which keys of attention its queries see, of a product of two maps or a softmax; None
            for all of them. Groups in loop nests leave out tiles that it drops as a whole.

    Raises:
        ValueError: an unknown operator or activation, a bound below 1, padding as large as the
            window, an input map that the window cannot cover, maps that the operator cannot
            read or make, or counts beyond 2**53.
    """

    name: str
    operator: Operator
    n: int = 1
    g: int = 1
    k: int = 1
    c: int = 1
    p: int = 1
    q: int = 1
    r: int = 1
    s: int = 1
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    input_size: tuple[int, int] = (1, 1)
    operands: int = 1
    extra_params: int = 0
    activation: str = ""
    parts: tuple[int, ...] = ()
    broadcast: bool = False
    interleave: Interleave | None = None
    density: tuple[float, float] = (1.0, 1.0)
    slices: tuple[Slice | None, ...] = ()
    whole_parts: tuple[int, ...] = ()
    weights_of: str = ""
    packed_words: int | None = None
    mask: Mask | None = None

    def __post_init__(self) -> None:
        # each line takes for granted what the ones before it found right
        self._refuse(
            unknown_names(self, OPERATORS), wrong_numbers(self), wrong_values(self, Interleave)
        )
        self._refuse(wrong_windows(self), wrong_maps(self))
        self._refuse(
            wrong_interleave(self), wrong_reads(self), wrong_mask(self, Mask), too_large(self)
        )

    def _refuse(self, *wrong: Iterable[str]) -> None:
        message = "; ".join(chain(*wrong))
        if message:
            raise ValueError(f"layer {self.name}: {message}")

    @property
    def bounds(self) -> tuple[int, ...]:
        """Loop bounds in the order of :data:`archloom.space.workload.dims.DIMS`.

        Weights serve every image, the second feature map of a product only its own: there images
        are heads.
        """
        images = (1, self.n * self.g) if self.multiplies_maps else (self.n, self.g)
        return (*images, *self.image_bounds[2:])

    @property
    def image_bounds(self) -> tuple[int, ...]:
        """Loop bounds of one image."""
        return (1, self.g, self.k, self.c, self.p, self.q, self.r, self.s)

    @property
    def uses_macs(self) -> bool:
        """Whether the layer runs on the MAC array."""
        return self.operator in MAC_OPERATORS

    @property
    def vector(self) -> VectorOperator | None:
        """What the vector unit does for it; None for MAC operators."""
        return VECTOR_OPERATORS.get(self.operator)

    @property
    def multiplies_maps(self) -> bool:
        """Whether both factors of its products are feature maps, so that it has no weights."""
        return self.operator == "matmul"

    @property
    def depthwise(self) -> bool:
        """Whether each output channel reads one input channel."""
        return self.operator == "conv" and self.g > 1 and self.k == 1 and self.c == 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates that the nest executes; 0 for vector operators."""
        return prod(self.bounds) if self.uses_macs else 0

    @property
    def useful_macs(self) -> int:
        """Multiply-accumulates without those that an interleave leaves idle."""
        return self.macs - (self.n * self.interleave.idle_macs if self.interleave else 0)

    @property
    def pairs(self) -> tuple[int, int]:
        """Pairs of a row and a key that a mask leaves, and all of them; (1, 1) without a mask."""
        mask = self.mask
        if mask is None:
            return 1, 1
        keys = self.k if mask.keys == "k" else self.c
        return mask.pairs(self.p // mask.rows, keys) * mask.rows, self.p * keys

    @property
    def seen_macs(self) -> int:
        """Multiply-accumulates for pairs of a query and a key that a mask leaves, else all."""
        left, pairs = self.pairs
        return self.macs // pairs * left

    @property
    def seen_ops(self) -> int:
        """Operations of the vector unit for pairs that a mask leaves, else all."""
        left, pairs = self.pairs
        return self.vector_ops // pairs * left

    @property
    def vector_ops(self) -> int:
        """Elementary operations on the vector unit; 0 for MAC operators."""
        return self.output_words * self.vector_ops_per_word

    @property
    def vector_ops_per_word(self) -> int:
        """Elementary operations for one word of the result; 0 for MAC operators."""
        vector = self.vector
        if vector is None:
            return 0
        return vector.operations * (1 if vector.maps or vector.gathers else self.taps)

    @property
    def taps(self) -> int:
        """Words of the input feature maps for one word of a vector operator's result."""
        vector = self.vector
        if vector is not None and vector.maps:
            return sum(read for _, read in vector.maps)
        if vector is not None and vector.gathers:
            return vector.gathers
        return self.r * self.s * (1 if self.parts else self.operands)

    @property
    def sparsity(self) -> Sparsity:
        """Zeros, as hardware can use them."""
        packs = self.uses_macs and not self.multiplies_maps and self.density[0] < 1
        return Sparsity(*self.density, self.c * self.r * self.s if packs else 0)

    @property
    def weight_words(self) -> int:
        """Words that its learned weights take, packed where the hardware packs them."""
        return self.weights if self.packed_words is None else self.packed_words

    @property
    def weights(self) -> int:
        """Learned weights that the layer reads, zeros with them."""
        if self.multiplies_maps:
            return 0
        if self.uses_macs:
            return self.g * self.k * self.c * self.r * self.s
        return self.vector.learned * self.output_channels if self.vector else 0

    @property
    def params(self) -> int:
        """Learned parameters, without running statistics and weights of an earlier layer."""
        if self.weights_of:
            return self.extra_params
        zeros = self.interleave.zero_weights if self.interleave else 0
        return self.weights - zeros + self.extra_params

    @property
    def input_channels(self) -> int:
        """Channels that one window reads, over all groups."""
        return self.g * self.c

    @property
    def output_channels(self) -> int:
        """Channels of the result."""
        return self.g * self.k

    @property
    def map_shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns of the result as others read it."""
        spread = self.interleave
        if spread is None:
            return (self.output_channels, self.p, self.q)
        return (
            self.output_channels // (spread.rows * spread.columns),
            self.p * spread.rows - spread.start[0] - spread.end[0],
            self.q * spread.columns - spread.start[1] - spread.end[1],
        )

    @property
    def map_channels(self) -> tuple[int, ...]:
        """Channels of each feature map that it reads with windows, in the order of ``reads``."""
        vector = self.vector
        if vector is not None and vector.maps:
            return tuple(have * self.g for have, _ in vector.maps)
        if vector is not None and vector.gathers:
            return ()
        whole = len(self.whole_parts) or int(self.multiplies_maps or self.broadcast)
        return self.parts or (self.input_channels,) * (self.operands - whole)

    @property
    def read_channels(self) -> tuple[int, ...]:
        """Channels of those feature maps that it reads words of, in the same order."""
        vector = self.vector
        if vector is not None and vector.maps:
            return tuple(read * self.g for _, read in vector.maps)
        return self.map_channels

    @property
    def whole_words(self) -> int:
        """Words of the feature map that every part of the result needs all of; 0 if there is none.

        That is the second map of a product or of a broadcast, or all maps of a copy, in one
        image.
        """
        if self.whole_parts:
            return sum(self.whole_parts)
        if self.multiplies_maps:
            return self.g * self.k * self.c
        return self.g if self.broadcast else 0

    @property
    def map_words(self) -> tuple[int, ...]:
        """Words of each feature map that it reads, in one image, in the order of ``reads``."""
        size = self.input_size[0] * self.input_size[1]
        windowed = tuple(channels * size for channels in self.map_channels)
        if not self.whole_words:
            return windowed
        return (*windowed, *(self.whole_parts or (self.whole_words,)))

    def slice_of(self, operand: int) -> Slice | None:
        """Box of its ``operand``-th feature map that it reads; None for all of it."""
        return self.slices[operand] if self.slices else None

    @property
    def input_words(self) -> int:
        """Words of all input feature maps, without padding."""
        return self.n * sum(self.map_words)

    @property
    def read_words(self) -> int:
        """Words of all input feature maps inside the bounding box of what the windows read."""
        return sum(self.map_read_words)

    @property
    def map_read_words(self) -> tuple[int, ...]:
        """Words of each feature map inside that box, in the order of ``reads``."""
        sides = []
        for axis, (out, kernel) in enumerate(((self.p, self.r), (self.q, self.s))):
            stride, dilation, pad = self.stride[axis], self.dilation[axis], self.padding[axis]
            end = (out - 1) * stride - pad + (kernel - 1) * dilation + 1
            sides.append(min(end, self.input_size[axis]))
        windowed = [channels * sides[0] * sides[1] for channels in self.read_channels]
        whole = self.whole_parts or ((self.whole_words,) if self.whole_words else ())
        return tuple(self.n * words for words in (*windowed, *whole))

    @property
    def output_words(self) -> int:
        """Words of the result."""
        return self.n * self.output_channels * self.p * self.q

    def __str__(self) -> str:
        """Return what people say of a layer: operator, result, window, work."""
        channels, rows, columns = self.map_shape
        text = f"{self.operator:<11} {channels:>6} x {rows} x {columns}"
        if (self.r, self.s) != (1, 1):
            text += f", {self.r}x{self.s}"
        if self.stride != (1, 1):
            text += f" / {self.stride[0]}" + f"x{self.stride[1]}" * (len(set(self.stride)) > 1)
        if self.g > 1 and self.uses_macs:
            text += f", {self.g} groups"
        if self.activation:
            text += f", {self.activation}"
        if self.mask is not None:
            text += f", {self.mask}"
        return f"{text}, {self.macs / 1e6:,.1f} M MACs" if self.uses_macs else text

    def with_batch(self, n: int) -> "Layer":
        """Return the same layer over a batch of ``n``."""
        return replace(self, n=n)
