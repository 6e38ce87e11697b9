"""Training goes down, stops and goes on with the same bytes, and keeps zeros."""

import io

import numpy as np
import pytest
import torch
from torch.fx import GraphModule

from archloom.evaluators.accuracy.data import ImageArray
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import prune_weights
from archloom.evaluators.accuracy.training import (
    Recipe,
    Trainer,
    accuracy_percent,
    deterministic,
    recipe_for,
)

RECIPE = Recipe(epochs=3, batch=16)


def stripes(count: int = 48) -> ImageArray:
    """Two classes that a small model tells apart: bright rows, and bright columns."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % 2
    pixels = random.integers(0, 60, (count, 1, 8, 8), dtype=np.uint8)
    pixels[labels == 0, :, ::2] += 150
    pixels[labels == 1, :, :, ::2] += 150
    one = np.ones(1, np.float32)
    return ImageArray(pixels, labels, 100 * one, 80 * one)


def model(seed: int = 0) -> GraphModule:
    return build_model("mobilenetv1", (1, 8, 8), 2, width=0.125, seed=seed)


def saved(trainer: Trainer) -> bytes:
    held = io.BytesIO()
    torch.save(trainer.state(), held)
    return held.getvalue()


def test_it_learns() -> None:
    images, trained = stripes(), model()
    trainer = Trainer(trained, images, Recipe(epochs=10, batch=8), seed=1)
    with deterministic():
        losses = []
        while not trainer.done:
            losses.append(trainer.run_epoch())
    assert losses[-1] < losses[0] / 2
    assert accuracy_percent(trained, images) == 100.0


@pytest.mark.parametrize("stop", [1, 2])
def test_stopped_and_resumed_it_ends_with_the_same_bytes(stop: int) -> None:
    images = stripes()
    with deterministic():
        whole = Trainer(model(), images, RECIPE, seed=1)
        while not whole.done:
            whole.run_epoch()
        first = Trainer(model(), images, RECIPE, seed=1)
        for _ in range(stop):
            first.run_epoch()
        kept = torch.load(io.BytesIO(saved(first)), weights_only=True)
        # a fresh model with other weights: all of it is in the checkpoint
        second = Trainer(model(seed=5), images, RECIPE, seed=1)
        second.restore(kept)
        assert second.epoch == stop
        while not second.done:
            second.run_epoch()
        assert saved(second) == saved(whole)
        other = Trainer(model(), images, RECIPE, seed=2)
        while not other.done:
            other.run_epoch()
        assert saved(other) != saved(whole)


def test_pruned_weights_stay_zero() -> None:
    trained = model()
    masks = prune_weights(trained, 0.7)
    before = {name: value.detach().clone() for name, value in trained.named_parameters()}
    trainer = Trainer(trained, stripes(), Recipe(epochs=1, batch=16), 3, masks)
    trainer.run_epoch()
    for name, value in trained.named_parameters():
        assert not torch.equal(value, before[name]), name
        if name in masks:
            assert not value[~masks[name]].any()


@pytest.mark.parametrize("steps", [10, 37, 1000])
def test_rates_are_those_of_torch(steps: int) -> None:
    recipe = Recipe(epochs=1, batch=1)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=recipe.rate)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, total_steps=steps, cycle_momentum=False
    )
    for step in range(steps):
        assert recipe.rate_at(step, steps) == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step < steps - 1:
            cycle.step()


def test_fine_tuning_on_imagenet_has_a_recipe_of_its_own() -> None:
    tuning = recipe_for("imagenet", 140, 256, fine_tuning=True)
    assert (tuning.rate, tuning.schedule) == (1e-3, "cosine")
    assert [tuning.rate_at(step, 100) for step in (0, 50, 100)] == pytest.approx([1e-3, 5e-4, 0])
    assert recipe_for("cifar10", 210, 128, fine_tuning=True) == Recipe(210, 128)


def test_torch_is_left_as_it_was() -> None:
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with deterministic():
        assert torch.get_num_threads() == 1
        assert torch.are_deterministic_algorithms_enabled()
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == before
