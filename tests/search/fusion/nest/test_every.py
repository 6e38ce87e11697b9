"""All nests that may be better: none is left out, and none costs less than its bound."""

import numpy as np
import pytest

from archloom.search.fusion.nest.every import MOST_LOOPS, NestLimit, nests_below
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.nests import best_nests
from archloom.space.errors import Infeasible

from ....cases.small_nests import small_case
from ....cases.sweeps import sweep
from ....oracles.enumerated_nests import nests_below as one_by_one
from .test_nests import exact_cost, mapper

#: how much worse than the best proposal nests may be
WORSE = 1.02


@pytest.mark.parametrize("seed", sweep([8, 41, *range(8), *range(9, 41)], sample=1))
def test_all_nests_that_cost_little_are_found_with_less(seed: int) -> None:
    case, mappings = small_case(np.random.default_rng(seed)), mapper()
    facts = NestFacts(case.network, case.layers, case.hardware)

    def figures(cost: object) -> tuple[float, float]:
        assert not isinstance(cost, Infeasible), cost
        cycles = cost.latency_cycles  # type: ignore[attr-defined]
        energy: float = cost.dynamic_pj  # type: ignore[attr-defined]
        return energy + facts.leakage_pj * cycles, cycles

    proposed = [choice.nest for choice in best_nests(facts)]
    # one of three loops may be better than all that are looked at here
    costs = [exact_cost(case, n, mappings) for n in proposed if len(n.loops) <= MOST_LOOPS]
    points = [figures(cost) for cost in costs if not isinstance(cost, Infeasible)]
    most = WORSE * min(energy * cycles for energy, cycles in points)
    found = nests_below(facts, NestLimit(most, 0.0, 0.0))
    assert found is not None
    bounds = zip(found.energy_pj.tolist(), found.cycles.tolist(), strict=True)
    known = dict(zip(found.nests, bounds, strict=True))
    assert len(known) == len(found.nests)
    few = 0
    for nest in one_by_one(facts, case.network, case.layers, lambda e, t: e * t < most, MOST_LOOPS):
        cost = exact_cost(case, nest, mappings)
        if isinstance(cost, Infeasible):
            continue
        energy, cycles = figures(cost)
        if energy * cycles < most:
            assert nest in known
            few += 1
        if nest in known:
            assert known[nest][0] <= energy * (1 + 1e-12)
            assert known[nest][1] <= cycles
    assert few
