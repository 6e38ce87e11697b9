"""Models are the networks of the catalogue, and have the names of published weights."""

from hashlib import sha256

import pytest
import torch

from archloom.evaluators.accuracy import figures_of, to_network
from archloom.evaluators.accuracy.models import LEAST_SIDE, MODELS, build_model, scaled
from archloom.space.networks import network
from archloom.space.workload import explain_difference

#: sha256 of the lines "NAME SHAPE" of torchvision 0.29.1's state_dict, sorted. These models took up
#: the random weights of its models, and gave the same scores bit by bit.
TORCHVISION = {
    "resnet50": "a87e91cd6bd1f939",
    "mobilenetv2_imagenet": "e3eb10f890f74c6e",
    "densenet161": "96e788964c2c431f",
    "efficientnet_b0": "98a6d92c040c4bca",
}

#: quick to export
QUICK = ("mobilenetv1", "vgg16", "mobilenetv2_imagenet")


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_macs_are_those_of_the_catalogue(name: str) -> None:
    entry = MODELS[name]
    found = figures_of(build_model(name, entry.image, entry.classes), entry.image)
    catalogue = network(entry.network)
    assert (found.params, found.macs) == (catalogue.params, catalogue.macs)


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.exhaustive)
        for name in MODELS
    ],
)
def test_a_model_is_the_network_of_the_catalogue(name: str) -> None:
    entry = MODELS[name]
    model = build_model(name, entry.image, entry.classes)
    assert explain_difference(to_network(model, entry.image, name), network(entry.network)) == []


@pytest.mark.parametrize(("name", "digest"), TORCHVISION.items())
def test_names_and_shapes_are_those_of_torchvision(name: str, digest: str) -> None:
    state = build_model(name, MODELS[name].image, MODELS[name].classes).state_dict()
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in sorted(state.items()))
    assert sha256(lines.encode()).hexdigest().startswith(digest)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("image", [(1, 8, 8), (3, 13, 5)])
def test_models_take_images_of_any_size(name: str, image: tuple[int, int, int]) -> None:
    model = build_model(name, image, 7, width=0.125)
    seen = []
    for part in model.modules():
        if isinstance(part, torch.nn.Conv2d) and part.kernel_size != (1, 1):
            part.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[2:]))
    assert model.eval()(torch.zeros(2, *image)).shape == (2, 7)
    assert min(min(sides) for sides in seen) >= LEAST_SIDE


def test_the_width_scales_channels_in_steps() -> None:
    assert [scaled(64, 0.25), scaled(16, 0.25), scaled(24, 0.5), scaled(48, 1.0)] == [16, 8, 16, 48]
    # 0.3 of 64 is 19.2: the nearest step is below nine tenths of it
    assert scaled(64, 0.3) == 24
    narrow, wide = (
        figures_of(build_model("resnet18", (1, 8, 8), 10, width), (1, 8, 8)).params
        for width in (0.25, 0.5)
    )
    assert 3 < wide / narrow < 4.5


def test_first_weights_follow_from_the_seed() -> None:
    one, same, other = (
        build_model("vgg16", (1, 8, 8), 10, 0.125, seed).state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["features.0.weight"], other["features.0.weight"])


@pytest.mark.parametrize(
    ("image", "width", "fault"),
    [((1, 3, 8), 1.0, "4x4 pixels"), ((1, 8, 8), 0.0, "width"), ((1, 8, 8), 5.0, "width")],
)
def test_what_cannot_be_built_is_refused(
    image: tuple[int, int, int], width: float, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        build_model("resnet18", image, 10, width)
