"""One operator as a loop nest."""

from dataclasses import dataclass, replace
from math import prod
from typing import Literal, get_args

Operator = Literal["conv", "gemm", "maxpool", "avgpool", "add"]

#: Operators that run on the MAC array; the others run on the vector unit.
MAC_OPERATORS: frozenset[str] = frozenset({"conv", "gemm"})


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator: loop bounds, window, and what it reads.

    Channels of a grouped operator are counted per group: a depthwise convolution over 64
    channels has ``g=64, k=1, c=1``. Vector operators (pooling, add) put their channels in
    ``g`` and keep ``k = c = 1``. Pairs are (rows, columns).

    Attributes:
        name: unique in its network.
        operator: what it computes.
        n, g, k, c, p, q, r, s: loop bounds, all at least 1.
        stride, dilation, padding: window geometry; padding is at the top and left.
        input_size: rows and columns of the input map, without padding.
        operands: number of input maps (2 for an add).
        extra_params: learned values that no loop touches (bias, folded batch norm).
        activation: function folded into the layer's output, for the record (it costs nothing
            in this model: it is applied as the value leaves the array).

    Raises:
        ValueError: a bound below 1, padding as large as the window, or an input map that
            the window cannot cover.
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

    def __post_init__(self) -> None:
        if self.operator not in get_args(Operator):
            raise ValueError(f"layer {self.name}: operator {self.operator!r} is not known")
        pairs = (*self.stride, *self.dilation, *self.input_size)
        if min(*self.bounds, *pairs, self.operands) < 1:
            raise ValueError(f"layer {self.name}: bounds, strides and sizes must be at least 1")
        for axis, (out, kernel) in enumerate(((self.p, self.r), (self.q, self.s))):
            window = (kernel - 1) * self.dilation[axis] + 1
            pad, size = self.padding[axis], self.input_size[axis]
            last_start = (out - 1) * self.stride[axis] - pad
            if not 0 <= pad < window:
                raise ValueError(f"layer {self.name}: padding {pad} must be in [0, {window})")
            if last_start >= size:
                raise ValueError(
                    f"layer {self.name}: output {out} starts its last window at {last_start}, "
                    f"outside an input of {size}"
                )

    @property
    def bounds(self) -> tuple[int, ...]:
        """Loop bounds in the order of :data:`archloom.space.dims.DIMS`."""
        return (self.n, self.g, self.k, self.c, self.p, self.q, self.r, self.s)

    @property
    def uses_macs(self) -> bool:
        """Whether the layer runs on the MAC array."""
        return self.operator in MAC_OPERATORS

    @property
    def depthwise(self) -> bool:
        """Whether each output channel reads one input channel."""
        return self.operator == "conv" and self.g > 1 and self.k == 1 and self.c == 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates; 0 for vector operators."""
        return prod(self.bounds) if self.uses_macs else 0

    @property
    def vector_ops(self) -> int:
        """Elementary operations on the vector unit; 0 for MAC operators."""
        return 0 if self.uses_macs else prod(self.bounds) * self.operands

    @property
    def weight_words(self) -> int:
        """Words of weights that the loop nest reads."""
        return self.g * self.k * self.c * self.r * self.s if self.uses_macs else 0

    @property
    def params(self) -> int:
        """Learned parameters, without running statistics."""
        return self.weight_words + self.extra_params

    @property
    def input_channels(self) -> int:
        """Channels of one input map."""
        return self.g * self.c

    @property
    def output_channels(self) -> int:
        """Channels of the output map."""
        return self.g * self.k

    @property
    def input_words(self) -> int:
        """Words of all input maps, without padding."""
        rows, columns = self.input_size
        return self.n * self.input_channels * rows * columns * self.operands

    @property
    def read_words(self) -> int:
        """Words of all input maps inside the bounding box of what the windows read."""
        sides = []
        for axis, (out, kernel) in enumerate(((self.p, self.r), (self.q, self.s))):
            stride, dilation, pad = self.stride[axis], self.dilation[axis], self.padding[axis]
            end = (out - 1) * stride - pad + (kernel - 1) * dilation + 1
            sides.append(min(end, self.input_size[axis]))
        return self.n * self.input_channels * sides[0] * sides[1] * self.operands

    @property
    def output_words(self) -> int:
        """Words of the output map."""
        return self.n * self.output_channels * self.p * self.q

    def with_batch(self, n: int) -> "Layer":
        """Return the same layer over a batch of ``n``."""
        return replace(self, n=n)
