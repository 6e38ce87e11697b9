"""What packed weights take: formulas beside tensors that are packed, and where they are packed."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.space.hardware import Effects, Hardware, StorageLevel, packed, packed_words
from archloom.space.hardware.weight_format import (
    BIT_PARTS,
    WeightFormat,
    bits_per_weight,
    weight_parts,
)
from archloom.space.networks import network
from archloom.space.workload import Layer, Sparsity, from_text, to_text

from ...cases.small_designs import three_levels
from ...oracles.packed_tensors import expected_bits, packed_bits, random_weights

FORMATS = [name for name in get_args(WeightFormat) if name != "dense"]


def packing(kind: WeightFormat, hardware: Hardware | None = None) -> Hardware:
    return replace(hardware or three_levels(), effects=Effects(weight_format=kind))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7, 1.0])
def test_random_tensors_take_what_the_formula_says(kind, share):
    rows, row_words, word_bits = 64, 576, 8
    weights = random_weights(np.random.default_rng(1), rows, row_words, share)
    mean = packed_bits(kind, word_bits, weights) / weights.size
    exact = weights.sum() / weights.size
    # a bit mask and CSR depend on the number of weights alone, runs on where they are
    close = 0.01 if kind == "run_length" else 1e-9
    assert bits_per_weight(kind, word_bits, exact, row_words) == pytest.approx(mean, rel=close)


@pytest.mark.parametrize("kind", FORMATS)
@given(
    share=st.fractions(min_value="1/64", max_value=1, max_denominator=64),
    word_bits=st.integers(1, 16),
    row_words=st.integers(1, 5000),
)
def test_formulas_are_means_over_all_tensors(kind, share, word_bits, row_words):
    mean = expected_bits(kind, word_bits, share, row_words)
    assert bits_per_weight(kind, word_bits, float(share), row_words) == pytest.approx(float(mean))


@given(share=st.floats(0.01, 1), kind=st.sampled_from(FORMATS), row_words=st.integers(1, 3000))
def test_no_weight_takes_more_than_it_does_unpacked(share, kind, row_words):
    hardware, zeros = packing(kind), Sparsity(share, 1.0, row_words)
    dense = BIT_PARTS * hardware.word_bits
    inner, *outer = (weight_parts(hardware, level, zeros) for level in range(3))
    assert inner == dense
    assert all(0 < parts <= dense for parts in outer)
    assert len(set(outer)) == 1


def test_nothing_is_packed_without_zeros_or_without_a_format():
    zeros = Sparsity(0.1, 1.0, 100)
    assert weight_parts(three_levels(), 2, zeros) == BIT_PARTS * 8
    assert weight_parts(packing("bitmask"), 2, Sparsity(0.1, 1.0)) == BIT_PARTS * 8
    # 0.1 x 8 + 1 bits, in 64ths
    assert weight_parts(packing("bitmask"), 2, zeros) == 116
    assert packed_words(1000, packing("bitmask"), 2, zeros) == -(-1000 * 116 // 512)


def test_a_network_has_the_words_that_its_weights_take():
    net = network("resnet18").with_density(0.25, 0.5)
    hardware = packing("bitmask")
    found = packed(net, hardware)
    assert packed(net, hardware) is found
    assert packed(found, hardware) is found
    assert packed(net, three_levels()) is net
    assert packed(dense := network("resnet18"), hardware) is dense
    for before, after in zip(net.layers, found.layers, strict=True):
        if before.uses_macs:
            # 0.25 x 8 + 1 of 8 bits
            assert after.weight_words == -(-before.weight_words * 3 // 8)
        else:
            assert after == before
    assert (found.params, found.macs) == (net.params, net.macs)


def test_second_maps_of_products_are_not_packed():
    net = network("bert_base", sequence_length=16).with_density(0.5, 0.5)
    found = packed(net, packing("bitmask"))
    products = [layer for layer in found.layers if layer.multiplies_maps]
    assert products
    assert all(layer.packed_words is None and layer.weight_words == 0 for layer in products)


def test_files_of_networks_hold_no_packed_words():
    found = packed(network("resnet18").with_density(0.25, 0.5), packing("csr"))
    assert all(layer.packed_words is None for layer in from_text(to_text(found)).layers)
    text = to_text(network("resnet18")).replace('"operator"', '"packed_words": 5, "operator"', 1)
    with pytest.raises(ValueError, match="packed_words is an unknown key"):
        from_text(text)


@pytest.mark.parametrize("words", [-1, 1.5, True])
def test_packed_words_are_a_whole_number(words):
    with pytest.raises(ValueError, match="packed_words is"):
        Layer("l", "conv", packed_words=words)


def test_weights_must_have_a_level_to_be_unpacked_into():
    inner, buffer, dram = three_levels().levels
    loose = replace(inner, optional=True)
    with pytest.raises(ValueError, match=r"weight_format csr unpacks .* spad may be bypassed"):
        packing("csr", replace(three_levels(), levels=(loose, buffer, dram)))
    elsewhere = StorageLevel("acc", "register", ("outputs",), (2, 2), 4, 4)
    with pytest.raises(ValueError, match=r"no level there keeps weights; add such a level"):
        packing("csr", replace(three_levels(), levels=(elsewhere, buffer, dram)))
    with pytest.raises(ValueError, match=r"weight_format must be one of dense, bitmask, .*csr"):
        Effects(weight_format="cscs")  # type: ignore[arg-type]
