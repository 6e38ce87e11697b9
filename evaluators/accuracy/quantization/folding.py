"""Folding of batch norms into the convolutions before them, as for inference."""

from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.fx import GraphModule


def folded(model: "GraphModule") -> "GraphModule":
    """Return a copy in evaluation mode whose convolutions have taken up the batch norms after them.

    A batch norm that follows anything else stays (Jacob et al., CVPR 2018, section 3.2, equation
    14).
    """
    import torch
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    copy = deepcopy(model).eval()
    parts = dict(copy.named_modules())
    for node in list(copy.graph.nodes):
        if node.op != "call_module" or not isinstance(parts[str(node.target)], nn.BatchNorm2d):
            continue
        (source,) = node.all_input_nodes
        part = parts.get(str(source.target)) if source.op == "call_module" else None
        if not isinstance(part, nn.Conv2d) or len(source.users) > 1:
            continue
        copy.set_submodule(str(source.target), fuse_conv_bn_eval(part, parts[str(node.target)]))
        node.replace_all_uses_with(source)
        copy.graph.erase_node(node)
        copy.delete_submodule(str(node.target))
    return torch.fx.GraphModule(copy, copy.graph)
