"""Models in integers after training: what convolutions and linear layers multiply has few bits.

Weights are rounded once, the map that a layer reads as it reads it, with one grid for the whole
map. Products are summed in integers, the bias is one of them (32 bits, scale of the map times scale
of the weights: Jacob et al., CVPR 2018, section 2.4; 64 bits where operands have more than 8). The
sum becomes a float32 again, and sums of maps, pools, activations and norms that no convolution
takes up are float32.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from archloom.evaluators.accuracy.data import Images

from ..figures import weighted
from .folding import folded
from .rounding import MOST_BITS, Grid, quantized, quantized_weights

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule, Node

# TVM's quantisation without data, which DLAS uses, takes this range for every map (global_scale of
# 8.0 in TVM's "Deploy a Quantized Model" guide)
UNCALIBRATED: Final = (-8.0, 8.0)

#: images that ranges are taken from, evenly spaced among those to train on. Assumption: enough, for
#: minimum and maximum over more of them change little
CALIBRATION_IMAGES: Final = 256

Ranges = Mapping[str, tuple[float, float]]


def integer_sums(
    x: "Tensor",
    weight: "Tensor",
    bias: "Tensor",
    scale: "Tensor",
    input_scale: "Tensor",
    input_zero: "Tensor",
    window: tuple[Any, ...] | None,
    map_bits: int,
) -> "Tensor":
    """Return what a convolution or linear layer makes of a map in integers, as float32.

    Args:
        x: float32 map.
        weight: integers.
        bias: integers, a value for each output channel.
        scale: float32, of the weights of each output channel.
        input_scale, input_zero: grid of the map, a number each.
        window: stride, padding, dilation, groups; None for a linear layer.
        map_bits: bits of an integer of the map.
    """
    import torch

    functional, grid = torch.nn.functional, Grid(float(input_scale), int(input_zero), map_bits)
    # whole numbers below 2**53 are exact in float64, and so are their sums in any order
    integers = quantized(x, grid).double() - grid.zero
    if window is None:
        sums = functional.linear(integers, weight.double())
        shape: tuple[int, ...] = (1, -1)
    else:
        sums = functional.conv2d(integers, weight.double(), None, *window)
        shape = (1, -1, 1, 1)
    whole = sums + bias.double().view(shape)
    return (whole * (scale.double() * grid.scale).view(shape)).float()


def map_ranges(model: "GraphModule", pixels: "Tensor") -> Ranges:
    """Return the smallest and largest value of each map that a layer reads, over some images.

    That is calibration by the minimum and maximum (Krishnamoorthi, arXiv:1806.08342, section 2.5).

    Args:
        model: batch norms are folded before.
        pixels: float32 images.
    """
    import torch
    from torch.fx import Interpreter

    ranges: dict[str, tuple[float, float]] = {}

    class Recorder(Interpreter):
        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target in names:
                ranges[target] = (float(args[0].min()), float(args[0].max()))
            return super().call_module(target, args, kwargs)

    plain = folded(model)
    names = {str(node.target) for node, _ in weighted(plain)}
    with torch.no_grad():
        Recorder(plain).run(pixels)
    return ranges


def calibrated_ranges(model: "GraphModule", images: Images) -> Ranges:
    """Return :func:`map_ranges` over :data:`CALIBRATION_IMAGES` of the images to train on."""
    import torch

    count = len(images.labels)
    chosen = np.linspace(0, count - 1, min(count, CALIBRATION_IMAGES)).astype(np.int64)
    return map_ranges(model, torch.from_numpy(images.batch(chosen)))


def to_integers(
    model: "GraphModule",
    ranges: Ranges | None = None,
    per_channel: bool = True,
    weight_bits: int = 8,
    map_bits: int = 8,
) -> "GraphModule":
    """Return a copy in evaluation mode that multiplies integers; batch norms are folded before.

    Args:
        model: as trained.
        ranges: of :func:`map_ranges`; without calibration that of TVM for every map.
        per_channel: whether each output channel of the weights has a scale, or the whole tensor.
        weight_bits, map_bits: of an integer, from 2 to 16.

    Raises:
        ValueError: other bits.
    """
    for bits in (weight_bits, map_bits):
        if not 2 <= bits <= MOST_BITS:
            raise ValueError(f"integers must have 2 to {MOST_BITS} bits, got {bits}")
    copy = folded(model)
    for node, part in list(weighted(copy)):
        name = str(node.target)
        low, high = UNCALIBRATED if ranges is None else ranges[name]
        grid = Grid.of_range(low, high, map_bits)
        _replace(
            copy,
            node,
            part,
            grid,
            quantized_weights(part.weight.detach(), per_channel, weight_bits),
        )
    copy.recompile()
    return copy


def _replace(
    model: "GraphModule",
    node: "Node",
    part: Any,
    grid: Grid,
    weights: "tuple[Tensor, Tensor]",
) -> None:
    """Put integers in the place of one layer: ``weights`` with the scales of their channels."""
    import torch
    from torch import nn

    weight, scale = weights
    wide = torch.int32 if weight.dtype == torch.int8 and grid.bits <= 8 else torch.int64
    bias = torch.zeros(len(weight)) if part.bias is None else part.bias.detach()
    step = scale.double() * grid.scale
    limit = torch.iinfo(wide).max if wide == torch.int32 else 2**52
    integers = nn.Module()
    integers.register_buffer("weight", weight)
    whole = torch.round(bias.double() / step).clamp(-limit, limit)
    integers.register_buffer("bias", whole.to(wide))
    integers.register_buffer("scale", scale)
    integers.register_buffer("input_scale", torch.tensor(grid.scale, dtype=torch.float64))
    integers.register_buffer("input_zero", torch.tensor(grid.zero, dtype=torch.int32))
    names = [name for name, _ in integers.named_buffers()]
    name = str(node.target)
    model.set_submodule(name, integers)
    window = (
        (part.stride, part.padding, part.dilation, part.groups)
        if isinstance(part, nn.Conv2d)
        else None
    )
    with model.graph.inserting_before(node):
        held = [model.graph.get_attr(f"{name}.{kind}") for kind in names]
        made = model.graph.call_function(integer_sums, (node.args[0], *held, window, grid.bits))
    node.replace_all_uses_with(made)
    model.graph.erase_node(node)
