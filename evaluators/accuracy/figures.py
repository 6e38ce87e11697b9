"""Figures of a model: parameters, multiply-accumulates, and bytes that it takes to store it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule, Node

Shapes = Mapping[Any, tuple[int, ...]]

#: bytes of a column or a row position of CSR
_INDEX: Final = 4


@dataclass(frozen=True)
class Figures:
    """What a model takes.

    Attributes:
        params: learned parameters.
        nonzero_params: those that are not zero.
        macs: multiply-accumulates of convolutions and linear layers for one image.
        nonzero_macs: those whose weight is not zero.
    """

    params: int
    nonzero_params: int
    macs: int
    nonzero_macs: int


def map_shapes(model: "GraphModule", image: tuple[int, int, int]) -> Shapes:
    """Return the shape of the result of each node, for one image; the model stays as it is."""
    import torch
    from torch.fx import Interpreter

    shapes: dict[Node, tuple[int, ...]] = {}

    class Recorder(Interpreter):
        def run_node(self, n: "Node") -> Any:
            result = super().run_node(n)
            if isinstance(result, torch.Tensor):
                shapes[n] = tuple(result.shape)
            return result

    trained = model.training
    model.eval()
    with torch.no_grad():
        kind = next(model.parameters()).dtype
        Recorder(model).run(torch.zeros(1, *image, dtype=kind))
    model.train(trained)
    return shapes


def figures_of(model: "GraphModule", image: tuple[int, int, int]) -> Figures:
    """Return the figures of a model for images of this shape."""
    shapes = map_shapes(model, image)
    macs = nonzero = 0
    for node, part in weighted(model):
        positions = 1
        for side in shapes[node][2:]:
            positions *= side
        macs += part.weight.numel() * positions
        nonzero += int(part.weight.count_nonzero()) * positions
    parameters = [p.detach() for p in model.parameters()]
    return Figures(
        sum(p.numel() for p in parameters),
        sum(int(p.count_nonzero()) for p in parameters),
        macs,
        nonzero,
    )


def weighted(model: "GraphModule") -> "Iterator[tuple[Node, Any]]":
    """Yield the nodes that are convolutions and linear layers, each with its module."""
    from torch import nn

    for node in model.graph.nodes:
        if node.op == "call_module":
            part = model.get_submodule(str(node.target))
            if isinstance(part, nn.Conv2d | nn.Linear):
                yield node, part


def stored_bytes(state: "Mapping[str, Tensor]", integer_bits: int = 8) -> int:
    """Return the bytes of the tensors of a ``state_dict``, each in its own type.

    Values of int8 tensors take ``integer_bits``, packed without gaps.

    A weight matrix with zeros is stored as CSR where that is smaller: a value and a 4-byte column
    for each weight that is not zero, and a 4-byte position for each row and the end. That is the
    form of DLAS (Gibson et al., ACM TACO 2024, section 3.4), of a matrix with a row for each
    filter.
    """
    import torch

    total = 0
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked"):
            continue  # only training reads it
        bits = integer_bits if tensor.dtype == torch.int8 else 8 * tensor.element_size()
        dense = -(-tensor.numel() * bits // 8)
        if tensor.dim() > 1:
            nonzero = int(tensor.count_nonzero())
            sparse = -(-nonzero * bits // 8) + _INDEX * (nonzero + len(tensor) + 1)
            dense = min(dense, sparse)
        total += dense
    return total
