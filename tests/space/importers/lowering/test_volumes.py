"""Convolutions and pools along depth: work and weights of PyTorch's, the frames that they read."""

from __future__ import annotations

from math import prod

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.torch.reader import network_of
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

ROWS = st.sampled_from([4, 5, 6])


def lowered(model: nn.Module, x: torch.Tensor) -> Network:
    return network_of(torch.export.export(model.eval(), (x,)), "volume")


def multiplied(model: nn.Module, x: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        model(x)
    return int(counter.get_total_flops()) // 2


def frames_of(layer: Layer, depth: int, rows: int) -> set[int]:
    """Frames of a map of D x H rows that a layer reads."""
    found: set[int] = set()
    for operand in range(layer.operands):
        box = layer.slice_of(operand)
        first, count = (box.start[1], box.size[1]) if box else (0, depth * rows)
        assert first % rows == count % rows == 0
        found |= set(range(first // rows, (first + count) // rows))
    return found


def needed(model: nn.Module, x: torch.Tensor) -> list[set[int]]:
    """Frames that each frame of a result depends on, by PyTorch's gradients."""
    x = x.clone().requires_grad_()
    y = model(x)
    found = []
    for o in range(y.shape[2]):
        (grown,) = torch.autograd.grad(y[:, :, o].sum(), x, retain_graph=True)
        found.append({i for i in range(x.shape[2]) if bool(grown[:, :, i].any())})
    return found


def positive(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.uniform_(0.5, 1.5)
    return model


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_convolutions_are_those_of_torch(data: st.DataObject) -> None:
    pick = data.draw
    depth, rows, columns = pick(st.integers(1, 6)), pick(ROWS), pick(st.integers(3, 5))
    kernel = tuple(pick(st.integers(1, 3)) for _ in range(3))
    stride = tuple(pick(st.integers(1, 2)) for _ in range(3))
    dilation = (pick(st.integers(1, 2)), 1, 1)
    padding = tuple(
        pick(st.integers(0, (k - 1) * d)) for k, d in zip(kernel, dilation, strict=True)
    )
    reach = (kernel[0] - 1) * dilation[0] + 1
    assume(depth + 2 * padding[0] >= reach)
    groups = pick(st.sampled_from([1, 2]))
    model = positive(nn.Conv3d(4, 6, kernel, stride, padding, dilation, groups))
    x = torch.ones(pick(st.integers(1, 2)), 4, depth, rows, columns)
    made = lowered(model, x)
    assert made.params == sum(p.numel() for p in model.parameters())
    assert made.macs == multiplied(model, x)
    layers = [layer for layer in made.layers if layer.operator == "conv"]
    assert sum(layer.k * layer.g * layer.p * layer.q for layer in layers) == model(x[:1]).numel()
    if kernel[1:] == stride[1:] == (1, 1):
        (layer,) = layers
        window = (layer.r, layer.stride[0], layer.dilation[0], layer.padding[0], layer.s)
        assert (layer.input_size, layer.q) == ((depth, rows * columns), rows * columns)
        if layer.operator == "conv" and len(made.layers) == 1:
            assert window == (kernel[0], stride[0], dilation[0], padding[0], 1)
        return
    wanted = needed(model, x)
    if len(layers) == 1 < len(wanted):
        assert frames_of(layers[0], depth, rows) >= set().union(*wanted)
        # each tap reads as many frames as there are results, of channels of its own
        assert layers[0].input_words == prod((len(x), 4, kernel[0], len(wanted), rows, columns))
        return
    for layer, frames in zip(layers, wanted, strict=True):
        assert frames_of(layer, depth, rows) >= frames
        assert layer.input_words == prod((len(x), 4, kernel[0], rows, columns))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_transposed_convolutions_are_those_of_torch(data: st.DataObject) -> None:
    pick = data.draw
    depth, rows, taps = pick(st.integers(1, 4)), pick(st.integers(2, 4)), pick(st.integers(1, 4))
    step = pick(st.integers(1, taps))
    start = pick(st.integers(0, taps - 1))
    kernel, stride = pick(st.sampled_from([(2, 2), (3, 1), (3, 2)]))
    more = pick(st.integers(0, step - 1))
    assume((depth - 1) * step - 2 * start + taps + more > 0)
    model = positive(
        nn.ConvTranspose3d(
            4, 6, (taps, kernel, kernel), (step, stride, stride), (start, 0, 0), (more, 0, 0), 2
        )
    )
    x = torch.ones(1, 4, depth, rows, rows)
    made = lowered(model, x)
    y = model(x)
    assert sum(prod(layer.map_shape) for layer in made.layers) == y.numel()
    assert made.params == sum(p.numel() for p in model.parameters())
    # every tap of every position that is left, zeros around the map among them
    pairs = sum((o + start - t) % step == 0 for o in range(y.shape[2]) for t in range(taps))
    side = sum((o - j) % stride == 0 for o in range(y.shape[3]) for j in range(kernel))
    assert sum(layer.useful_macs for layer in made.layers) == pairs * side**2 * 4 * 6 // 2
    if len(made.layers) == y.shape[2] > 1:
        for layer, frames in zip(made.layers, needed(model, x), strict=True):
            assert frames_of(layer, depth, rows) >= frames


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("rows", [6, 7])
def test_a_pool_is_one_inside_frames_and_one_along_depth(kind: str, rows: int) -> None:
    window = {"kernel_size": (3, 2, 2), "stride": (1, 2, 2), "padding": (1, 0, 0)}
    model = {"max": nn.MaxPool3d, "avg": nn.AvgPool3d}[kind](**window)
    # in doubles: means of means differ in the last digits, which are all that a mean near zero has
    random = torch.Generator().manual_seed(rows)
    x = torch.randn(1, 2, 5, rows, 6, generator=random, dtype=torch.float64)
    layers = lowered(model, x).layers
    first, last = layers[0], layers[-1]
    flat = {"max": functional.max_pool2d, "avg": functional.avg_pool2d}[kind]
    y = flat(x[0].transpose(0, 1), (first.r, first.s), first.stride)
    y = flat(y.flatten(2).permute(1, 0, 2), (last.r, last.s), last.stride, last.padding)
    assert torch.allclose(y, model(x)[0].flatten(2))
    assert {layer.operator for layer in layers} <= {f"{kind}pool", "copy"}
    pooled = [layer for layer in layers[:-1] if layer.operator != "copy"]
    assert sum(layer.output_words for layer in pooled) == 2 * 5 * (rows // 2) * 3


def test_what_holds_a_map_apart_is_folded_into_each_frame() -> None:
    model = nn.Sequential(nn.Conv3d(2, 4, 3, 2, 1, bias=False), nn.BatchNorm3d(4), nn.ReLU())
    layers = lowered(model, torch.ones(1, 2, 6, 6, 6)).layers
    assert [(layer.operator, layer.activation) for layer in layers] == [("conv", "relu")] * 3
    assert [layer.params for layer in layers] == [4 * 2 * 27 + 8, 0, 0]
    assert {layer.weights_of for layer in layers[1:]} == {layers[0].name}


def test_norms_and_enlarged_maps_of_volumes() -> None:
    model = nn.Sequential(nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2), nn.Conv3d(4, 2, 1))
    norm, copy, conv = lowered(model, torch.ones(1, 4, 3, 4, 5)).layers
    assert (norm.operator, norm.output_words) == ("group_norm", 4 * 3 * 4 * 5)
    assert (copy.operator, copy.output_words, conv.macs) == ("copy", 4 * 480, 4 * 2 * 480)
    smooth = nn.Upsample(scale_factor=2, mode="trilinear")
    with pytest.raises(ImportProblem, match="interpolates along depth, rows and columns"):
        lowered(smooth, torch.ones(1, 4, 3, 4, 5))


def test_frames_that_no_tap_reaches_are_told() -> None:
    model = nn.ConvTranspose3d(4, 2, 1, 2)
    with pytest.raises(ImportProblem, match="some of its frames are zero"):
        lowered(model, torch.ones(1, 4, 3, 3, 3))


@pytest.mark.parametrize(("rows", "columns", "padding"), [(6, 6, 1), (6, 5, 1), (6, 5, 0)])
def test_tiles_of_a_result_do_not_miss_frames_of_neighbours(
    rows: int, columns: int, padding: int
) -> None:
    """With zeros at the ends of depth, taps read boxes of other frames than those of the result.

    So no layer may read what another makes in the shape that it has, tile by tile.
    """
    pads = (padding, 1, 1)
    model = nn.Sequential(nn.Conv3d(2, 4, 3, 1, pads), nn.ReLU(), nn.Conv3d(4, 2, 3, 1, pads))
    made = lowered(model, torch.ones(1, 2, 7, rows, columns))
    first, second = made.layers
    assert made.reads[1] == (first.name,) * 3
    starts = [box.start[1] // rows if (box := second.slice_of(i)) else 0 for i in range(3)]
    if padding:
        assert second.input_size != made.map_shape(first.name)[1:]
    else:
        assert starts == [0, 1, 2]
