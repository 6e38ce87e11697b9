"""Chips that skip zeros: what a chapter takes from papers agrees with what else they state."""

from math import prod

import numpy as np
import pytest

from archloom.space.hardware import Effects
from archloom.studies.analysis.published_chips import dual_side_products, scnn_networks
from archloom.studies.analysis.published_chips.eyeriss_v2_networks import (
    DENSITY,
    PRODUCTS,
    alexnet_layers,
    half_mobilenet,
    mobilenet_layers,
    pe_cycles,
)

#: how near Sparseloop's model of even zeros comes (its artefact, results-summary/num_cycles.csv)
SPARSELOOP = {7: 0.935, 9: 0.986, 13: 0.974, 19: 0.966, 21: 0.96, 23: 0.983, 25: 0.977, 27: 0.941}

ALEXNET = (scnn_networks.ALEXNET_WEIGHTS, scnn_networks.ALEXNET_INPUTS)


def test_networks_have_the_products_of_the_paper():
    """49.2 M and 724.4 M (Chen et al., JETCAS 2019, section II)."""
    assert sum(layer.macs for layer in half_mobilenet().layers if layer.uses_macs) == 49_160_192
    assert round(sum(layer.macs for layer in alexnet_layers(pruned=True)) / 1e5) == 7244


def test_recorded_products_are_of_these_layers():
    layers = mobilenet_layers(dense=False)
    assert len(layers) == len(PRODUCTS)
    for layer, products in zip(layers, PRODUCTS, strict=True):
        assert products <= layer.macs
    # an image has no zeros, and its convolution is not pruned
    assert PRODUCTS[0] == layers[0].macs


@pytest.mark.parametrize("number", DENSITY)
def test_even_zeros_miss_the_cycles_of_a_pe_by_what_sparseloop_misses(number):
    layer = mobilenet_layers(dense=False)[number - 1]
    assert pe_cycles(layer) == pytest.approx(layer.macs * prod(layer.density), abs=1)
    assert round(pe_cycles(layer) / PRODUCTS[number - 1], 3) == SPARSELOOP[number]


def test_vectors_in_part_are_those_of_random_matrices():
    rng = np.random.default_rng(3)
    for share, width in ((0.3, 8), (0.4, 16)):
        left = (rng.random((20_000, 32)) < share).sum(axis=1)
        mean = (-(-left // width)).mean() / (32 // width)
        assert dual_side_products.vectors_share(share, width) == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize("network", ["alexnet_original", "vgg16"])
def test_zeros_never_save_more_in_vectors_than_evenly(network):
    skipped = Effects(weight_zeros="skipped", input_zeros="skipped")
    for layer in scnn_networks.convolutions(network)[1:3]:
        dense = scnn_networks.cycles(layer, (1.0, 1.0), Effects())
        even = scnn_networks.cycles(layer, (0.3, 0.5), skipped)
        assert even == pytest.approx(0.15 * dense, rel=1e-3)
        assert even < scnn_networks.vector_cycles(layer, (0.3, 0.5)) < dense


def test_shares_of_han_et_al_give_their_operations():
    """Products left of VGG-16 and AlexNet: a fifth and a third (their tables 4 and 5)."""
    for name, weights, inputs, low, high in (
        ("vgg16", scnn_networks.VGG_WEIGHTS, scnn_networks.VGG_INPUTS, 0.18, 0.23),
        (
            "alexnet_original",
            scnn_networks.ALEXNET_WEIGHTS,
            scnn_networks.ALEXNET_INPUTS,
            0.3,
            0.35,
        ),
    ):
        layers = scnn_networks.convolutions(name)
        shares = zip(layers, weights, inputs, strict=False)
        left = sum(layer.macs * w * i for layer, w, i in shares)
        assert low < left / sum(layer.macs for layer in layers) < high
