"""Channels are removed, not masked, and the model that is left computes the same."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx import GraphModule

from archloom.evaluators import Ints
from archloom.evaluators.accuracy.models import MODELS, build_model
from archloom.evaluators.accuracy.pruning import (
    Coupling,
    coupling_of,
    without_channels,
)

from ...oracles.masked_model import MaskedModel

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


@pytest.mark.parametrize("name", MODELS)
def test_removing_channels_is_masking_them(name: str) -> None:
    # double, for in float32 the sums of 161 layers differ by more than 1e-5 in any other order
    model = lively(build_model(name, IMAGE, 5, width=0.125)).double()
    coupling = coupling_of(model, IMAGE)
    random = torch.Generator().manual_seed(1)
    images = torch.randn(2, *IMAGE, generator=random, dtype=torch.float64)
    for seed in range(20):
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
