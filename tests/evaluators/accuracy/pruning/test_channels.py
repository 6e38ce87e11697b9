"""Channels are removed, not masked, and the model that is left computes the same."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx import GraphModule, symbolic_trace

from archloom.evaluators import Ints
from archloom.evaluators.accuracy import figures_of
from archloom.evaluators.accuracy.models import MODELS, build_model
from archloom.evaluators.accuracy.pruning import (
    Coupling,
    coupling_of,
    load_pruned,
    weakest_channels,
    without_channels,
)

from ....cases.sweeps import sweep
from ....oracles.masked_model import MaskedModel

IMAGE = (3, 8, 8)


def lively(model: GraphModule, seed: int = 0) -> GraphModule:
    """Give batch norms and biases values of trained models; with the first ones little is seen."""
    random = torch.Generator().manual_seed(seed)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            for tensor in (part.weight.data, part.running_var):
                tensor.uniform_(0.5, 1.5, generator=random)
            for tensor in (part.bias.data, part.running_mean):
                tensor.normal_(0, 0.5, generator=random)
        elif getattr(part, "bias", None) is not None:
            part.bias.data.normal_(0, 0.5, generator=random)
    return model.eval()


def random_structure(coupling: Coupling, seed: int) -> Ints:
    """Channels to remove: a random share of all, but the last of no layer."""
    random = np.random.default_rng(seed)
    gone = random.random(len(coupling.removable)) < random.uniform(0.05, 0.8)
    removed = set(coupling.removable[gone].tolist())
    for module in coupling.modules:
        if removed.issuperset(module.makes.tolist()):
            removed.discard(int(random.choice(module.makes)))
    return np.array(sorted(removed), np.int64)


@pytest.mark.parametrize("seeds", sweep([range(5), range(5, 20)], 1))
@pytest.mark.parametrize("name", MODELS)
def test_removing_channels_is_masking_them(name: str, seeds: range) -> None:
    # double, for in float32 the sums of 161 layers differ by more than 1e-5 in any other order
    model = lively(build_model(name, IMAGE, 5, width=0.125)).double()
    coupling = coupling_of(model, IMAGE)
    random = torch.Generator().manual_seed(1)
    images = torch.randn(2, *IMAGE, generator=random, dtype=torch.float64)
    for seed in seeds:
        removed = random_structure(coupling, seed)
        alive = coupling.alive(removed)
        masks = {m.name: alive[m.makes] for m in coupling.modules if m.mixes}
        smaller = without_channels(model, coupling, removed)
        with torch.no_grad():
            expected = MaskedModel(model, masks).run(images)
            torch.testing.assert_close(smaller(images), expected, rtol=1e-9, atol=1e-9)
            assert expected.abs().max() > 1e-3
        before, after = (sum(p.numel() for p in m.parameters()) for m in (model, smaller))
        assert after < before


class Grouped(nn.Module):
    """Two groups of channels, whose sizes must stay equal, between free convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 1)
        self.second = nn.Conv2d(4, 4, 1, groups=2)
        self.third = nn.Conv2d(4, 6, 1)
        self.last = nn.Linear(6 * 4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.third(self.second(self.first(x))))
        return self.last(torch.flatten(x, 1))


def test_channels_of_grouped_convolutions_stay_and_flattened_ones_go() -> None:
    torch.manual_seed(0)
    model = symbolic_trace(Grouped()).eval()
    coupling = coupling_of(model, (3, 2, 2))
    (third,) = (m for m in coupling.modules if m.name == "third")
    assert coupling.removable.tolist() == sorted(third.makes.tolist())
    removed = third.makes[[1, 4]]
    smaller = without_channels(model, coupling, removed)
    assert smaller.get_submodule("last").in_features == 4 * 4
    images = torch.randn(2, 3, 2, 2)
    masks = {"third": coupling.alive(removed)[third.makes]}
    kept = torch.from_numpy(np.repeat(masks["third"], 4))
    full = torch.relu(model.third(model.second(model.first(images)))).flatten(1)
    torch.testing.assert_close(smaller(images), model.last(full * kept))


def test_an_operator_without_a_rule_is_named() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cumsum(x, 1)

    with pytest.raises(ValueError, match="cumsum"):
        coupling_of(symbolic_trace(nn.Sequential(nn.Conv2d(3, 2, 1), Odd())), (3, 4, 4))


def test_the_weakest_channels_go_exactly_as_many_as_asked_and_no_layer_is_left_empty() -> None:
    model = build_model("resnet18", IMAGE, 5, width=0.125)
    coupling = coupling_of(model, IMAGE)
    with torch.no_grad():
        # all but one channel of a layer, and one of another
        model.get_submodule("layer1.0.conv1").weight[1:].mul_(1e-3)
        model.get_submodule("layer4.1.conv1").weight[7].mul_(1e-6)
    inner, other = (
        next(m for m in coupling.modules if m.name == name).makes
        for name in ("layer1.0.conv1", "layer4.1.conv1")
    )
    assert weakest_channels(model, coupling, 1).tolist() == [other[7]]
    assert weakest_channels(model, coupling, 8).tolist() == sorted([*inner[1:], other[7]])
    many = weakest_channels(model, coupling, 330)
    assert len(set(many.tolist())) == 330
    for module in coupling.modules:
        assert not set(many.tolist()).issuperset(module.makes.tolist())
    with torch.no_grad():
        # the norm after a layer makes its scale meaningless
        model.get_submodule("layer2.0.conv1").weight.mul_(1e-3)
    assert (weakest_channels(model, coupling, 330) == many).all()
    with pytest.raises(ValueError, match="cannot be removed"):
        weakest_channels(model, coupling, len(coupling.removable))


def test_a_pruned_model_is_read_from_its_weights() -> None:
    model = lively(build_model("efficientnet_b0", IMAGE, 5, width=0.125))
    coupling = coupling_of(model, IMAGE)
    smaller = without_channels(model, coupling, random_structure(coupling, 3))
    images = torch.randn(2, *IMAGE)
    again = load_pruned(model, smaller.state_dict()).eval()
    with torch.no_grad():
        assert torch.equal(again(images), smaller(images))
    assert figures_of(again, IMAGE) == figures_of(smaller, IMAGE)
    # what is left can be pruned again
    once_more = coupling_of(again, IMAGE)
    assert len(once_more.removable) < len(coupling.removable)
    without_channels(again, once_more, weakest_channels(again, once_more, 20))(images)
    with pytest.raises(RuntimeError, match="Missing key"):
        load_pruned(model, build_model("vgg16", IMAGE, 5, width=0.125).state_dict())
