"""Operations of each operator of the vector unit for one of its results.

Operations are weighted as the Livermore kernels weight them (McMahon, UCRL-53745, 1986): add,
subtract, multiply and compare 1, divide and square root 4, exponentials and the like 8. That the
lanes of a vector unit need as many steps is an assumption: units with tables for exponentials
need fewer.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Function = Literal[
    "relu",
    "relu6",
    "leaky_relu",
    "prelu",
    "elu",
    "sigmoid",
    "hardsigmoid",
    "hardswish",
    "softplus",
    "mish",
    "silu",
    "gelu",
    "tanh",
    "exp",
    "sqrt",
]
VectorName = (
    Literal["maxpool", "avgpool", "add", "mul", "div"]
    | Function
    | Literal["scale_shift", "softmax", "layer_norm", "rms_norm", "group_norm", "rotary"]
    | Literal["copy", "bilinear", "lstm_state", "lstm_output"]
    | Literal["gru_reset", "gru_output", "gru_output_reset_after"]
)


@dataclass(frozen=True, slots=True)
class VectorOperator:
    """Work and traffic of one operator.

    Attributes:
        operations: for each word taken in on the first pass; for one result if ``maps`` is given
            or words are gathered.
        operands: feature maps that it reads; None for any number.
        windowed: takes a window of each map rather than one word.
        passes: times that its input is read before the last result is known.
        writes: times that each result is written.
        learned: learned words for each channel.
        whole_vectors: no result is known before all channels of its vector were read.
        gathers: words of a result stand anywhere in its maps; so many make one result, 0 for
            operators that take a word of each map, or a window of it, where the result stands.
        maps: for each map (channels, channels read) for one channel of the result; empty for
            maps that have the channels of the result.
    """

    operations: int
    operands: int | None = 1
    windowed: bool = False
    passes: int = 1
    writes: int = 1
    learned: int = 0
    whole_vectors: bool = False
    gathers: int = 0
    maps: tuple[tuple[int, int], ...] = ()


_EXP: Final = 8
_TANH: Final = 8
_ERF: Final = 8
_DIVIDE: Final = 4
#: 1 / (1 + exp(-x)): negate, exponential, add, divide
_SIGMOID: Final = 1 + _EXP + 1 + _DIVIDE
#: ln(1 + exp(x)): exponential, add, logarithm
_SOFTPLUS: Final = _EXP + 1 + 8

VECTOR_OPERATORS: Final[dict[str, VectorOperator]] = {
    # one operation takes in one word; the division of a mean is left out (ours)
    "maxpool": VectorOperator(1, windowed=True),
    "avgpool": VectorOperator(1, windowed=True),
    "add": VectorOperator(1, operands=None),
    "mul": VectorOperator(1, operands=None),
    # one division takes in two words
    "div": VectorOperator(_DIVIDE // 2, operands=2),
    # max(x, 0); min(max(x, 0), 6)
    "relu": VectorOperator(1),
    "relu6": VectorOperator(2),
    # x or a * x, with one learned slope for each channel (prelu) or none; a * (exp(x) - 1)
    "leaky_relu": VectorOperator(2),
    "prelu": VectorOperator(2, learned=1),
    "elu": VectorOperator(_EXP + 3),
    "sigmoid": VectorOperator(_SIGMOID),
    # min(max(x + 3, 0), 6) / 6, and x times that (Howard et al., ICCV 2019, section 5.2)
    "hardsigmoid": VectorOperator(4),
    "hardswish": VectorOperator(5),
    "softplus": VectorOperator(_SOFTPLUS),
    # x * tanh(softplus(x)) (Misra, BMVC 2020)
    "mish": VectorOperator(_SOFTPLUS + _TANH + 1),
    # x * sigmoid(x) (Ramachandran et al., 2017)
    "silu": VectorOperator(_SIGMOID + 1),
    # x / 2 * (1 + erf(x / sqrt(2))): three products and a sum (Hendrycks and Gimpel, 2016)
    "gelu": VectorOperator(_ERF + 4),
    "tanh": VectorOperator(_TANH),
    "exp": VectorOperator(_EXP),
    "sqrt": VectorOperator(4),
    # a batch norm that no layer before it takes up: scale and shift of each channel
    "scale_shift": VectorOperator(2, learned=2),
    # maximum; subtract, exponential, add; multiply by the inverse sum: the three passes of the
    # safe softmax (Milakov and Gimelshein, arXiv:1805.02867, algorithm 2). The second leaves the
    # exponentials where the results go, so that the third need not repeat them (ours). The one
    # division of a vector is left out (ours).
    "softmax": VectorOperator(1 + (1 + _EXP + 1) + 1, passes=3, writes=2, whole_vectors=True),
    # mean and variance in one pass, six operations (Welford, Technometrics 1962; inverses of the
    # counts are known); subtract the mean, divide by the deviation (one product), scale, shift
    "layer_norm": VectorOperator(6 + 4, passes=2, learned=2, whole_vectors=True),
    # mean of squares (two operations); multiply by the inverse root, scale (Zhang and Sennrich,
    # NeurIPS 2019, equation 4)
    "rms_norm": VectorOperator(2 + 2, passes=2, learned=1, whole_vectors=True),
    # a layer norm over all channels and positions of a group (Wu and He, ECCV 2018); its few
    # learned values are parameters of which no traffic is counted (ours)
    "group_norm": VectorOperator(6 + 4, passes=2, whole_vectors=True),
    # x * cos + turned(x) * sin, sines and cosines at hand (Su et al., arXiv:2104.09864, eq. 34)
    "rotary": VectorOperator(3),
    # one word moved
    "copy": VectorOperator(1, operands=None, gathers=1),
    # interpolation along rows twice, then along columns: two products and a sum each
    "bilinear": VectorOperator(9, gathers=4),
    # Hochreiter and Schmidhuber 1997 with forget gates (Gers et al. 2000):
    # c' = sigmoid(f) * c + sigmoid(i) * tanh(g) reads three of four gates;
    # h = sigmoid(o) * tanh(c') reads the fourth
    "lstm_state": VectorOperator(2 * _SIGMOID + _TANH + 3, operands=2, maps=((4, 3), (1, 1))),
    "lstm_output": VectorOperator(_SIGMOID + _TANH + 1, operands=2, maps=((4, 1), (1, 1))),
    # Cho et al., arXiv:1406.1078, equations 5 to 8, of gates r, z and a candidate:
    # sigmoid(r) * h reads one of two gates;
    # h' = n + sigmoid(z) * (h - n) with n = tanh(candidate) reads the other
    "gru_reset": VectorOperator(_SIGMOID + 1, operands=2, maps=((2, 1), (1, 1))),
    "gru_output": VectorOperator(_SIGMOID + _TANH + 3, operands=3, maps=((2, 1), (1, 1), (1, 1))),
    # the same with n = tanh(fresh + sigmoid(r) * kept), as in cuDNN and PyTorch
    "gru_output_reset_after": VectorOperator(
        2 * _SIGMOID + _TANH + 5, operands=4, maps=((2, 2), (1, 1), (1, 1), (1, 1))
    ),
}
"""Every operator that runs on the vector unit."""

#: functions that a layer may apply to values as they leave the array
ACTIVATIONS: Final[tuple[str, ...]] = get_args(Function)
