"""Loop dimensions and tensors that every layer is described with.

A layer is one loop nest over eight dimensions (batch N, groups G, output channels K and
input channels C of one group, output rows P and columns Q, kernel rows R and columns S)
and three tensors. Arrays over dimensions or tensors use the orders fixed here.
"""

from typing import Final, Literal

Dim = Literal["N", "G", "K", "C", "P", "Q", "R", "S"]
Tensor = Literal["weights", "inputs", "outputs"]

DIMS: Final[tuple[Dim, ...]] = ("N", "G", "K", "C", "P", "Q", "R", "S")
TENSORS: Final[tuple[Tensor, ...]] = ("weights", "inputs", "outputs")
N, G, K, C, P, Q, R, S = range(8)
WEIGHTS, INPUTS, OUTPUTS = range(3)

_RELEVANT: Final[dict[Tensor, str]] = {
    "weights": "GKCRS",
    "inputs": "NGCPQRS",
    "outputs": "NGKPQ",
}

#: [3][8]: does the tensor's index depend on the dimension? No array: numpy takes longer to import
#: than most commands take
RELEVANT: Final[tuple[tuple[bool, ...], ...]] = tuple(
    tuple(d in _RELEVANT[t] for d in DIMS) for t in TENSORS
)
