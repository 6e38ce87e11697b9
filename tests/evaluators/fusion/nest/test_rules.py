"""Rules of nests against a simulator: what they refuse does not compute what the layers do."""

import numpy as np
import pytest

from archloom.evaluators.fusion.nest import NestGroup, depths, group_ranks, nest_faults, nest_group
from archloom.space.fusion import STREAMED, LoopNest, NestLoop
from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload import Network

from ....cases.random_nests import random_loops, random_members, random_network
from ....cases.sweeps import sweep
from ....oracles.nest_simulator import simulate


def any_nest(rng: np.random.Generator) -> tuple[NestGroup, LoopNest] | None:
    """Return a random group and a nest of which only the depths obey the rules."""
    network = random_network(rng)
    members = random_members(rng, network)
    ranks = group_ranks(network, members)
    loops = () if ranks is None else random_loops(rng, ranks)
    looped = tuple(loop.rank for loop in loops)
    group = nest_group(network, members, frozenset(looped))
    if not loops or group is None:
        return None
    found = (rng.choice(depths(group, looped, t)) for t in range(len(group.operands)))
    return group, LoopNest(loops, tuple(map(int, found)))


@pytest.mark.parametrize("seed", sweep(range(1000), sample=20))
def test_rules_refuse_what_the_simulator_refuses_and_nothing_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = None
    while drawn is None:
        drawn = any_nest(rng)
    group, nest = drawn
    faults = list(nest_faults(group, nest))
    if not faults:
        simulate(group, nest)
        return
    with pytest.raises(AssertionError):
        simulate(group, nest)


def attention() -> Network:
    """Return scores of 4 queries with 6 keys, softmax, and the sum of values of 3 features."""
    builder = SequenceBuilder()
    queries, keys = builder.input("q", 2, 4), builder.input("k", 2, 6)
    scores = builder.scores("scores", Heads(1, 2), queries, keys)
    builder.weigh("a", Heads(1, 3), scores, builder.input("v", 3, 6))
    return builder.network("attention")


SCORES, SOFTMAX, CONTEXT = range(3)
N, G, K, C, P, Q = range(6)


def faults(loops: list[tuple[int, int, int]], **given: int) -> list[str]:
    """Return the rules that a nest around attention breaks.

    Args:
        loops: layer, dimension and tile of each.
        given: depths of what layers make; others are as deep as can be.
    """
    network = attention()
    members = (SCORES, SOFTMAX, CONTEXT)
    ranks = group_ranks(network, members)
    assert ranks is not None
    nested = tuple(NestLoop(ranks.dims[m][d][0], tile) for m, d, tile in loops)
    looped = tuple(loop.rank for loop in nested)
    group = nest_group(network, members, frozenset(looped))
    assert group is not None
    depth = [depths(group, looped, t)[-1] for t in range(len(group.operands))]
    names = ("scores", "shares", "context")
    for name, value in given.items():
        depth[group.made[names.index(name)]] = value
    return list(nest_faults(group, LoopNest(nested, tuple(depth))))


KEYS, QUERIES, FEATURES = (SCORES, K, 2), (SCORES, P, 2), (CONTEXT, K, 1)


def test_keys_come_piece_by_piece_if_sums_stay() -> None:
    assert faults([KEYS], context=0) == []
    assert faults([QUERIES, KEYS], context=1) == []
    assert "a.context rescales its partial sums, which must stay in the buffer" in faults(
        [KEYS, QUERIES], context=2
    )
    assert "a.context rescales its partial sums, which must stay in the buffer" in faults(
        [KEYS], context=STREAMED
    )


def test_shares_that_stay_for_other_features_need_the_maximum_that_they_were_made_with() -> None:
    wrong = "a.context reads a.softmax again after the maxima of its parts are lost"
    assert wrong in faults([FEATURES, KEYS], shares=0, context=1)
    assert faults([FEATURES, KEYS], shares=2, context=1) == []
    assert faults([KEYS, FEATURES], shares=1, context=0) == []


def test_features_that_scores_add_up_are_complete_before_they_are_read() -> None:
    assert faults([(SCORES, C, 1)], scores=0) == []
    assert "scores is read before it is complete" in faults(
        [(SCORES, C, 1), QUERIES], scores=2, shares=2, context=2
    )


def test_a_depth_that_holds_the_same_or_moves_the_same_is_refused() -> None:
    assert faults([QUERIES, FEATURES], scores=2) == [
        "what scores makes: its stay cannot end with loop 2, which does not run over any "
        "of its ranks"
    ]
    assert faults([QUERIES, FEATURES], context=1) == [
        "what a.context makes must not stay beyond loop 2, because that saves no loads"
    ]


def test_tiles_cover_less_than_the_rank() -> None:
    assert faults([(SCORES, P, 4)]) == ["a loop covers 4 of 4 at a time, must cover less"]
