"""What layers read: boxes of maps, maps in pieces, weights of an earlier layer; what leaves."""

import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pytest

from archloom.space.networks.registry import network
from archloom.space.workload import layer_builders as ops, vector_layer_builders as vectors
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice

HALF = Slice((4, 0, 0), (4, 6, 6), (8, 6, 6))


def halves(**fields):
    """A convolution, and one that reads the second half of its channels."""
    first = ops.conv2d("first", 3, 8, 6, 1)
    second = replace(ops.conv2d("second", 4, 2, 6, 3, padding=1), slices=(HALF,))
    layers = (first, replace(second, **fields))
    return Network("halves", layers, (("input",), ("first",)))


def test_a_reader_takes_a_box_of_a_map():
    net = halves()
    assert net.map_shape("first") == (8, 6, 6)
    assert net.layers[1].read_words == 4 * 36
    assert "first[4:8, :, :]" in str(net)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (
            Slice((0, 0, 0), (4, 6, 6), (6, 6, 6)),
            r"layer second reads a box of a map of \(6, 6, 6\) from first, which makes \(8, 6, 6\)",
        ),
        (
            Slice((0, 0, 0), (3, 6, 6), (8, 6, 6)),
            "second: a slice has 108 words where .* reads 144",
        ),
        ("all", "second: slices holds 'all', must be a Slice or None"),
    ],
)
def test_a_box_that_does_not_fit_is_refused(box, message):
    with pytest.raises(ValueError, match=message):
        halves(slices=(box,))


def test_there_is_one_box_for_each_map():
    with pytest.raises(ValueError, match=r"slices is .*, must hold one entry for each"):
        halves(slices=(HALF, None))


@pytest.mark.parametrize(
    ("start", "size", "of", "message"),
    [
        ((0, 0), (1, 1, 1), (1, 1, 1), r"start of a slice is \(0, 0\), must be three whole"),
        ((0, 0, 0), (0, 1, 1), (1, 1, 1), "size of a slice is .* at least 1"),
        ((0, 1, 0), (1, 1, 1), (1, 1, 1), r"from \(0, 1, 0\) of .* is outside a map of"),
    ],
)
def test_a_slice_is_checked_at_birth(start, size, of, message):
    with pytest.raises(ValueError, match=message):
        Slice(start, size, of)


def test_the_second_map_of_a_product_comes_in_pieces():
    scores = ops.matmul("scores", 2, 1, 4, 9, second=(64, 8))
    net = Network("decode", (scores,), (("input", "input:keys", "input:new"),))
    assert scores.map_words == (8, 64, 8)
    assert scores.input_words == 80
    assert net.map_shape("input:keys") == (64, 1, 1)
    with pytest.raises(ValueError, match=r"whole_parts \(64, 9\) must add up to the 72 words"):
        ops.matmul("scores", 2, 1, 4, 9, second=(64, 9))


def test_a_copy_lays_maps_behind_each_other():
    token = vectors.copy("tokens", (8, 5, 1), (8, 32))
    assert token.map_words == (8, 32)
    assert token.vector_ops == token.output_words == 40
    with pytest.raises(ValueError, match="whole_parts are for matmul, copy and bilinear, conv is"):
        replace(ops.conv2d("c", 4, 4, 3, 1), whole_parts=(36,))


def twice(second):
    layers = (ops.linear("fc", 4, 4), second)
    return Network("twice", layers, (("input",), ("fc",)))


def test_shared_weights_count_once():
    again = replace(ops.linear("again", 4, 4, bias=False), weights_of="fc")
    net = twice(again)
    assert net.params == 4 * 4 + 4
    assert net.macs == 32
    assert net.weight_owner(1) == net.weight_owner(0) == 0


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            replace(ops.linear("again", 4, 4), weights_of="later"),
            "again uses the weights of 'later', which is not an earlier layer",
        ),
        (
            replace(ops.linear("again", 4, 3), weights_of="fc"),
            "again has 12 words of weights, fc, whose weights it uses, 16",
        ),
    ],
)
def test_weights_of_no_such_layer_are_refused(layer, message):
    with pytest.raises(ValueError, match=message):
        twice(layer)


def test_a_layer_without_weights_shares_none():
    with pytest.raises(ValueError, match="weights_of is 'fc', but add has no weights"):
        replace(ops.add("sum", 4), weights_of="fc")


def test_a_map_that_cannot_be_followed_is_no_part_of_a_network():
    """Alone the layer can be counted."""
    long = Layer("long", "conv", p=2**40, input_size=(2**40, 1))
    assert long.macs == 2**40
    with pytest.raises(ValueError, match="layer long: p is 1099511627776, along rows and columns"):
        Network("long", (long,), (("input",),))


def test_an_output_is_a_layer():
    net = halves()
    assert replace(net, outputs=("first",)).outputs == ("first",)
    with pytest.raises(
        ValueError, match="network halves: 'third' is listed as an output, but is not a layer"
    ):
        replace(net, outputs=("third",))


def test_a_network_is_immutable_hashable_and_prints_usefully():
    net = network("resnet18")
    with pytest.raises(FrozenInstanceError):
        net.name = "other"  # type: ignore[misc]
    assert net == network("resnet18")
    assert hash(net) == hash(network("resnet18"))
    assert net != network("resnet18").with_batch(2)
    assert repr(net) == "<Network resnet18: 31 layers, 1,814.1 M MACs, 11,689,512 params>"
    first = " ".join(str(net).splitlines()[1].split())
    assert first == "conv1 conv 64 x 112 x 112, 7x7 / 2, relu, 118.0 M MACs <- input"
    assert len(str(net).splitlines()) == 1 + len(net.layers)


def test_a_network_that_travels_hashes_as_at_home():
    """Texts hash differently in every process."""
    net = network("tiny_cnn")
    assert isinstance(hash(net), int)
    code = (
        "import pickle, sys; from archloom.space.networks.registry import network; "
        "net = pickle.load(sys.stdin.buffer); "
        "assert net in {network('tiny_cnn')} and net == network('tiny_cnn')"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(
            [sys.executable, "-c", code], input=pickle.dumps(net), env=environment, check=True
        )
