"""Nests of one size of tiles at once: each fits and waits as it does by itself."""

from itertools import product

import numpy as np
import pytest

from archloom.evaluators.fusion.nest.cores import alone
from archloom.evaluators.fusion.nest.fit import nest_fit
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import depths, nest_faults
from archloom.evaluators.fusion.nest.walk import NestWalk
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.fits import StaysOfCell
from archloom.search.fusion.nest.waits import estimated_cycles
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop

from ....cases.small_nests import small_case
from ....cases.sweeps import sweep


@pytest.mark.parametrize("seed", sweep(range(60), sample=6))
def test_nests_at_once_are_those_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = small_case(rng)
    facts = NestFacts(case.network, case.layers, case.hardware)
    ranks = tuple(rng.permutation(facts.ranks)[:2].tolist())
    loops = tuple(NestLoop(rank, int(rng.choice(facts.tiles[rank]))) for rank in ranks)
    group = nest_group(case.network, case.layers, frozenset(ranks))
    assert group is not None
    made = {t for t, operand in enumerate(group.operands) if operand.readers and t in group.made}
    stays = [
        list(depths(group, ranks, t)[: 1 if t in made else None]) + [STREAMED] * (t not in made)
        for t in range(len(group.operands))
    ]
    users = [x.maker if x.kind == "made" else x.readers[0] for x in group.operands]
    every = list(product(*(range(len(some)) for some in stays)))
    legal = [
        numbers
        for numbers in every
        if not any(nest_faults(group, LoopNest(loops, _depth(stays, numbers))))
    ]
    if not legal:
        return
    some = [legal[k] for k in rng.permutation(len(legal))[:20].tolist()]
    cycles = rng.uniform(10, 500, len(group.layers))
    at_once = StaysOfCell(facts, group, loops, stays, users.__getitem__)
    found = at_once.cycles(np.array(some, np.int64), cycles)
    for numbers, latency in zip(some, found.tolist(), strict=True):
        walk = NestWalk(group, LoopNest(loops, _depth(stays, numbers)))
        fit = nest_fit(walk, facts.capacity)
        if fit is None:
            assert latency == np.inf
            continue
        one = estimated_cycles(facts, alone(walk, facts.hardware), (fit,), cycles)
        if any(walk.passes(m).any() for m in range(len(group.layers))):
            # partial sums that come back keep DRAM busy besides
            assert latency > one - 1
        else:
            assert one - 1 - 1e-6 < latency <= one + 1e-6


def _depth(stays: list[list[int]], numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(some[k] for some, k in zip(stays, numbers, strict=True))
