"""Ragged batches: work by closed forms, tokens in place, one sequence as the ordinary network."""

from math import prod

import numpy as np
import pytest

from archloom.space.networks.registry import network, options
from archloom.space.networks.transformers.llama import Decoder, decode, prefill
from archloom.space.networks.transformers.ragged import MOST_SEQUENCES, Packed
from archloom.space.networks.transformers.transformer import Heads
from archloom.space.workload.network import is_input

from ....cases.sweeps import sweep

TINY = Decoder(2, 16, 24, Heads(2, 4, sharing=2), 11)
#: of a layer: queries and output, keys and values, three matrices of the perceptron
WEIGHTS = 2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24
#: products for a pair of a query and a key, of all heads
PAIR = 2 * 4 * 4

BERT = "bert_base"
RAGGED = ("llama32_1b", "llama3_8b", "mistral_7b", "mixtral_8x7b", "gpt3_6_7b")


def random_lengths(seed, most=9):
    rng = np.random.default_rng(seed)
    return [int(x) for x in rng.integers(1, most, int(rng.integers(2, 8)))]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("all_logits", [False, True])
def test_work_of_prompts(seed, all_logits):
    lengths = random_lengths(seed)
    net, tokens = prefill("x", TINY, *lengths, all_logits=all_logits), sum(lengths)
    pairs = sum(n * n for n in lengths)
    logits = 16 * 11 * (tokens if all_logits else len(lengths))
    assert net.macs == 2 * (tokens * WEIGHTS + pairs * PAIR) + logits
    assert net.params == prefill("x", TINY, 5).params


@pytest.mark.parametrize("seed", range(20))
def test_work_and_caches_of_decoded_tokens(seed):
    lengths = random_lengths(seed)
    net = decode("x", TINY, *lengths)
    assert net.macs == len(lengths) * (2 * WEIGHTS + 16 * 11) + 2 * sum(lengths) * PAIR
    caches = {s for reads in net.reads for s in reads if s.endswith((".keys", ".values"))}
    # a cache has one row less than attention sees
    assert sum(prod(net.map_shape(s)) for s in caches) == 2 * 2 * 8 * sum(n - 1 for n in lengths)
    leaving = sum(net.layers[net.index(name)].output_words for name in net.outputs)
    assert leaving == 2 * 2 * 8 * len(lengths)


@pytest.mark.parametrize("seed", range(20))
def test_each_token_is_in_the_attention_of_its_sequence_and_no_other(seed):
    lengths = random_lengths(seed)
    net, tokens = prefill("x", TINY, *lengths), sum(lengths)
    for kind, place, source in (
        ("scores", 0, "turned_query"),
        ("scores", 1, "turned_key"),
        ("context", 1, "value"),
    ):
        boxes = [
            (layer, layer.slice_of(place), net.reads[i][place])
            for i, layer in enumerate(net.layers)
            if layer.name.startswith("layer1.") and layer.name.endswith(f".{kind}")
        ]
        assert {read for _, _, read in boxes} == {f"layer1.{source}"}
        rows = [range(b.start[1], b.start[1] + b.size[1]) for _, b, _ in boxes]
        assert sorted(row for some in rows for row in some) == list(range(tokens))
        # as many heads for each sequence, which has all rows of its own
        keys = [layer.k if kind == "scores" else layer.c for layer, *_ in boxes]
        found = [(n, layer.g // 2) for n, (layer, *_) in zip(keys, boxes, strict=True)]
        assert sorted(n for n, count in found for _ in range(count)) == sorted(lengths)
    packed = net.layers[net.index("layer1.packed")]
    assert (packed.output_channels, packed.p) == (16, tokens)


@pytest.mark.parametrize("count", range(2, 7))
def test_rows_of_queries_are_not_taken_for_tokens(count):
    """Two heads share keys: of two sequences there would be as many rows as tokens."""
    net = prefill("x", TINY, *[3] * count)
    for layer in net.layers:
        if layer.name.endswith(".scores"):
            box = layer.slice_of(0)
            assert box is not None
            # one sequence after another, its queries with all heads that share keys
            assert box.size[1:] != layer.input_size
    counts = [la.g // 2 for la in net.layers if la.name.endswith(".scores")]
    assert counts[: len(counts) // 2] == ([1, 1] if count == 2 else [count])


@pytest.mark.parametrize(
    "name", [BERT, *(f"{n}_prefill" for n in RAGGED), *(f"{n}_decode" for n in RAGGED)]
)
def test_a_list_of_one_is_the_ordinary_network(name):
    assert options(name)["lengths"] == ()
    assert network(name, lengths=[37]) == network(name, sequence_length=37)
    assert network(name, lengths=[]) == network(name)
    ragged = network(name, lengths=(37, 5, 5))
    alone = [network(name, sequence_length=n) for n in (37, 5, 5)]
    assert ragged.params == alone[0].params
    if not name.startswith("mixtral"):
        # experts have room for the same number of tokens, which need not divide
        assert ragged.macs == sum(net.macs for net in alone)


def test_a_window_and_a_cache_are_those_of_each_sequence():
    net = network("mistral_7b_decode", lengths=[9000, 100])
    caches = {s for reads in net.reads for s in reads if s.endswith(".keys")}
    assert {prod(net.map_shape(s)) for s in caches} == {4095 * 8 * 128, 99 * 8 * 128}
    chunk = network("llama32_1b_prefill", lengths=[30, 10], cached=50, causal=True)
    masked = [la for la in chunk.layers if la.name.startswith("layer0.") and la.mask]
    assert [(la.p // 4, la.c if la.name.endswith("context") else la.k) for la in masked] == [
        (new, 50 + new) for new in (30, 30, 30, 10, 10, 10)
    ]
    assert chunk.seen_macs < chunk.macs
    dense = sum(n * (n + 50) for n in (30, 10))
    seen = sum(n * 50 + n * (n + 1) // 2 for n in (30, 10))
    assert chunk.macs - chunk.seen_macs == 16 * 2 * 32 * 64 * (dense - seen)


def test_the_pooler_reads_the_first_token_of_each_sequence():
    net = network(BERT, lengths=[2, 7, 2])
    first = net.layers[net.index("first")]
    assert [box.start[1] for box in first.slices if box is not None] == [0, 7, 9]
    assert net.layers[net.index("pooler")].p == 3


def test_last_tokens_are_those_of_each_sequence():
    net = prefill("x", TINY, 2, 5, 2, 1)
    last = net.layers[net.index("last")]
    assert [box.start[1] for box in last.slices if box is not None] == [4, 6, 8, 9]
    assert Packed.of([(2, 0), (5, 0)]).last == (4, 6)
    assert net.layers[-1].p == 4
    assert {s for reads in net.reads for s in reads if is_input(s)} == {"input:tokens"}


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("llama32_1b_prefill", {"lengths": [3, 0, -1]}, r"lengths\[1\] is 0, must be at least 1"),
        ("llama32_1b_prefill", {"lengths": [3, 0, -1]}, r"; lengths\[2\] is -1, .*; nearest: 1"),
        ("mistral_7b_prefill", {"lengths": [4097]}, r"lengths\[0\] is 4097, .* nearest: 4096"),
        ("gpt3_6_7b_decode", {"lengths": [1, 2049]}, r"lengths\[1\] is 2049, .* nearest: 2048"),
        ("gpt3_6_7b_decode", {"lengths": [1.5]}, r"lengths is \[1.5\], must be a list of whole"),
        ("gpt3_6_7b_decode", {"lengths": 5}, "lengths is 5, must be a list of whole numbers"),
        ("llama32_1b_decode", {"lengths": [1] * (MOST_SEQUENCES + 1)}, "must be at most 1024"),
        ("llama32_1b_decode", {"lengths": [2], "sequence_length": 2}, "leave one of them out"),
        ("bert_base", {"lengths": [2, 513]}, r"lengths\[1\] is 513, .* nearest: 512"),
        ("xlnet_base", {"lengths": [2]}, "option 'lengths' is not known"),
    ],
)
def test_lengths_that_cannot_be(name, chosen, message):
    with pytest.raises(ValueError, match=message):
        network(name, **chosen)


@pytest.mark.parametrize("seed", sweep(range(40), sample=4))
def test_order_of_the_list_does_not_matter(seed):
    lengths = random_lengths(seed)
    shuffled = np.random.default_rng(seed).permutation(lengths).tolist()
    assert prefill("x", TINY, *lengths) == prefill("x", TINY, *shuffled)
