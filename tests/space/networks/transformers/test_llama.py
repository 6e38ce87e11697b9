"""Decoders: parameters as published, work and traffic of the cache by algebra."""

from math import prod

import pytest

from archloom.space.networks.registry import network
from archloom.space.networks.transformers.llama import Decoder, decode, prefill
from archloom.space.networks.transformers.transformer import Heads
from archloom.space.workload.network import is_input
from archloom.space.workload.slice import Slice

# layers, features, hidden, query heads, KV heads, features of a head, tied; parameters of
# LlamaForCausalLM (Hugging Face transformers 5.23) with the published configurations
MODELS = {
    "llama3_8b": (32, 4096, 14_336, 32, 8, 128, False, 8_030_261_248),
    "llama3_70b": (80, 8192, 28_672, 64, 8, 128, False, 70_553_706_496),
    "llama32_1b": (16, 2048, 8192, 32, 8, 64, True, 1_235_814_400),
}
VOCABULARY = 128_256
TINY = Decoder(2, 16, 24, Heads(2, 4, sharing=2), 11)


def layer_of(net, name):
    return net.layers[net.index(name)]


def weights_of_a_layer(model):
    """Queries and output, keys and values, and the three matrices of the perceptron."""
    _, h, hidden, heads, kv, d, _, _ = MODELS[model]
    return 2 * h * heads * d + 2 * h * kv * d + 3 * h * hidden


def cache_reads(net):
    return {s for sources in net.reads for s in sources if s.endswith((".keys", ".values"))}


@pytest.mark.parametrize("model", MODELS)
def test_parameters(model):
    layers, h, _, _, _, _, tied, params = MODELS[model]
    assert network(f"{model}_prefill").params == network(f"{model}_decode").params == params
    tables = VOCABULARY * h * (1 if tied else 2)
    assert layers * (weights_of_a_layer(model) + 2 * h) + h + tables == params


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("length", [1, 2, 2048])
def test_work_of_a_decoded_token(model, length):
    layers, h, _, heads, _, d, _, _ = MODELS[model]
    net = network(f"{model}_decode", sequence_length=length)
    attention = 2 * heads * d * length
    assert net.macs == layers * (weights_of_a_layer(model) + attention) + VOCABULARY * h


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("all_logits", [False, True])
def test_work_of_a_prompt(model, all_logits):
    """Scores of all pairs: the half that the causal mask drops is computed."""
    layers, h, _, heads, _, d, _, _ = MODELS[model]
    s = 100
    net = network(f"{model}_prefill", sequence_length=s, all_logits=all_logits)
    attention = 2 * heads * d * s * s
    logits = VOCABULARY * h * (s if all_logits else 1)
    assert net.macs == layers * (weights_of_a_layer(model) * s + attention) + logits


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("length", [2, 777])
@pytest.mark.parametrize("batch", [1, 3])
def test_traffic_of_the_cache(model, length, batch):
    layers, _, _, _, kv, d, _, _ = MODELS[model]
    net = network(f"{model}_decode", sequence_length=length).with_batch(batch)
    read = cache_reads(net)
    assert len(read) == 2 * layers
    assert sum(prod(net.map_shape(s)) for s in read) == 2 * layers * kv * d * (length - 1)
    assert sum(layer_of(net, name).output_words for name in net.outputs) == (
        batch * 2 * layers * kv * d
    )
    # both products need old and new rows, in this order
    for i in (0, layers - 1):
        for product, old, new in (
            ("scores", "keys", "turned_key"),
            ("context", "values", "value"),
        ):
            layer = layer_of(net, f"layer{i}.{product}")
            sources = net.reads[net.index(layer.name)]
            assert sources[1:] == (f"input:layer{i}.{old}", f"layer{i}.{new}")
            assert layer.whole_parts == (kv * d * (length - 1), kv * d)
            assert layer.input_words == batch * sum(layer.map_words)


def test_a_prompt_fills_the_cache_and_reads_none():
    layers, _, _, _, kv, d, _, _ = MODELS["llama32_1b"]
    net = network("llama32_1b_prefill", sequence_length=50)
    assert cache_reads(net) == set()
    assert [s for sources in net.reads for s in sources if is_input(s)] == ["input:tokens"] * 2
    assert net.outputs == tuple(
        f"layer{i}.{part}" for i in range(layers) for part in ("turned_key", "value")
    )
    assert sum(layer_of(net, name).output_words for name in net.outputs) == (
        2 * layers * kv * d * 50
    )


def test_the_first_token_has_no_cache_and_is_a_prompt_of_one():
    first, prompt = decode("x", TINY, 1), prefill("x", TINY, 1)
    assert first == prompt
    assert cache_reads(first) == set()


def test_queries_share_the_heads_of_keys_and_values():
    """Eight heads of queries: sharing changes what is projected and kept, not the products."""
    alone = decode("x", Decoder(1, 32, 8, Heads(8, 4), 3), 9)
    shared = decode("x", Decoder(1, 32, 8, Heads(2, 4, sharing=4), 3), 9)
    for name in ("layer0.scores", "layer0.context"):
        a, b = layer_of(alone, name), layer_of(shared, name)
        assert a.macs == b.macs == 8 * 4 * 9
        assert a.whole_words == 4 * b.whole_words == 8 * 4 * 9
        assert (b.g, b.p) == (2, 4)
    assert layer_of(shared, "layer0.query").params == layer_of(alone, "layer0.query").params
    assert 4 * layer_of(shared, "layer0.key").params == layer_of(alone, "layer0.key").params
    assert layer_of(shared, "layer0.softmax").output_words == 8 * 9


def test_the_parts_of_a_layer():
    net = network("llama3_8b_prefill", sequence_length=7)
    reads = {name: net.reads[net.index(f"layer1.{name}")] for name in ("gated", "add1", "add2")}
    assert reads["gated"] == ("layer1.gate", "layer1.up")
    assert reads["add1"] == ("layer1.project", "layer0.add2")
    assert reads["add2"] == ("layer1.down", "layer1.add1")
    assert layer_of(net, "layer1.gate").activation == "silu"
    assert layer_of(net, "layer1.up").activation == ""
    operators = [layer_of(net, f"layer1.{n}").operator for n in ("norm1", "turned_query", "gated")]
    assert operators == ["rms_norm", "rotary", "mul"]
    assert layer_of(net, "layer1.turned_query").output_channels == 4096
    assert layer_of(net, "layer1.turned_key").output_channels == 1024


def test_logits_of_the_last_token_alone_unless_asked():
    last = layer_of(network("llama32_1b_prefill", sequence_length=7), "logits")
    assert (last.p, last.k) == (1, VOCABULARY)
    assert last.slices == (Slice((0, 6, 0), (2048, 1, 1), (2048, 7, 1)),)
    every = layer_of(network("llama32_1b_prefill", sequence_length=7, all_logits=True), "logits")
    assert (every.p, every.slices) == (7, ())


def test_a_tied_table_counts_with_the_layer_that_multiplies_by_it():
    tied = network("llama32_1b_decode")
    assert tied.layers[0].extra_params == 0
    assert layer_of(tied, "logits").params == VOCABULARY * 2048
    own = network("llama3_8b_decode")
    assert own.layers[0].extra_params == layer_of(own, "logits").params == VOCABULARY * 4096


@pytest.mark.parametrize("name", ["llama3_8b_prefill", "llama32_1b_decode"])
def test_a_length_that_cannot_be(name):
    why = f"{name}: sequence_length is 0, must be at least 1; nearest: 1"
    with pytest.raises(ValueError, match=why):
        network(name, sequence_length=0)
    with pytest.raises(ValueError, match="did you mean sequence_length"):
        network(name, sequence_lenght=5)
