"""Nests with mappings, many at once: each costs what it costs by itself."""

from itertools import product

import numpy as np
import pytest

from archloom.evaluators.fusion.group import GroupCost, group_cost
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import depths, nest_faults
from archloom.evaluators.fusion.nest.walk import NestWalk
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.nest import mapped
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.mapped import MappedNests
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE

from ....cases.small_nests import SmallCase, longer_case, small_case
from ....cases.sweeps import sweep


def mapper() -> Mapper:
    return Mapper(MAPPING_SEARCHES["auto"](), 300, seed=1)


def nests_of(case: SmallCase, rng: np.random.Generator, most: int) -> list[LoopNest]:
    """Some nests of one or two loops that obey the rules."""
    facts = NestFacts(case.network, case.layers, case.hardware)
    ranks = tuple(rng.permutation(facts.ranks)[: int(rng.integers(1, 3))].tolist())
    loops = tuple(NestLoop(rank, int(rng.choice(facts.tiles[rank]))) for rank in ranks)
    group = nest_group(case.network, case.layers, frozenset(ranks))
    assert group is not None
    stays = [(*depths(group, ranks, t), STREAMED) for t in range(len(group.operands))]
    every = (LoopNest(loops, depth) for depth in product(*stays))
    legal = [nest for nest in every if not any(nest_faults(group, nest))]
    return [legal[k] for k in rng.permutation(len(legal))[:most].tolist()]


@pytest.mark.parametrize("seed", sweep(range(300), sample=12))
def test_nests_at_once_cost_what_they_cost_one_by_one(seed: int) -> None:
    """But for work on the vector unit where a softmax is made piece by piece, which is left out."""
    rng = np.random.default_rng(seed)
    case = (small_case, longer_case)[seed % 2](rng)
    nests, price = nests_of(case, rng, 12), mapper()
    leakage_pj = access_costs(case.hardware).leakage_pj_per_cycle
    facts = NestFacts(case.network, case.layers, case.hardware)
    found = MappedNests(facts, price).figures(nests).T
    for nest, (least, latency) in zip(nests, found.tolist(), strict=True):
        group = FusionGroup(case.layers, nest=nest)
        cost = group_cost(case.network, group, case.hardware, price, ALONE)
        if not isinstance(cost, GroupCost):
            assert max(least, latency) == np.inf
            continue
        more = cost.dynamic_pj + leakage_pj * cost.latency_cycles - least
        assert more >= 0
        if rescales(case, nest):
            assert latency <= cost.latency_cycles
        else:
            assert latency == cost.latency_cycles
            # words are rounded to 2^-8 pJ at some places of each operand
            assert more < 0.5


def rescales(case: SmallCase, nest: LoopNest) -> bool:
    ranks = frozenset(loop.rank for loop in nest.loops)
    group = nest_group(case.network, case.layers, ranks)
    assert group is not None
    walk = NestWalk(group, nest)
    return any(walk.rescales(m).any() for m in range(len(group.layers)))


def test_nothing_is_said_of_more_tiles_than_are_worth_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mapped, "_MOST_TILES", 0)
    rng = np.random.default_rng(1)
    case = small_case(rng)
    first, other = nests_of(case, rng, 2), nests_of(case, rng, 2)
    assert first[0].loops != other[0].loops
    facts = NestFacts(case.network, case.layers, case.hardware)
    found = MappedNests(facts, mapper()).figures([*first, *other])
    assert (found[:, : len(first)] > 0).all()
    assert (found[:, len(first) :] == 0).all()
