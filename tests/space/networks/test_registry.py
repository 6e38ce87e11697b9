"""The catalogue: names, options, and what holds for every network."""

import pytest

from archloom.space.networks.registry import NETWORKS, network, options
from archloom.space.workload.network import is_input


@pytest.mark.parametrize("name", NETWORKS)
def test_each_network_is_whole(name: str) -> None:
    """A name that is its own, one image, and nothing that stands apart."""
    net = network(name)
    assert net.name == name
    assert net.batch == 1
    assert is_input(net.reads[0][0])
    linked = {0}
    while found := {j for i in linked for j in net.neighbours[i]} - linked:
        linked |= found
    assert linked == set(range(len(net.layers)))


def test_case_and_punctuation_do_not_matter() -> None:
    assert network("ResNet-18") == network("resnet18")
    assert network("SqueezeNet 1.1").name == "squeezenet1_1"


def test_an_unknown_network_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="network 'resnet51' is not known; did you mean resnet50"):
        network("resnet51")
    with pytest.raises(ValueError, match=r"'zzz' is not known; known: alexnet, alexnet_original"):
        network("zzz")


def test_options_change_a_network() -> None:
    assert options("srgan") == {"rows": 96}
    assert options("vgg16") == {}
    small = network("srgan", rows=24)
    # every layer of it works on each position of the map
    assert (small.macs * 16, small.params) == (network("srgan").macs, network("srgan").params)
    assert network("ocr_rpn", rows=64).map_shape("boxes6") == (12, 1, 1)


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("srgan", {"row": 24}, "network srgan: option 'row' is not known; did you mean rows?"),
        ("vgg16", {"rows": 24}, "network vgg16: option 'rows' is not known; it has none"),
        ("srgan", {"rows": "24"}, "rows is '24', must be a whole number such as 96"),
        ("srgan", {"rows": 0}, "network srgan: rows is 0, must be at least 1"),
        ("ocr_rpn", {"rows": 1000}, "rows is 1000, must be a multiple of 32; nearest: 992"),
        ("ocr_rpn", {"rows": -5}, "rows is -5, must be a multiple of 32; nearest: 32"),
    ],
)
def test_wrong_options_are_refused(name: str, chosen: dict[str, int | str], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        network(name, **chosen)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_says_what_it_follows(name: str) -> None:
    notes = NETWORKS[name].notes
    assert notes
    assert not any("Raises" in note or "Args" in note for note in notes)


def test_assumptions_are_told() -> None:
    assert "Assumptions: the backbone is ResNet-50" in " ".join(NETWORKS["ocr_rpn"].notes)
    assert "CRNN (Shi et al., TPAMI 2017) stands for it" in NETWORKS["ocr_recognizer"].notes[-1]
