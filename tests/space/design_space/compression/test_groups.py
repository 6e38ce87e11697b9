"""Layers in groups: parts with as many MACs, and patterns of names."""

import re

import pytest

from archloom.space.design_space.compression.groups import grouped, in_parts, part_names
from archloom.space.networks.registry import network

NET = network("resnet18_cifar10")
CONVOLUTIONS = tuple(layer.name for layer in NET.layers if layer.operator == "conv")


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 7])
def test_parts_follow_one_another_and_have_about_as_many_macs(parts: int) -> None:
    found = in_parts(NET, CONVOLUTIONS, parts)
    assert tuple(found) == part_names(parts)
    assert sum(found.values(), ()) == CONVOLUTIONS
    macs = {layer.name: layer.macs for layer in NET.layers}
    each = [sum(macs[name] for name in inside) for inside in found.values()]
    # the middle of a layer decides, so a part is off by half a layer at each of its ends
    largest = max(macs[name] for name in CONVOLUTIONS)
    assert max(abs(sum(each) / parts - one) for one in each) <= largest


def test_a_part_without_a_layer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"leave .* without a layer.*fewer groups"):
        in_parts(NET, CONVOLUTIONS[:2], 3)


def test_patterns_name_layers() -> None:
    layers = ("conv1", "layer1.0.conv1", "layer1.1.conv1", "layer2.0.conv1")
    found = grouped(layers, {"stem": ["conv1"], "body": ["layer1.*"]})
    # layer2 is in no group: it stays as it is
    assert found == {"stem": ("conv1",), "body": ("layer1.0.conv1", "layer1.1.conv1")}


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"a": ["layer3.*"]}, "a: no prunable layer matches 'layer3.*'"),
        ({"a": ["conv11"]}, "did you mean conv1?"),
        ({"a": ["layer*"], "b": ["layer1.*"]}, "layer layer1.0.conv1 is in a and in b"),
    ],
)
def test_patterns_that_do_not_fit_are_refused(patterns: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        grouped(("conv1", "layer1.0.conv1"), patterns)
