"""GPT-3, Mistral, Mixtral, DeepSeek-V2-Lite and Whisper: published parameters, work by algebra."""

from dataclasses import replace
from math import prod

import pytest

from archloom.space.networks.registry import network
from archloom.space.networks.transformers.experts import Experts, routed
from archloom.space.networks.transformers.transformer import SequenceBuilder
from archloom.space.workload.slice import Mask, Slice


def layer_of(net, name):
    return net.layers[net.index(name)]


def reads_of(net, name):
    return net.reads[net.index(name)]


# layers, features, heads; parameters by the algebra of GPT-2 with these sizes, which the paper
# gives as 6.7 and 175.0 billion (Brown et al., Table 2.1)
GPTS = {"gpt3_6_7b": (32, 4096, 32, 6_658_404_352), "gpt3_175b": (96, 12_288, 96, 174_604_259_328)}
PUBLISHED = {"gpt3_6_7b": 6.7e9, "gpt3_175b": 175.0e9}


@pytest.mark.parametrize("model", GPTS)
def test_gpt3(model):
    layers, h, heads, params = GPTS[model]
    tables = (50_257 + 2048) * h
    assert layers * (12 * h * h + 13 * h) + tables + 2 * h == params
    assert params == pytest.approx(PUBLISHED[model], rel=0.01)
    s = 100
    prompt, token = (
        network(f"{model}_{phase}", sequence_length=s) for phase in ("prefill", "decode")
    )
    assert prompt.params == token.params == params
    assert prompt.macs == layers * (12 * h * h * s + 2 * h * s * s) + 50_257 * h
    assert token.macs == layers * (12 * h * h + 2 * h * s) + 50_257 * h
    scores = layer_of(prompt, "layer1.scores")
    assert (scores.g, scores.c, scores.p, scores.k) == (heads, 128, s, s)
    assert reads_of(token, "layer1.scores") == (
        "layer1.query",
        "input:layer1.keys",
        "layer1.key",
    )
    assert set(prompt.outputs) == {
        f"layer{i}.{kv}" for i in range(layers) for kv in ("key", "value")
    }
    assert layer_of(prompt, "layer0.expand").activation == "gelu"


def test_chunks_of_a_prompt_do_the_work_of_the_whole_prompt_but_for_pairs_that_masks_drop():
    whole = network("gpt3_6_7b_prefill", sequence_length=512, all_logits=True)
    sizes = {"sequence_length": 256, "all_logits": True}
    first, second = (network("gpt3_6_7b_prefill", cached=c, **sizes) for c in (0, 256))
    dropped = 32 * 2 * 4096 * 256 * 256
    assert first.macs + second.macs == whole.macs - dropped
    assert prod(second.map_shape("input:layer3.keys")) == 4096 * 256
    with pytest.raises(ValueError, match="sequence_length is 256, must be from 1 to 248"):
        network("gpt3_6_7b_prefill", sequence_length=256, cached=1800)


# parameters of the models (Hugging Face transformers, MistralForCausalLM, MixtralForCausalLM and
# DeepseekV2ForCausalLM with the published configurations); the papers round them to 7, 47 and 15.7
TOTALS = {
    "mistral_7b": 7_241_732_096,
    "mixtral_8x7b": 46_702_792_704,
    "deepseek_v2_lite": 15_706_484_224,
}


@pytest.mark.parametrize("model", TOTALS)
def test_parameters(model):
    for phase in ("prefill", "decode"):
        assert network(f"{model}_{phase}", sequence_length=33).params == TOTALS[model]


@pytest.mark.parametrize(("length", "seen"), [(5, 5), (4096, 4096), (9000, 4096)])
def test_a_window_bounds_what_a_token_reads(length, seen):
    net = network("mistral_7b_decode", sequence_length=length)
    scores, context = (layer_of(net, f"layer7.{part}") for part in ("scores", "context"))
    assert (scores.k, context.c) == (seen, seen)
    assert prod(net.map_shape("input:layer7.keys")) == 8 * 128 * (seen - 1)


def test_a_chunk_reads_no_more_than_its_first_token_sees():
    net = network("mistral_7b_prefill", sequence_length=1024, cached=8000)
    assert layer_of(net, "layer0.scores").k == 4095 + 1024
    with pytest.raises(ValueError, match="sequence_length is 4097, must be from 1 to 4096"):
        network("mistral_7b_prefill", sequence_length=4097)


# heads of keys, queries that share one, features of a head; the window of Mistral
MASKED = {
    "gpt3_6_7b": (32, 1, 128, 0),
    "llama3_8b": (8, 4, 128, 0),
    "mistral_7b": (8, 4, 128, 4096),
    "mixtral_8x7b": (8, 4, 128, 0),
}


@pytest.mark.parametrize("cached", [0, 30])
@pytest.mark.parametrize("model", MASKED)
def test_causal_prompts_are_the_same_but_for_masks_of_attention(model, cached):
    heads, sharing, features, window = MASKED[model]
    sizes = {"sequence_length": 100, "cached": cached}
    plain, causal = (network(f"{model}_prefill", **sizes, causal=c) for c in (False, True))
    bare = tuple(replace(layer, mask=None) for layer in causal.layers)
    assert replace(causal, layers=bare) == plain
    masks = {layer.name: layer.mask for layer in causal.layers if layer.mask}
    assert len(masks) == 3 * 32
    assert masks["layer9.scores"] == masks["layer9.softmax"] == Mask("k", sharing, window)
    assert masks["layer9.context"] == Mask("c", sharing, window)
    dropped = 100 * 99 // 2 * heads * sharing * 2 * features * 32
    assert causal.macs - causal.seen_macs == dropped
    assert plain.seen_macs == plain.macs == causal.macs


def test_a_causal_prompt_with_latents():
    plain, causal = (
        network("deepseek_v2_lite_prefill", sequence_length=50, causal=c) for c in (False, True)
    )
    bare = tuple(replace(layer, mask=None) for layer in causal.layers)
    assert replace(causal, layers=bare) == plain
    assert plain.macs - causal.seen_macs == 27 * 16 * (2 * 128 + 64) * 50 * 49 // 2


def test_a_causal_prompt_may_be_longer_than_a_window():
    net = network("mistral_7b_prefill", sequence_length=5000, causal=True)
    seen = sum(min(i + 1, 4096) for i in range(5000))
    assert layer_of(net, "layer3.scores").seen_macs == seen * 32 * 128
    with pytest.raises(ValueError, match="causal is 1, must be true or false"):
        network("mistral_7b_prefill", causal=1)


@pytest.mark.parametrize(
    ("tokens", "active", "expected"),
    [
        (1, 0, (2, 1)),
        (3, 0, (6, 1)),
        (4, 0, (8, 1)),
        (5, 0, (8, 2)),
        (64, 0, (8, 16)),
        (64, 2, (2, 64)),
    ],
)
def test_tokens_are_spread_evenly(tokens, active, expected):
    """Experts with tokens, and the room of each: enough for all routes, none for one more each."""
    found = Experts(8, 2, 5, active=active).capacity(tokens)
    assert found == expected
    assert prod(found) >= 2 * tokens > found[0] * (found[1] - 1)


@pytest.mark.parametrize("tokens", [1, 7, 64])
@pytest.mark.parametrize("active", [0, 3])
def test_work_and_parameters_of_experts(tokens, active):
    net = SequenceBuilder()
    source = net.input("x", 12, tokens)
    routed(net, "e", source, Experts(8, 2, 5, shared=4, active=active))
    found = net.network("e")
    used, room = Experts(8, 2, 5, active=active).capacity(tokens)
    assert found.params == 12 * 8 + 8 * 3 * 12 * 5 + 3 * 12 * 4
    assert found.macs == 12 * 8 * tokens + used * room * 3 * 12 * 5 + 3 * 12 * 4 * tokens
    assert found.map_shape("e.experts") == (12, tokens, 1)
    # weights of experts without tokens are not read
    read = sum(layer.weights for layer in found.layers if ".expert_" in layer.name)
    assert read == used * 3 * 12 * 5


def test_mixtral():
    h, hidden, kv, layers = 4096, 14_336, 1024, 32
    attention = 2 * h * h + 2 * h * kv
    token = network("mixtral_8x7b_decode", sequence_length=9)
    assert token.macs == layers * (attention + 8 * h + 2 * 3 * h * hidden + 2 * h * 9) + 32_000 * h
    # 12.9 billion parameters are active (Jiang et al., section 3): what is read, and the table
    read = sum(layer.weights for layer in token.layers) + 32_000 * h
    assert round(read / 1e9, 1) == 12.9
    even = network("mixtral_8x7b_prefill", sequence_length=512)
    gate = layer_of(even, "layer0.expert_gate")
    assert (gate.g, gate.c, gate.k, gate.p) == (8, h, hidden, 128)
    few = network("mixtral_8x7b_prefill", sequence_length=512, active_experts=2)
    assert layer_of(few, "layer0.expert_gate").p == 512
    assert (few.macs, few.params) == (even.macs, even.params)
    with pytest.raises(ValueError, match="active_experts is 1, must be from 2 to 8"):
        network("mixtral_8x7b_prefill", active_experts=1)


def test_latent_attention_keeps_latents_and_one_rotated_key():
    """576 words a token and layer (DeepSeek-AI, section 2.1.3: d_c + d_h^R)."""
    for phase in ("prefill", "decode"):
        net = network(f"deepseek_v2_lite_{phase}", sequence_length=10)
        tokens = 10 if phase == "prefill" else 1
        assert sum(layer_of(net, n).output_words for n in net.outputs) == 27 * 576 * tokens
    cache = {s for sources in net.reads for s in sources if "latents" in s or "turned_keys" in s}
    assert sum(prod(net.map_shape(source)) for source in cache) == 27 * 576 * 9


def test_work_of_latent_attention():
    h, heads, d, latent, turned, length = 2048, 16, 128, 512, 64, 10
    shared = h * heads * (d + turned) + h * (latent + turned) + heads * d * h
    through = latent * heads * 2 * d
    dense = 3 * h * 10_944
    experts = h * 64 + (6 + 2) * 3 * h * 1408
    perceptrons = dense + 26 * experts
    logits = 102_400 * h
    token = network("deepseek_v2_lite_decode", sequence_length=length)
    seen = heads * length * (latent + turned + latent)
    assert token.macs == 27 * (shared + through + seen) + perceptrons + logits
    # 2.4 billion parameters are active (section B.1)
    assert sum(layer.weights for layer in token.layers) == pytest.approx(2.4e9, rel=0.03)
    prompt = network("deepseek_v2_lite_prefill", sequence_length=64)
    pairs = heads * 64 * 64 * (d + turned + d)
    assert prompt.macs == 27 * ((shared + through) * 64 + pairs) + perceptrons * 64 + logits
    assert layer_of(token, "layer3.scores").whole_parts == (latent * 9, latent, turned * 9, turned)
    query = layer_of(prompt, "layer3.turned_query")
    assert query.slices == (Slice((heads * d, 0, 0), (heads * turned, 64, 1), (3072, 64, 1)),)


# layers, features; parameters of WhisperModel (Hugging Face transformers), where the positions of
# the encoder, sines and cosines, count as learned
WHISPERS = {"whisper_base": (6, 512, 72_593_920), "whisper_large": (32, 1280, 1_543_304_960)}


@pytest.mark.parametrize("model", WHISPERS)
def test_whisper(model):
    layers, h, params = WHISPERS[model]
    encoder, decoder = network(f"{model}_encoder"), network(f"{model}_decoder", sequence_length=20)
    assert encoder.params + 1500 * h + decoder.params == params
    convolutions = 3000 * 80 * h * 3 + 1500 * h * h * 3
    assert encoder.macs == convolutions + layers * (12 * h * h * 1500 + 2 * h * 1500 * 1500)
    token = layers * (12 * h * h + 2 * h * h + 2 * h * (20 + 1500))
    assert decoder.macs == token + 51_865 * h
    first = network(f"{model}_decoder", sequence_length=20, first=True)
    assert first.params == decoder.params
    assert first.macs == decoder.macs + layers * 2 * h * h * 1500
    assert encoder.map_shape("conv2") == (h, 1500, 1)
    assert reads_of(decoder, "layer0.cross.scores") == (
        "layer0.cross.query",
        "input:layer0.cross.keys",
    )
    assert layer_of(encoder, "layer0.key").extra_params == 0
    assert layer_of(encoder, "layer0.value").extra_params == h


def test_vit_large():
    """Parameters of torchvision 0.29's vit_l_16."""
    assert network("vit_l_16").params == 304_326_632
    h, s = 1024, 197
    patches, head = 14 * 14 * 16 * 16 * 3 * h, 1000 * h
    assert network("vit_l_16").macs == patches + 24 * (12 * h * h * s + 2 * s * s * h) + head
