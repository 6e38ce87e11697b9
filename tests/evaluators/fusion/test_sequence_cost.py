"""Sequence networks priced: each word of weights, caches and states, counted by hand."""

from math import prod

import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.fusion.plan import FusionGroup, layer_by_layer
from archloom.space.networks.cnn.crnn import ocr_recognizer
from archloom.space.networks.neumf import ncf
from archloom.space.networks.registry import network
from archloom.space.networks.transformers.bert import bert
from archloom.space.networks.transformers.llama import Decoder, decode, prefill
from archloom.space.networks.transformers.transformer import Heads
from archloom.space.networks.transformers.xlnet import xlnet
from archloom.space.workload.network import is_input

from ...cases.designs import edge
from ...cases.mappers import BufferMapper
from .test_plan import priced

ROOMY = edge(32 << 20)
TINY = Decoder(2, 16, 24, Heads(2, 4, sharing=2), 11)
#: two layers of 2 heads of 4: words of keys and values of one token
ROW = 2 * 2 * 2 * 4
LENGTH = 6

NETWORKS = {
    "decode": decode("decode", TINY, LENGTH),
    "prefill": prefill("prefill", TINY, LENGTH),
    "ragged_decode": decode("ragged_decode", TINY, 6, 6, 3, 1),
    "ragged_prefill": prefill("ragged_prefill", TINY, 5, 2, 2, 2, 1),
    "bert": bert("bert", 2, 8, 2, sequence_length=5),
    "xlnet": xlnet("xlnet", 2, 8, 2, sequence_length=5),
    "ncf": ncf(),
    "recognizer": ocr_recognizer(width=8),
}


def layered(net):
    return priced(net, layer_by_layer(net), ROOMY, BufferMapper())


def fused(net):
    """All layers in one group, without tiles, weights of products in the buffer."""
    layers = tuple(range(len(net.layers)))
    resident = tuple(i for i in layers if net.layers[i].operator in ("conv", "gemm"))
    group = FusionGroup(layers, None, "keep_all", resident)
    cost = group_cost(net, group, ROOMY, BufferMapper())
    assert isinstance(cost, GroupCost)
    return cost


def matrices(net):
    """Words of weights of products, each once."""
    return sum(la.weight_words for la in net.layers if la.uses_macs and not la.weights_of)


def scales(net):
    """Words of scales and shifts of norms."""
    return sum(la.weight_words for la in net.layers if not la.uses_macs)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [1, 3])
def test_layer_by_layer_every_map_is_written_and_read(name, batch):
    net = NETWORKS[name].with_batch(batch)
    cost = layered(net)
    assert cost.dram_reads == sum(la.read_words + la.weight_words for la in net.layers)
    assert cost.dram_writes == sum(la.output_words for la in net.layers)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [1, 3])
def test_fused_only_inputs_weights_and_results_move(name, batch):
    net = NETWORKS[name].with_batch(batch)
    cost = fused(net)
    inputs = {source for sources in net.reads for source in sources if is_input(source)}
    words = sum(prod(net.map_shape(source)) for source in inputs)
    # images follow each other: norms learn so few words that they are fetched for each
    assert cost.dram_reads == matrices(net) + batch * (scales(net) + words)
    leaves = {net.layers[-1].name, *net.outputs}
    assert cost.dram_writes == sum(la.output_words for la in net.layers if la.name in leaves)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_fused_token_reads_the_cache_and_writes_its_rows(batch):
    net = NETWORKS["decode"].with_batch(batch)
    cost = fused(net)
    assert cost.dram_writes == batch * (11 + ROW)
    assert cost.dram_reads == matrices(net) + batch * (scales(net) + 16 + ROW * (LENGTH - 1))


def test_a_fused_prompt_writes_the_rows_of_all_its_tokens():
    assert fused(NETWORKS["prefill"]).dram_writes == 11 + ROW * LENGTH


def test_longer_caches_cost_what_is_read_more():
    short, long = (fused(decode("x", TINY, length)) for length in (6, 26))
    assert long.dram_reads - short.dram_reads == 20 * ROW
    assert long.dram_writes == short.dram_writes


@pytest.mark.parametrize("batch", [1, 2])
def test_a_token_of_llama_reads_its_weights_and_the_cache(batch):
    """A billion weights from DRAM for one token, and the cache for each of the batch."""
    net = network("llama32_1b_decode", sequence_length=512).with_batch(batch)
    cost = priced(net, layer_by_layer(net), ROOMY, Mapper(RandomMapping(), 10, seed=1))
    cache = 2 * 16 * 8 * 64 * 511
    assert cost.dram_reads >= 1_235_814_400 + batch * cache
    assert cost.dram_writes >= batch * (2 * 16 * 8 * 64 + 128_256)
    products = [
        share
        for group in cost.groups
        for share in group.layers
        if net.layers[share.layer].multiplies_maps
    ]
    assert len(products) == 32
    by_group = {group.group.layers[0]: group for group in cost.groups}
    read = sum(by_group[share.layer].dram_reads for share in products)
    # queries and softmaxes beside keys and values, old and new
    assert read >= batch * (cache + 2 * 16 * 8 * 64 + 16 * (32 * 64 + 32 * 512))
