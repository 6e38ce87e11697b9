"""Shapes: what they count, how they are written and read, and which layers are none."""

import numpy as np
import pytest
import torch

from archloom.evaluators.host.reference import convolution
from archloom.evaluators.host.shape import ConvShape, read_shape, shape_of_layer
from archloom.space import Infeasible
from archloom.space.networks.registry import network
from tests.cases.convolutions import drawn_shape


def test_shapes_are_read_as_they_are_written() -> None:
    for number in range(300):
        rng = np.random.default_rng([3, number])
        shape = drawn_shape(rng, ("one", "several", "depthwise")[number % 3])
        assert read_shape(str(shape)) == shape


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("64x32x32", "is not a shape; write"),
        ("64x32x32:64:3x3,strde=2", "strde is not an option; did you mean stride"),
        ("64x32x32:64:3x3,stride=a", "stride is 'a', must be one or two whole numbers"),
        ("64x32x32:64:3x3,groups=3", "3 groups must divide"),
        ("64x2x2:64:5x5,padding=0", "window is larger than the map"),
        ("64x32x32:64:3x3,padding=3", "padding must be smaller"),
        ("64x32x32:64:3x3,stride=0", "must be 1 or more"),
        ("64x32x32:64:3x3,activation=rlu", "'rlu' is not known to kernels; did you mean relu"),
        ("9999x999x999:999:3x3", "MACs, must have at most"),
    ],
)
def test_a_wrong_shape_says_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match="(?s)" + fault.replace("?", r"\?")):
        read_shape(text)


@pytest.mark.parametrize("name", ["resnet18_cifar10", "mobilenetv2_cifar10", "vgg16_cifar10"])
def test_layers_of_cifar_networks_are_shapes_with_their_macs(name: str) -> None:
    for layer in network(name).layers:
        if layer.uses_macs:
            shape = shape_of_layer(layer)
            assert isinstance(shape, ConvShape)
            assert (shape.macs, shape.k * shape.p * shape.q) == (layer.macs, layer.output_words)
            assert shape.depthwise == layer.depthwise


def test_layers_that_are_no_convolutions_have_a_reason() -> None:
    found = [shape_of_layer(layer) for layer in network("bert_base").layers if layer.uses_macs]
    assert all(isinstance(why, Infeasible) and "layer " in why.where for why in found)


def test_the_reference_is_the_convolution_of_torch() -> None:
    for number in range(60):
        rng = np.random.default_rng([4, number])
        shape = drawn_shape(rng, ("one", "several", "depthwise")[number % 3])
        image = rng.standard_normal((shape.c, shape.h, shape.w))
        weights = rng.standard_normal(shape.weight_shape)
        bias = rng.standard_normal(shape.k)
        rows, columns = shape.padded
        bottom, right = rows - shape.h - shape.padding[0], columns - shape.w - shape.padding[1]
        frame = torch.nn.functional.pad(
            torch.from_numpy(image), (shape.padding[1], right, shape.padding[0], bottom)
        )
        wanted = torch.nn.functional.conv2d(
            frame[None],
            torch.from_numpy(weights),
            torch.from_numpy(bias),
            shape.stride,
            0,
            shape.dilation,
            shape.groups,
        )
        found = convolution(shape, image, weights, bias)
        np.testing.assert_allclose(found, wanted[0].numpy(), atol=1e-12)
