"""Names of ranks and operands: those of attention, one for each, whatever the group."""

import numpy as np
import pytest

from archloom.evaluators.fusion.nest import nest_group
from archloom.evaluators.fusion.nest.names import operand_names, rank_names
from archloom.evaluators.fusion.nest.ranks import group_ranks
from archloom.space.networks.registry import network

from ....cases.random_nests import random_case


def members(name: str, first: str, last: str):
    net = network(name)
    return net, tuple(range(net.index(first), net.index(last) + 1))


def sizes_of(net, layers):
    return dict(zip(rank_names(net, layers), group_ranks(net, layers).sizes, strict=True))


def test_attention_and_what_follows_it_have_the_names_of_the_field():
    net, layers = members("vit_b_16", "layer0.scores", "layer0.expand")
    assert sizes_of(net, layers) == {
        "heads": 12,
        "keys": 197,
        "head features": 64,
        "queries": 197,
        "value features": 64,
        "project features": 768,
        "expand features": 3072,
    }
    names = operand_names(net, nest_group(net, layers, frozenset()))
    # parts of one map
    assert [name for name in names if "qkv" in name] == [
        "layer0.qkv (queries)",
        "layer0.qkv (keys)",
        "layer0.qkv (values)",
    ]
    assert "weights of layer0.expand" in names


@pytest.mark.parametrize(("kind", "tokens"), [("prefill", {"queries": 512}), ("decode", {})])
def test_heads_that_share_keys_are_told_from_tokens(kind, tokens):
    net, layers = members(f"llama32_1b_{kind}", "layer0.scores", "layer0.project")
    sizes = sizes_of(net, layers)
    named = {name: sizes.get(name) for name in ("heads", "query heads", "queries")}
    assert named == {"heads": 8, "query heads": 4, "queries": None, **tokens}


def test_two_attentions_in_one_group_are_told_apart():
    net, layers = members("vit_b_16", "layer0.scores", "layer1.context")
    names = rank_names(net, layers)
    assert {"layer0.scores heads", "layer1.scores heads"} <= set(names) or names.count("heads") == 1
    assert len(set(names)) == len(names)


def test_rows_columns_and_channels_of_convolutions():
    net, layers = members("resnet18", "conv1", "maxpool")
    assert set(rank_names(net, layers)) >= {"conv1 channels", "conv1 rows", "conv1 columns"}


@pytest.mark.parametrize("seed", range(60))
def test_no_two_have_one_name(seed):
    case = random_case(np.random.default_rng(seed))
    ranks = rank_names(case.network, case.members)
    operands = operand_names(case.network, case.group)
    assert len(set(ranks)) == len(ranks) == len(case.group.ranks.sizes)
    assert len(set(operands)) == len(operands) == len(case.group.operands)
    assert not {"group", "streams"} & set(ranks)
