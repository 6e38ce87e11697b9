"""Encoders: parameters as in their implementations, work as the algebra of a layer says."""

import pytest

from archloom.space.networks.registry import network
from archloom.space.workload.slice import Slice


def layer_of(net, name):
    return net.layers[net.index(name)]


def reads_of(net, name):
    return net.reads[net.index(name)]


# (layers, features, heads, parameters of BertModel, Hugging Face transformers 5.23, counted there)
BERTS = {"bert_base": (12, 768, 12, 109_482_240), "bert_large": (24, 1024, 16, 335_141_888)}
# the same of XLNetModel
XLNETS = {"xlnet_base": (12, 768, 12, 116_718_336), "xlnet_large": (24, 1024, 16, 360_268_800)}


@pytest.mark.parametrize("name", BERTS)
@pytest.mark.parametrize("length", [1, 128, 384, 512])
def test_bert(name, length):
    layers, h, heads, params = BERTS[name]
    net = network(name, sequence_length=length)
    assert net.params == params
    # query, key, value, output, two layers of 4 h; scores and their product with values; pooler
    assert net.macs == layers * (12 * h * h * length + 2 * length * length * h) + h * h
    scores, context = (layer_of(net, f"layer3.{part}") for part in ("scores", "context"))
    assert (scores.g, scores.p, scores.c, scores.k) == (heads, length, h // heads, length)
    assert (context.g, context.p, context.c, context.k) == (heads, length, length, h // heads)


@pytest.mark.parametrize(("length", "giga_macs"), [(128, 11.17), (384, 35.33)])
def test_bert_base_has_its_published_work(length, giga_macs):
    """Products of maps and the pooler included; to the precision in which it is quoted."""
    assert round(network("bert_base", sequence_length=length).macs / 1e9, 2) == giga_macs


def test_the_parts_of_bert():
    h, s = 768, 128
    net = network("bert_base")
    first = net.layers[0]
    assert net.reads[0] == ("input:words", "input:positions", "input:segments")
    assert first.params == (30_522 + 512 + 2) * h
    assert first.map_words == (s * h,) * 3
    assert reads_of(net, "layer0.scores") == ("layer0.query", "layer0.key")
    assert reads_of(net, "layer0.context") == ("layer0.softmax", "layer0.value")
    assert reads_of(net, "layer1.query") == ("layer0.norm2",)
    assert reads_of(net, "layer1.add1") == ("layer1.project", "layer0.norm2")
    assert layer_of(net, "layer0.expand").activation == "gelu"
    assert layer_of(net, "pooler").slices == (Slice((0, 0, 0), (h, 1, 1), (h, s, 1)),)
    assert layer_of(net, "pooler").activation == "tanh"


@pytest.mark.parametrize("name", XLNETS)
@pytest.mark.parametrize("length", [1, 128, 512])
def test_xlnet(name, length):
    layers, h, heads, params = XLNETS[name]
    net = network(name, sequence_length=length)
    assert net.params == params
    # q, k, v and o; r of twice as many distances; scores by content and by distance; values
    projections = 4 * length * h * h + 2 * length * h * h
    products = length * length * h + 2 * length * length * h + length * length * h
    assert net.macs == layers * (projections + products + 8 * length * h * h)
    position = layer_of(net, "layer3.position")
    assert (position.g, position.p, position.k) == (heads, length, 2 * length)


def test_the_parts_of_xlnet():
    h, s, heads = 768, 128, 12
    net = network("xlnet_base")
    assert net.map_shape("input:distances") == (h, 2 * s, 1)
    for i in range(12):
        assert reads_of(net, f"layer{i}.r") == ("input:distances",)
    assert reads_of(net, "layer0.content") == ("layer0.q_content", "layer0.k")
    assert reads_of(net, "layer0.position") == ("layer0.q_position", "layer0.r")
    scores = layer_of(net, "layer0.scores")
    assert reads_of(net, "layer0.scores") == ("layer0.content", "layer0.position")
    assert scores.map_words == (heads * s * s,) * 2
    assert scores.slices[1].of == (heads * 2 * s, s, 1)
    # a table of 32,000 and the vector of masks; biases of content and distance, and of segments
    assert layer_of(net, "layer0.q").extra_params == 32_001 * h
    assert layer_of(net, "layer1.q").extra_params == 0
    biases = [layer_of(net, f"layer1.q_{what}").params for what in ("content", "position")]
    assert sum(biases) == 3 * h + 2 * h


def test_vit():
    """Parameters of torchvision 0.29's vit_b_16; work by the algebra of a layer."""
    net = network("vit_b_16")
    h, s = 768, 14 * 14 + 1
    assert net.params == 86_567_656
    patches, head = 14 * 14 * 16 * 16 * 3 * h, 1000 * h
    assert net.macs == patches + 12 * (12 * h * h * s + 2 * s * s * h) + head
    assert round(net.macs / 1e6, 1) == 17_563.8


def test_the_parts_of_vit():
    h, s = 768, 197
    net = network("vit_b_16")
    tokens, embedding = layer_of(net, "tokens"), layer_of(net, "embedding")
    assert reads_of(net, "tokens") == ("input:class_token", "patches")
    assert (tokens.operator, tokens.map_shape, tokens.params) == ("copy", (h, s, 1), h)
    assert reads_of(net, "embedding") == ("tokens", "input:position_embedding")
    assert embedding.params == s * h
    assert (layer_of(net, "layer0.qkv").k, layer_of(net, "layer0.qkv").params) == (
        3 * h,
        3 * (h * h + h),
    )
    # thirds of one product, in this order
    boxes = [Slice((i * h, 0, 0), (h, s, 1), (3 * h, s, 1)) for i in range(3)]
    assert reads_of(net, "layer0.scores") == ("layer0.qkv", "layer0.qkv")
    assert layer_of(net, "layer0.scores").slices == (boxes[0], boxes[1])
    assert reads_of(net, "layer0.context") == ("layer0.softmax", "layer0.qkv")
    assert layer_of(net, "layer0.context").slices == (None, boxes[2])
    assert reads_of(net, "head") == ("norm",)
    assert layer_of(net, "head").slices == (Slice((0, 0, 0), (h, 1, 1), (h, s, 1)),)


@pytest.mark.parametrize("name", ["bert_base", "xlnet_large", "vit_b_16"])
def test_a_batch_shares_weights_and_nothing_else(name):
    one, four = network(name), network(name).with_batch(4)
    assert four.macs == 4 * one.macs
    assert four.params == one.params
    for a, b in zip(one.layers, four.layers, strict=True):
        assert (b.input_words, b.output_words) == (4 * a.input_words, 4 * a.output_words)
        assert b.weight_words == a.weight_words


@pytest.mark.parametrize(
    ("name", "length", "why"),
    [
        ("bert_base", 513, "bert_base: sequence_length is 513, must be from 1 to 512; nearest"),
        ("bert_large", 0, "sequence_length is 0, must be from 1 to 512; nearest: 1"),
        ("xlnet_base", -3, "sequence_length is -3, must be at least 1; nearest: 1"),
    ],
)
def test_a_length_that_cannot_be(name, length, why):
    with pytest.raises(ValueError, match=why):
        network(name, sequence_length=length)
