"""Models in float16: every parameter and every feature map is rounded to it.

Rounding is that of IEEE 754-2019, section 4.3.1: to the nearest, ties to even; above 65,504 to
infinity. Sums inside one operator are float32, as on machines that multiply float16 and accumulate
float32.
"""

from typing import TYPE_CHECKING

from .folding import folded

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule


def rounded_to_half(values: "Tensor") -> "Tensor":
    """Return the nearest float16 of each value, as float32."""
    return values.half().float()


def to_float16(model: "GraphModule") -> "GraphModule":
    """Return a copy in evaluation mode whose parameters and maps are float16 values.

    Batch norms are folded before. Tensors stay float32, so that it runs everywhere;
    :func:`half_state` is what is stored.
    """
    import torch

    copy = folded(model)
    with torch.no_grad():
        for tensor in (*copy.parameters(), *copy.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(rounded_to_half(tensor))
    for node in list(copy.graph.nodes):
        if node.op != "output":
            with copy.graph.inserting_after(node):
                rounded = copy.graph.call_function(rounded_to_half, (node,))
            node.replace_all_uses_with(rounded, lambda user, made=rounded: user is not made)
    copy.recompile()
    return copy


def half_state(model: "GraphModule") -> "dict[str, Tensor]":
    """Return the parameters of :func:`to_float16` as float16, which loses nothing."""
    state: dict[str, Tensor] = model.state_dict()
    return {name: v.half() if v.is_floating_point() else v for name, v in state.items()}
