"""Which loops may leave out tiles that a mask drops."""

from dataclasses import replace

import pytest

from archloom.evaluators.fusion.nest import (
    NestGroup,
    NestWalk,
    depths,
    group_ranks,
    masked_pair,
    masked_ranks,
    nest_group,
)
from archloom.evaluators.fusion.nest.iterations.when_used import MOST_TILES
from archloom.space.fusion import LoopNest, NestLoop
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload import Network

SCORES, SOFTMAX, CONTEXT, BEHIND = range(4)
N, G, K, C, P, Q = range(6)


def attention(tokens: int = 12, outputs: tuple[str, ...] = (), causal: bool = True) -> Network:
    """Return causal attention with two heads of queries to one of keys, and a layer behind it."""
    sees, heads, builder = Causal() if causal else None, Heads(2, 4, sharing=2), SequenceBuilder()
    query = builder.input("query", 16, tokens)
    key, value = (builder.input(name, 8, tokens) for name in ("key", "value"))
    scores = builder.scores("scores", heads, query, key, sees=sees)
    builder.linear("behind", builder.weigh("a", heads, scores, value, sees=sees), 8, bias=False)
    builder.leave(*outputs)
    return builder.network("attention")


def grouped(network: Network, *dims: tuple[int, int, int]) -> tuple[NestGroup, frozenset[int]]:
    """Return the group of all layers in loops over ranks: member, dimension, and which of it."""
    layers = tuple(range(len(network.layers)))
    ranks = group_ranks(network, layers)
    assert ranks is not None
    looped = frozenset(ranks.dims[m][d][at] for m, d, at in dims)
    group = nest_group(network, layers, looped)
    assert group is not None
    return group, looped


QUERIES, KEYS = (SCORES, P, 0), (SCORES, K, 0)


@pytest.mark.parametrize(
    "others", [(), ((SCORES, G, 0),), ((SCORES, P, 1),), ((CONTEXT, K, 0), (SCORES, G, 0))]
)
def test_loops_over_queries_and_keys_leave_out_tiles_whatever_else_is_looped_over(
    others: tuple[tuple[int, int, int], ...],
) -> None:
    group, looped = grouped(attention(), QUERIES, KEYS, *others)
    ranks = masked_ranks(group, looped)
    assert ranks is not None
    assert (ranks.queries, ranks.keys) == masked_pair(group)
    first, last = ranks.seen(4, 3)
    assert (first.tolist(), last.tolist()) == ([0, 0, 0], [1, 2, 3])


@pytest.mark.parametrize(
    ("network", "dims"),
    [
        (attention(), (QUERIES,)),
        (attention(), (KEYS, (SCORES, G, 0))),
        (attention(causal=False), (QUERIES, KEYS)),
        (attention(outputs=("scores",)), (QUERIES, KEYS)),
        (attention(outputs=("a.softmax",)), (QUERIES, KEYS)),
    ],
    ids=["queries alone", "keys alone", "no mask", "scores leave", "shares leave"],
)
def test_all_tiles_run_elsewhere(network: Network, dims: tuple[tuple[int, int, int], ...]) -> None:
    assert masked_ranks(*grouped(network, *dims)) is None


@pytest.mark.parametrize("member", [SCORES, SOFTMAX, CONTEXT])
def test_a_mask_that_a_layer_lacks_or_has_otherwise(member: int) -> None:
    network = attention()
    layers, mask = list(network.layers), network.layers[member].mask
    assert mask is not None
    for other in (None, replace(mask, window=3)):
        layers[member] = replace(network.layers[member], mask=other)
        masked = masked_ranks(*grouped(replace(network, layers=tuple(layers)), QUERIES, KEYS))
        # dead scores are read by nobody; what adds up over keys must have the mask
        assert (masked is not None) == (member == SCORES and other is None)


def test_of_very_many_tiles_all_run() -> None:
    for tile, masked in ((1, False), (2, True)):
        group, _ = grouped(attention(tokens=200), QUERIES, KEYS)
        pair = masked_pair(group)
        assert pair is not None
        loops = tuple(NestLoop(rank, tile) for rank in pair)
        stays = (depths(group, pair, t)[0] for t in range(len(group.operands)))
        walk = NestWalk(group, LoopNest(loops, tuple(stays)))
        assert (walk.masked is not None) == masked
        size = 200 // tile
        assert walk.count == (size * (size + 1) // 2 if masked else size**2)
        assert (size**2 > MOST_TILES) != masked
