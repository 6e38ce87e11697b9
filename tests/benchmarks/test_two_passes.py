"""A softmax in two passes over tiles of keys against a running one in the same nest."""

import importlib
import sys
from dataclasses import replace
from math import ceil, inf
from typing import Any

import pytest

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import depths
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.fusion.loop_nest import LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload.network import Network

from ..cases.small_designs import three_levels
from ..source_tree import ROOT

sys.path.insert(0, str(ROOT))

script: Any = importlib.import_module("benchmarks.fusion.two_passes")

HEADS, QUERIES, KEYS = 2, 6, 24
SCORES, SOFTMAX, CONTEXT = GROUP = (0, 1, 2)


def attention(features: int) -> Network:
    builder = SequenceBuilder()
    maps = [
        builder.input(name, HEADS * features, rows)
        for name, rows in (("q", QUERIES), ("k", KEYS), ("v", KEYS))
    ]
    builder.attention("a", Heads(HEADS, features), *maps)
    return builder.network("attention")


def chip() -> Hardware:
    """A buffer that holds all, and gives one word an access."""
    design = three_levels(1 << 14, (64, 64, 64))
    spad, buffer, dram = design.levels
    return replace(design, levels=(spad, replace(buffer, width_words=1), dram))


def cost(network: Network, queries: int, keys: int) -> GroupCost:
    """Evaluate the group with a head, some queries and some keys at a time."""
    whole = nest_group(network, GROUP, frozenset())
    assert whole is not None
    scores = whole.ranks.dims[SCORES]
    (heads,), (columns,), (rows,) = scores[1], scores[2], scores[4]
    tiles = ((heads, 1, HEADS), (rows, queries, QUERIES), (columns, keys, KEYS))
    loops = tuple(NestLoop(rank, tile) for rank, tile, size in tiles if tile < size)
    ranks = tuple(loop.rank for loop in loops)
    group = nest_group(network, GROUP, frozenset(ranks))
    assert group is not None
    depth = tuple(depths(group, ranks, t)[-1] for t in range(len(group.operands)))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 3000, seed=1)
    found = group_cost(
        network, FusionGroup(GROUP, nest=LoopNest(loops, depth)), chip(), mapper, ALONE
    )
    assert isinstance(found, GroupCost), found
    return found


def two_passes(features: int, queries: int, keys: int) -> float:
    """Energy (pJ) at least: the second pass, with scores made again in the buffer and read."""
    second = cost(script.by_value(attention(features), ("softmax",)), queries, keys)
    prices = script.prices_of(chip())
    again = second.layers[SCORES]
    made = again.compute_pj + float(again.energy_pj[:-1].sum())
    # what fills the buffer came with it
    more: float = made + HEADS * QUERIES * KEYS * prices.read_input
    return second.dynamic_pj + more


@pytest.mark.parametrize("features", [2, 8, 32, 64])
@pytest.mark.parametrize(("queries", "keys"), [(6, 1), (3, 2), (6, 4), (2, 5), (6, 8), (4, 12)])
def test_two_passes_take_more_energy_by_what_is_said(
    features: int, queries: int, keys: int
) -> None:
    one = cost(attention(features), queries, keys).dynamic_pj
    more = two_passes(features, queries, keys) - one
    prices = script.prices_of(chip())
    rows, pieces = HEADS * QUERIES, ceil(KEYS / keys)
    again = features * prices.mac - prices.read_input - prices.operation
    rescaled = (features + 2) * (prices.read + prices.write) + (features + 28) * prices.operation
    assert more >= rows * (KEYS * again - (pieces - 1) * rescaled) * (1 - 1e-6)
    if keys >= script.least_keys(prices, features, features):
        assert more > 0


def test_tiles_of_few_keys_may_take_less_energy_in_two_passes() -> None:
    """Else the least number of keys would say nothing."""
    single = cost(attention(8), QUERIES, 1).dynamic_pj
    assert two_passes(8, QUERIES, 1) < single
    assert script.least_keys(script.prices_of(chip()), 8, 8) > 1


def test_no_number_of_keys_is_enough_where_a_score_costs_next_to_nothing() -> None:
    prices = script.prices_of(chip())._replace(mac=0.0)
    assert script.least_keys(prices, 64, 64) == inf


def test_what_is_left_of_a_softmax_reads_and_writes_each_value_once() -> None:
    network = attention(4)
    one, second = network.layers[SOFTMAX], script.by_value(network, ("softmax",)).layers[SOFTMAX]
    assert second.output_words == one.output_words
    assert one.vector is not None
    assert second.vector is not None
    # all but the product with the inverse of the sum
    assert second.vector_ops == one.vector_ops - one.output_words
    assert (one.vector.passes, one.vector.writes) == (3, 2)
    assert (second.vector.passes, second.vector.writes) == (1, 1)


def test_softmax_in_two_passes_costs_more_for_a_whole_network() -> None:
    """Attention with more tokens than features, so that scores are much of the work."""
    builder = SequenceBuilder()
    norm = builder.layer_norm("norm", builder.input("x", 2 * 64, 512))
    last = builder.cached_attention("attention", Heads(2, 64), norm)
    for name in ("one", "two"):
        last = builder.linear(name, last, 2 * 64)
    row = script.compare(builder.network("attention"), preset("simba"), 4)
    assert 0.8 < row["softmax_second"] < 1.01
    assert row["softmax"] > 1.1
    assert 0.8 < row["norms_second"] < row["norms"]
