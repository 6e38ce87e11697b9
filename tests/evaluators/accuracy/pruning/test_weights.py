"""As many weights are zero as asked for, and they are the smallest ones of all convolutions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import prunable_layers, prune_weights


def convolutions(model: nn.Module) -> list[nn.Conv2d]:
    return [part for part in model.modules() if isinstance(part, nn.Conv2d)]


@settings(max_examples=8)
@given(share=st.floats(0, 0.999), seed=st.integers(0, 9))
def test_the_share_is_exact_and_the_smallest_go(share: float, seed: int) -> None:
    model = build_model("mobilenetv1", (1, 8, 8), 10, width=0.125, seed=seed)
    before = np.concatenate([c.weight.detach().numpy().ravel() for c in convolutions(model)])
    other = {
        name: value.clone() for name, value in model.state_dict().items() if "conv" not in name
    }
    masks = prune_weights(model, share)
    after = np.concatenate([c.weight.detach().numpy().ravel() for c in convolutions(model)])
    gone = after == 0
    assert gone.sum() == round(share * len(before))
    assert (after[~gone] == before[~gone]).all()
    if gone.any() and not gone.all():
        assert np.abs(before[gone]).max() <= np.abs(before[~gone]).min()
    flat = torch.cat([mask.flatten() for mask in masks.values()]).numpy()
    assert (flat == ~gone).all()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in other.items())


def test_equal_weights_go_from_the_first_on_and_zeros_stay() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 2, bias=False), nn.Conv2d(2, 1, 1, bias=False))
    with torch.no_grad():
        for part in convolutions(model):
            part.weight.fill_(0.5)
    prune_weights(model, 0.3)
    assert model[0].weight.flatten().tolist() == [0.0] * 3 + [0.5] * 5
    prune_weights(model, 0.5)
    assert model[0].weight.flatten().tolist() == [0.0] * 5 + [0.5] * 3


def test_a_group_of_layers_is_pruned_as_if_there_were_no_others() -> None:
    model = build_model("mobilenetv1", (1, 8, 8), 10, width=0.125)
    names = prunable_layers(model)
    assert len(names) == len(convolutions(model))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    some = names[3:7]
    masks = prune_weights(model, 0.7, some)
    assert list(masks) == [f"{name}.weight" for name in some]
    gone = torch.cat([(model.state_dict()[name] == 0).flatten() for name in masks])
    kept = torch.cat([before[name].abs().flatten() for name in masks])
    assert int(gone.sum()) == round(0.7 * len(gone))
    assert kept[gone].max() <= kept[~gone].min()
    others = before.keys() - masks.keys()
    assert all(torch.equal(model.state_dict()[name], before[name]) for name in others)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share of pruned weights"):
        prune_weights(nn.Conv2d(1, 1, 1), share)
