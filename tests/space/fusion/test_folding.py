"""Which layers are folded into which, and that a folded network is the same network."""

import pickle

import numpy as np
import pytest

from archloom.space.fusion.folding import Computation, computations, fold
from archloom.space.fusion.plan import layer_by_layer, plan_violations
from archloom.space.networks.registry import network
from archloom.space.workload.layer_builders import (
    activation,
    add,
    conv2d,
    global_pool,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.network_json import from_text, to_text

from ...cases.foldable import random_foldable


def conv(name):
    return conv2d(name, 4, 4, 8, 1)


def folded(layers, reads, outputs=()):
    return [c for c in computations(fold(Network("net", layers, reads, outputs))) if c.folded]


def test_a_chain_of_single_readers_is_folded_into_what_makes_its_first_input():
    layers = conv("a"), add("b", 4, 8), activation("c", "relu", 4, 8), max_pool2d("d", 4, 8, 2)
    assert folded(layers, ((INPUT,), ("a", INPUT), ("b",), ("c",))) == [
        Computation(0, after=(1, 2, 3))
    ]


def test_what_others_read_too_is_not_folded():
    layers = conv("a"), activation("b", "relu", 4, 8), conv("c")
    assert folded(layers, ((INPUT,), ("a",), ("a",))) == []
    # an output of the network has a reader outside
    assert folded(layers[:2], ((INPUT,), ("a",)), ("a",)) == []


def test_windows_that_overlap_are_not_folded():
    layers = conv("a"), max_pool2d("b", 4, 8, 3, 2, 1)
    assert folded(layers, ((INPUT,), ("a",))) == []


def test_of_two_that_are_added_the_later_one_takes_the_sum():
    layers = conv("a"), conv("b"), add("c", 4, 8)
    assert folded(layers, ((INPUT,), (INPUT,), ("a", "b"))) == [Computation(1, after=(2,))]


def test_squeeze_and_excite_pools_on_the_way_out_and_scales_on_the_way_in():
    squeezed = conv2d("excite", 4, 4, 1, 1)
    layers = conv("a"), global_pool("b", 4, 8), squeezed, mul("d", 4, 8, broadcast=True), conv("e")
    reads = (INPUT,), ("a",), ("b",), ("a", "excite"), ("d",)
    assert folded(layers, reads) == [Computation(0, pools=(1,)), Computation(4, before=(3,))]


def test_a_sum_of_two_maps_is_not_folded_into_what_reads_it():
    layers = activation("a", "relu", 4, 8), add("b", 4, 8), conv("c")
    assert folded(layers, ((INPUT,), ("a", INPUT), ("b",))) == []


def test_efficientnet_folds_all_but_none_of_its_layers_on_the_array():
    net = fold(network("efficientnet_b0"))
    vector = sum(not layer.uses_macs for layer in net.layers)
    assert sum(len(one.folded) for one in computations(net)) == vector == 42


@pytest.mark.parametrize("seed", range(60))
def test_computations_are_a_valid_plan_of_all_layers(seed):
    plain = random_foldable(np.random.default_rng(seed))
    net = fold(plain)
    assert plan_violations(net, layer_by_layer(net)) == []
    assert (net.macs, net.params, net.layers) == (plain.macs, plain.params, plain.layers)
    for one in computations(net):
        assert not any(net.layers[i].uses_macs for i in one.folded)
        assert not one.folded or net.layers[one.host].uses_macs


def test_files_copies_and_batches_stay_folded():
    net = fold(network("tiny_cnn"))
    assert from_text(to_text(net)) == net != network("tiny_cnn")
    assert pickle.loads(pickle.dumps(net)).folded
    assert net.with_batch(4).folded
