"""Rounded models against plain numpy, integer by integer."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn
from torch.fx import symbolic_trace

from archloom.evaluators.accuracy import stored_bytes
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.quantization import (
    folded,
    half_state,
    map_ranges,
    to_float16,
    to_integers,
)
from archloom.evaluators.accuracy.quantization.rounding import Grid, quantized

Array = np.ndarray[Any, np.dtype[Any]]


def small(stride: int, groups: int, bias: bool) -> Any:
    torch.manual_seed(0)
    parts = [
        nn.Conv2d(4, 6, 3, stride, 1, groups=groups, bias=bias),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(6 * (6 // stride) ** 2, 5),
    ]
    model = nn.Sequential(*parts)
    model[1].running_mean.normal_(0, 0.3)
    model[1].running_var.uniform_(0.5, 2)
    model[1].weight.data.uniform_(0.5, 2)
    return symbolic_trace(model.eval())


def convolved(x: Array, weight: Array, stride: int, groups: int) -> Array:
    """Integers of a padded convolution, by loops."""
    count, channels, rows, columns = x.shape
    filters, each, side, _ = weight.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((count, filters, rows // stride, columns // stride), np.int64)
    for f in range(filters):
        first = f // (filters // groups) * (channels // groups)
        for r in range(side):
            for s in range(side):
                window = padded[
                    :,
                    first : first + each,
                    r : r + stride * (rows // stride) : stride,
                    s : s + stride * (columns // stride) : stride,
                ]
                out[:, f] += np.einsum("ncpq,c->npq", window, weight[f, :, r, s])
    return out


def integer_reference(
    x: Array, layer: Any, low: float, high: float, per_channel: bool, bits: tuple[int, int] = (8, 8)
) -> Array:
    """Jacob et al. (CVPR 2018) in integers: the int32 sums, and what they stand for."""
    weight = layer.weight.detach().numpy()
    low, high = min(low, 0.0), max(high, 0.0)
    most, half = 2 ** (bits[0] - 1) - 1, 2 ** (bits[1] - 1)
    scale = (high - low) / (2 * half - 1)
    zero = int(np.clip(round(-half - low / scale), -half, half - 1))
    q = np.clip(np.rint(x / np.float32(scale)) + zero, -half, half - 1).astype(np.int64) - zero
    largest = np.abs(weight).reshape(len(weight), -1).max(1)
    if not per_channel:
        largest = np.full_like(largest, largest.max())
    step = (largest / np.float32(most)).astype(np.float32)
    shape = (-1,) + (1,) * (weight.ndim - 1)
    w = np.clip(np.rint(weight / step.reshape(shape)), -most, most).astype(np.int64)
    sums = convolved(q, w, layer.stride[0], layer.groups) if weight.ndim == 4 else q @ w.T
    both = step.astype(np.float64) * scale
    bias = np.zeros(len(w)) if layer.bias is None else layer.bias.detach().numpy()
    out_shape = (1, -1, 1, 1)[: sums.ndim]
    whole = sums + np.rint(bias.astype(np.float64) / both).astype(np.int64).reshape(out_shape)
    assert np.abs(whole).max() < (2**31 if max(bits) <= 8 else 2**48)
    return (whole * both.reshape(out_shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("stride", "groups", "bias"), [(1, 1, True), (2, 1, False), (1, 2, True), (2, 2, False)]
)
@pytest.mark.parametrize("calibrated", [True, False])
def test_int8_is_integer_arithmetic(stride: int, groups: int, bias: bool, calibrated: bool) -> None:
    model = small(stride, groups, bias)
    images = torch.randn(3, 4, 6, 6, generator=torch.Generator().manual_seed(1)) * 3
    ranges = map_ranges(model, images) if calibrated else None
    rounded = to_integers(model, ranges, per_channel=calibrated)
    plain = folded(model)
    conv, linear = plain.get_submodule("0"), plain.get_submodule("4")
    low, high = (float(images.min()), float(images.max())) if calibrated else (-8.0, 8.0)
    hidden = integer_reference(images.numpy(), conv, low, high, calibrated)
    hidden = np.maximum(hidden, 0).reshape(3, -1)
    if ranges is not None:
        assert ranges["0"] == (low, high)
        low, high = ranges["4"]
    expected = integer_reference(hidden, linear, low, high, calibrated)
    assert (rounded(images).numpy() == expected).all()


@pytest.mark.parametrize("bits", [(4, 4), (4, 8), (2, 16), (16, 16), (8, 3)])
def test_integers_of_other_widths_are_integer_arithmetic(bits: tuple[int, int]) -> None:
    model = small(1, 2, True)
    images = torch.randn(3, 4, 6, 6, generator=torch.Generator().manual_seed(1)) * 3
    ranges = map_ranges(model, images)
    rounded = to_integers(model, ranges, True, *bits)
    plain = folded(model)
    hidden = integer_reference(images.numpy(), plain.get_submodule("0"), *ranges["0"], True, bits)
    hidden = np.maximum(hidden, 0).reshape(3, -1)
    linear = plain.get_submodule("4")
    expected = integer_reference(hidden, linear, *ranges["4"], True, bits)
    assert (rounded(images).numpy() == expected).all()
    # a weight of 4 bits takes half a byte
    state = {name: v for name, v in rounded.state_dict().items() if name == "0.weight"}
    if bits[0] <= 8:
        assert stored_bytes(state, bits[0]) == -(-state["0.weight"].numel() * bits[0] // 8)


@pytest.mark.parametrize("bits", [1, 17])
def test_other_widths_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match=f"2 to 16 bits, got {bits}"):
        to_integers(small(1, 1, True), None, True, 8, bits)


@given(
    low=st.floats(-100, 100, width=32),
    span=st.floats(0, 200, width=32),
    seed=st.integers(0, 99),
    bits=st.integers(2, 16),
)
def test_a_grid_holds_zero_and_rounds_to_the_nearest(
    low: float, span: float, seed: int, bits: int
) -> None:
    grid = Grid.of_range(low, low + span, bits)
    values = np.random.default_rng(seed).uniform(min(low, 0), max(low + span, 0), 50)
    tensor = torch.from_numpy(values)
    integers = quantized(tensor, grid).numpy()
    assert quantized(torch.zeros(1), grid).item() == grid.zero
    assert integers.min() >= -(2 ** (bits - 1))
    assert integers.max() < 2 ** (bits - 1)
    # the zero point is rounded too, so that an end may lie half a step outside
    assert np.abs((integers - grid.zero) * grid.scale - values).max() <= grid.scale * 1.0001


def test_int8_keeps_its_weights_in_a_byte_and_reads_them_again() -> None:
    model = build_model("densenet161", (1, 8, 8), 10, width=0.125).eval()
    images = torch.randn(4, 1, 8, 8)
    rounded = to_integers(model, map_ranges(model, images))
    state = rounded.state_dict()
    assert state["features.conv0.weight"].dtype == torch.int8
    assert state["features.conv0.bias"].dtype == torch.int32
    dense = folded(model).state_dict()
    assert 0.25 < stored_bytes(state) / stored_bytes(dense) < 0.4
    again = to_integers(model)
    again.load_state_dict(state)
    assert torch.equal(again(images), rounded(images))


@pytest.mark.parametrize("name", ["mobilenetv2", "densenet161", "efficientnet_b0"])
def test_float16_rounds_every_parameter_and_every_map(name: str) -> None:
    model = build_model(name, (1, 8, 8), 10, width=0.125)
    images = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = 1.0
    model(images)  # batch norms learn what maps are like, or they would grow from layer to layer
    rounded, plain = to_float16(model), folded(model)
    halves = half_state(rounded)
    for key, value in plain.state_dict().items():
        expected = value.numpy().astype(np.float16) if value.is_floating_point() else value.numpy()
        assert (halves[key].numpy() == expected).all()
    # the same model, each node by itself, its result rounded by numpy
    plain.load_state_dict({k: v.float() for k, v in halves.items()}, strict=True)
    values: dict[Any, Any] = {}
    for node in plain.graph.nodes:
        arguments = torch.fx.node.map_arg(node.args, lambda n: values[n])
        if node.op == "placeholder":
            result = images
        elif node.op == "call_module":
            result = plain.get_submodule(node.target)(*arguments)
        elif node.op == "output":
            break
        else:
            result = node.target(*arguments, **node.kwargs)
        half = result.detach().numpy().astype(np.float16).astype(np.float32)
        values[node] = torch.from_numpy(half)
    (last,) = arguments
    assert last.abs().max() > 1e-3
    with torch.no_grad():
        assert torch.equal(rounded(images), last)
    half_bytes = stored_bytes(halves)
    assert half_bytes * 2 == stored_bytes(plain.state_dict())


@pytest.mark.parametrize("name", ["resnet18", "densenet161", "vgg16"])
def test_folding_changes_nothing(name: str) -> None:
    model = build_model(name, (1, 8, 8), 10, width=0.125).double().eval()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_var.uniform_(0.5, 2)
            part.running_mean.normal_()
    images = torch.randn(2, 1, 8, 8, dtype=torch.float64)
    plain = folded(model)
    torch.testing.assert_close(plain(images), model(images), rtol=1e-9, atol=1e-9)
    norms = [part for part in plain.modules() if isinstance(part, nn.BatchNorm2d)]
    # those of DenseNet that read several maps side by side stay
    assert bool(norms) == (name == "densenet161")
