"""A nest that kernels place in the buffer fits as its cost has it, and takes the same time."""

from collections import Counter

import numpy as np
import pytest

from archloom.evaluators.fusion.nest.cores import nest_cores
from archloom.evaluators.fusion.nest.fit import core_fits
from archloom.evaluators.fusion.nest.rules import nest_faults
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.found_nests import FoundNest, FoundNests
from archloom.search.fusion.nest.nests import _orders
from archloom.search.fusion.nest.placing.place import cycles_of, placed
from archloom.search.fusion.nest.waits import estimated_cycles
from archloom.space.fusion.loop_nest import STREAMED, LoopNest

from .....cases.small_nests import cores_case, masked_network, small_case


def some_nests(facts: NestFacts, count: int) -> list[FoundNest]:
    """Nests of all kinds, some of which need not fit."""
    found = FoundNests(facts)
    for loops in (1, 2, 3):
        found.look_at(dict.fromkeys(_orders(facts, loops, found.orders)))
    every = list(found.best())
    return every[:: max(1, len(every) // count)]


def check(facts: NestFacts, nest: LoopNest, some: FoundNest, seen: Counter[str]) -> None:
    group = facts.whole(tuple(loop.rank for loop in nest.loops))
    if any(nest_faults(group, nest)):
        return
    found = placed(facts, nest, some.layer_cycles)
    assert found is not None
    cores = nest_cores(group, nest, frozenset(), facts.cores)
    fits = core_fits(cores, facts.capacity)
    assert found.fits == (fits is not None)
    if fits is None:
        seen["too large"] += 1
        return
    (fit,) = fits
    assert tuple(words or None for words in found.left.tolist()) == fit.left
    assert found.late == fit.late
    assert cycles_of(found) == estimated_cycles(facts, cores, fits, some.layer_cycles)
    seen["fits"] += 1
    seen["late"] += found.late > 0
    seen["streams"] += STREAMED in nest.depth
    seen["online"] += any(cores.first.online(m) for m in range(len(group.layers)))
    made = [t for t, operand in enumerate(group.operands) if operand.kind == "made"]
    seen["sums return"] += any(cores.first.comes(t).any() for t in made)


def changed(nest: LoopNest, t: int, depth: int) -> LoopNest:
    return LoopNest(nest.loops, (*nest.depth[:t], depth, *nest.depth[t + 1 :]), nest.split)


def test_kernels_place_nests_as_their_cost_has_them() -> None:
    seen = Counter[str]()
    for seed in range(20):
        case = small_case(np.random.default_rng(seed))
        facts = NestFacts(case.network, case.layers, case.hardware)
        for some in some_nests(facts, 6):
            check(facts, some.nest, some, seen)
            # stays that no estimate proposes, those of partial sums among them
            for t in range(len(some.nest.depth)):
                for depth in (STREAMED, *range(len(some.nest.loops) + 1)):
                    check(facts, changed(some.nest, t, depth), some, seen)
    kinds = ("fits", "late", "streams", "too large", "online")
    assert min(seen[kind] for kind in kinds) > 99, seen
    assert seen["sums return"], seen


@pytest.mark.parametrize("seed", range(3))
def test_nests_of_cores_and_of_masks_are_placed_elsewhere(seed: int) -> None:
    masked = small_case(np.random.default_rng(seed), masked_network)
    facts = NestFacts(masked.network, masked.layers, masked.hardware)
    for some in some_nests(facts, 30):
        none = placed(facts, some.nest, some.layer_cycles) is None
        assert none == (facts.masked(tuple(loop.rank for loop in some.nest.loops)) is not None)
    cores = cores_case(seed)
    several = NestFacts(cores.network, cores.layers, cores.hardware)
    for rank in several.ranks[:2]:
        dealt = several.dealing(rank)
        for some in some_nests(dealt, 3):
            assert placed(dealt, some.nest, some.layer_cycles) is None
