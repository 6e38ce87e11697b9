"""Shapes of convolutions for one image, as kernels of this machine compute them."""

import re
from dataclasses import dataclass, replace
from math import prod
from typing import Final, Literal, get_args

from archloom.space import Infeasible, did_you_mean
from archloom.space.workload import Layer

Activation = Literal["", "relu", "relu6"]

#: functions that kernels apply to what they store
ACTIVATIONS: Final[tuple[str, ...]] = get_args(Activation)

#: multiply-accumulates of the largest layer: a reference in float64 still takes seconds only
MOST_MACS: Final = 10**10

_TEXT: Final = re.compile(r"(\d+)x(\d+)x(\d+):(\d+):(\d+)x(\d+)((?:,[a-z]+=[\w]+)*)")
_OPTIONS: Final = ("stride", "padding", "dilation", "groups", "output", "activation")

#: how a shape is written
SHAPE_FORM: Final = (
    "CxHxW:K:RxS[,stride=N][,padding=N][,dilation=N][,groups=N][,output=PxQ][,activation=relu]"
)


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution of one image in NCHW, with bias and activation.

    Attributes:
        c, h, w: channels, rows and columns of the input map.
        k: channels of the output map.
        r, s: rows and columns of a window.
        p, q: rows and columns of the output map.
        stride, dilation, padding: (rows, columns); padding is at the top and left. Below and to the
            right there are as many zeros as the last window reads.
        groups: parts that channels are divided into.
        activation: function of what is stored.

    Raises:
        ValueError: a number below 1, channels that groups do not divide, a padding as large as the
            window, too many MACs, or an unknown activation.
    """

    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    p: int
    q: int
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    groups: int = 1
    activation: str = ""

    def __post_init__(self) -> None:
        sizes = (self.c, self.h, self.w, self.k, self.r, self.s, self.p, self.q, self.groups)
        if min(*sizes, *self.stride, *self.dilation) < 1 or min(self.padding) < 0:
            raise ValueError(f"{self}: numbers must be 1 or more, padding 0 or more")
        if self.c % self.groups or self.k % self.groups:
            raise ValueError(f"{self}: {self.groups} groups must divide {self.c} and {self.k}")
        if self.padding[0] >= self.spread[0] or self.padding[1] >= self.spread[1]:
            raise ValueError(f"{self}: padding must be smaller than the window")
        if self.activation not in ACTIVATIONS:
            hint = did_you_mean(self.activation, ACTIVATIONS[1:])
            raise ValueError(f"activation {self.activation!r} is not known to kernels; {hint}")
        if self.macs > MOST_MACS:
            raise ValueError(f"{self}: {self.macs} MACs, must have at most {MOST_MACS}")

    @property
    def spread(self) -> tuple[int, int]:
        """Rows and columns from the first to the last value of a window."""
        return (self.r - 1) * self.dilation[0] + 1, (self.s - 1) * self.dilation[1] + 1

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns that windows read, padding included."""
        return (
            (self.p - 1) * self.stride[0] + self.spread[0],
            (self.q - 1) * self.stride[1] + self.spread[1],
        )

    @property
    def depthwise(self) -> bool:
        """Whether each output channel reads one input channel, of several."""
        return self.groups > 1 and self.c == self.groups

    @property
    def pointwise(self) -> bool:
        """Whether output pixels read the input pixel at their own place alone."""
        same = (self.p, self.q) == (self.h, self.w)
        return (self.r, self.s) == (1, 1) and self.stride == (1, 1) and same

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        """Shape of the weights: [K, C / groups, R, S]."""
        return self.k, self.c // self.groups, self.r, self.s

    @property
    def taps(self) -> int:
        """Products that one output value adds up."""
        return prod(self.weight_shape[1:])

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.k * self.p * self.q * self.taps

    def __str__(self) -> str:
        """Return the shape as it is written; :func:`read_shape` reads it."""
        text = f"{self.c}x{self.h}x{self.w}:{self.k}:{self.r}x{self.s}"
        for name in ("stride", "padding", "dilation"):
            rows, columns = getattr(self, name)
            usual = _same(self.r, self.s, self.dilation) if name == "padding" else (1, 1)
            if (rows, columns) != usual:
                text += f",{name}={rows}" + f"x{columns}" * (rows != columns)
        text += f",groups={self.groups}" * (self.groups > 1)
        if (self.p, self.q) != _output(self):
            text += f",output={self.p}x{self.q}"
        return text + f",activation={self.activation}" * bool(self.activation)


def _output(shape: "ConvShape") -> tuple[int, int]:
    """Return rows and columns of a result where both sides have the same padding."""
    (rows, columns), (top, left) = shape.spread, shape.padding
    return (
        (shape.h + 2 * top - rows) // shape.stride[0] + 1,
        (shape.w + 2 * left - columns) // shape.stride[1] + 1,
    )


def _same(r: int, s: int, dilation: tuple[int, int]) -> tuple[int, int]:
    return (r - 1) * dilation[0] // 2, (s - 1) * dilation[1] // 2


def read_shape(text: str) -> ConvShape:
    """Return the shape that a text such as ``64x32x32:64:3x3,stride=2`` means.

    Without ``padding`` a window's middle lies on the map's corner (half of the window).

    Raises:
        ValueError: the text is no such shape; all that is wrong.
    """
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"{text!r} is not a shape; write {SHAPE_FORM}, such as 64x32x32:64:3x3,stride=2"
        )
    c, h, w, k, r, s = map(int, found.groups()[:6])
    given: dict[str, str] = {}
    faults = []
    for part in found[7].split(",")[1:]:
        name, value = part.split("=")
        if name not in _OPTIONS:
            faults.append(f"{name} is not an option; {did_you_mean(name, _OPTIONS)}")
        elif name != "activation" and re.fullmatch(r"\d+(x\d+)?", value) is None:
            faults.append(
                f"{name} is {value!r}, must be one or two whole numbers, such as 2 or 1x2"
            )
        given[name] = value
    if faults:
        raise ValueError(f"{text!r}: {'; '.join(faults)}")

    def pair(name: str, usual: tuple[int, int]) -> tuple[int, int]:
        numbers = [int(n) for n in given[name].split("x")] if name in given else list(usual)
        return numbers[0], numbers[-1]

    dilation, stride = pair("dilation", (1, 1)), pair("stride", (1, 1))
    padding = pair("padding", _same(r, s, dilation))
    if min(*dilation, *stride, r, s) < 1:
        raise ValueError(f"{text!r}: window, stride and dilation must be 1 or more")
    groups = pair("groups", (1, 1))[0]
    try:
        shape = ConvShape(
            c, h, w, k, r, s, 1, 1, stride, dilation, padding, groups, given.get("activation", "")
        )
        p, q = pair("output", _output(shape))
        if min(p, q) < 1:
            raise ValueError("the window is larger than the map with its padding")
        return replace(shape, p=p, q=q)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def shape_of_layer(layer: Layer) -> ConvShape | Infeasible:
    """Return the convolution that a layer is; or why kernels of this machine do not compute it.

    A product with a matrix is one for a single row: a convolution of a map of one pixel.
    """
    matrix = layer.operator == "gemm"
    reasons = {
        "operator": layer.operator not in ("conv", "gemm"),
        "rows of a product": matrix and layer.p * layer.q > 1,
        "interleaved result": layer.interleave is not None,
        "input in slices": bool(layer.slices) and any(part is not None for part in layer.slices),
        "activation": layer.activation not in ACTIVATIONS,
        "size": layer.macs // layer.n > MOST_MACS,
    }
    if wrong := [name for name, is_so in reasons.items() if is_so]:
        about = layer.activation if wrong[0] == "activation" else layer.operator
        return Infeasible(
            "no_host_kernel",
            f"layer {layer.name}: {wrong[0]} ({about})",
            1,
            0,
            "",
            "no kernel of this machine computes it; it is left out, and other layers are measured",
        )
    return ConvShape(
        c=layer.input_channels,
        h=1 if matrix else layer.input_size[0],
        w=1 if matrix else layer.input_size[1],
        k=layer.output_channels,
        r=layer.r,
        s=layer.s,
        p=layer.p,
        q=layer.q,
        stride=layer.stride,
        dilation=layer.dilation,
        padding=layer.padding,
        groups=layer.g,
        activation=layer.activation,
    )
