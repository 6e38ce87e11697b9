"""What each operator on the vector unit does for one of its results.

Operations are weighted as the Livermore kernels weight them (McMahon, UCRL-53745, 1986): add,
subtract, multiply and compare 1, divide and square root 4, exponentials and the like 8. That the
lanes of a vector unit need as many steps is an assumption: units with tables for exponentials
need fewer.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Function = Literal["relu", "relu6", "sigmoid", "silu", "gelu", "tanh"]
VectorName = (
    Literal["maxpool", "avgpool", "add", "mul"]
    | Function
    | Literal["softmax", "layer_norm", "lstm_state", "lstm_output"]
)


@dataclass(frozen=True, slots=True)
class VectorOperator:
    """Work and traffic of one operator.

    Attributes:
        operations: for each word taken in on the first pass; for one result if ``maps`` is given.
        operands: maps that it reads; None for any number.
        windowed: takes a window of each map rather than one word.
        passes: times that its input is read before the last result is known.
        writes: times that each result is written.
        learned: learned words for each channel.
        whole_vectors: no result is known before all channels of its vector were read.
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
    maps: tuple[tuple[int, int], ...] = ()


_EXP: Final = 8
_TANH: Final = 8
_ERF: Final = 8
_DIVIDE: Final = 4
#: 1 / (1 + exp(-x)): negate, exponential, add, divide
_SIGMOID: Final = 1 + _EXP + 1 + _DIVIDE

VECTOR_OPERATORS: Final[dict[str, VectorOperator]] = {
    # one operation takes in one word; the division of a mean is left out (ours)
    "maxpool": VectorOperator(1, windowed=True),
    "avgpool": VectorOperator(1, windowed=True),
    "add": VectorOperator(1, operands=None),
    "mul": VectorOperator(1, operands=None),
    # max(x, 0); min(max(x, 0), 6)
    "relu": VectorOperator(1),
    "relu6": VectorOperator(2),
    "sigmoid": VectorOperator(_SIGMOID),
    # x * sigmoid(x) (Ramachandran et al., 2017)
    "silu": VectorOperator(_SIGMOID + 1),
    # x / 2 * (1 + erf(x / sqrt(2))): three products and a sum (Hendrycks and Gimpel, 2016)
    "gelu": VectorOperator(_ERF + 4),
    "tanh": VectorOperator(_TANH),
    # maximum; subtract, exponential, add; multiply by the inverse sum: the three passes of the
    # safe softmax (Milakov and Gimelshein, arXiv:1805.02867, algorithm 2). The second leaves the
    # exponentials where the results go, so that the third need not repeat them (ours). The one
    # division of a vector is left out (ours).
    "softmax": VectorOperator(1 + (1 + _EXP + 1) + 1, passes=3, writes=2, whole_vectors=True),
    # mean and variance in one pass, six operations (Welford, Technometrics 1962; inverses of the
    # counts are known); subtract the mean, divide by the deviation (one product), scale, shift
    "layer_norm": VectorOperator(6 + 4, passes=2, learned=2, whole_vectors=True),
    # Hochreiter and Schmidhuber 1997 with forget gates (Gers et al. 2000):
    # c' = sigmoid(f) * c + sigmoid(i) * tanh(g) reads three of four gates;
    # h = sigmoid(o) * tanh(c') reads the fourth
    "lstm_state": VectorOperator(2 * _SIGMOID + _TANH + 3, operands=2, maps=((4, 3), (1, 1))),
    "lstm_output": VectorOperator(_SIGMOID + _TANH + 1, operands=2, maps=((4, 1), (1, 1))),
}
"""Every operator that runs on the vector unit."""

#: functions that a layer may apply to values as they leave the array
ACTIVATIONS: Final[tuple[str, ...]] = get_args(Function)
