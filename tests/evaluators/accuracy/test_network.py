"""Pruned models as networks, and what they take."""

import pytest
import torch

from archloom.evaluators.accuracy import figures_of, stored_bytes, to_network
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import (
    coupling_of,
    prune_weights,
    weakest_channels,
    without_channels,
)

IMAGE = (1, 8, 8)


def test_a_layer_has_the_density_of_its_weights() -> None:
    model = build_model("mobilenetv1", IMAGE, 10, width=0.125)
    prune_weights(model, 0.7)
    with torch.no_grad():
        model.get_submodule("layers.3.conv1").weight.zero_()
    net = to_network(model, IMAGE, "mine")
    found = figures_of(model, IMAGE)
    assert (net.params, net.macs, net.name) == (found.params, found.macs, "mine")
    nonzero = 0
    for layer in net.layers:
        if layer.uses_macs:
            weight = model.get_submodule(layer.name).weight
            share = max(1, int(weight.count_nonzero())) / weight.numel()
            assert layer.density == (share, 1.0)
            nonzero += round(layer.macs * share)
        else:
            assert layer.density == (1.0, 1.0)
    # the layer without weights counts as one weight
    one = net.layers[net.index("layers.3.conv1")]
    assert nonzero - one.p * one.q == found.nonzero_macs
    assert model.training


def test_a_network_has_the_channels_that_are_left() -> None:
    model = build_model("resnet18", IMAGE, 10, width=0.125)
    coupling = coupling_of(model, IMAGE)
    smaller = without_channels(model, coupling, weakest_channels(model, coupling, 180))
    net, found = to_network(smaller, IMAGE, "smaller"), figures_of(smaller, IMAGE)
    assert (net.params, net.macs) == (found.params, found.macs)
    assert found.macs < figures_of(model, IMAGE).macs / 2


def test_sparse_weights_are_stored_as_csr_where_that_is_smaller() -> None:
    weight = torch.zeros(4, 10, 3, 3)
    weight[:, :2] = 1
    # 72 values and columns of 4 bytes, 5 positions, against 360 values
    state = {"weight": weight, "bias": torch.ones(4)}
    assert stored_bytes(state) == 72 * 8 + 5 * 4 + 4 * 4
    assert stored_bytes({"weight": torch.ones(4, 10, 3, 3)}) == 360 * 4
    assert stored_bytes({"weight": weight.to(torch.int8)}) == 360
    assert stored_bytes({"x.num_batches_tracked": torch.tensor(1)}) == 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_figures_count_zeros(share: float) -> None:
    model = build_model("vgg16", IMAGE, 10, width=0.125)
    prune_weights(model, share)
    found = figures_of(model, IMAGE)
    zeros = sum(int((p == 0).sum()) for p in model.parameters())
    assert found.nonzero_params == found.params - zeros
    assert (found.nonzero_macs < found.macs) == (share > 0)
