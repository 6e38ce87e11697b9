"""Corners of nests lie below all nests of up to two loops at any price of a cycle, near them."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.evaluators.fusion.nest import dealable
from archloom.search.fusion.joint.proofs.nests.close_nests import NestRows
from archloom.search.fusion.joint.proofs.nests.nest_bounds import corners, nest_corners
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.nests import best_nests
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import LoopNest
from archloom.space.networks.registry import network

from .....cases.random_windows import small_windows
from .....cases.small_designs import casco_edge
from .....cases.small_nests import (
    SmallCase,
    cores_case,
    longer_case,
    masked_network,
    small_case,
)
from .....cases.sweeps import sweep
from .....oracles.enumerated_nests import nests_below as one_by_one
from ...nest.test_nests import exact_cost, mapper

#: of nests one by one, the share that is priced
SHARE = 0.0005

#: over energy / cycles of the cheapest nest; some lie between those that bounds are worked out for
PRICES = (0.0, 0.1, 0.37, 1.0, 1.1, 1.6, 9.0)


def points(case: SmallCase, nests: Iterable[LoopNest], facts: NestFacts) -> Floats:
    """Return float64[n, 2], energy with leakage and cycles of nests that can run."""
    mappings = mapper()
    costs = [exact_cost(case, nest, mappings) for nest in nests]
    found = [
        (cost.dynamic_pj + facts.leakage_pj * cost.latency_cycles, cost.latency_cycles)
        for cost in costs
        if not isinstance(cost, Infeasible)
    ]
    return np.array(found, np.float64).reshape(-1, 2)


def nearest(case: SmallCase, found: Floats, price: float) -> float:
    """Return by how much nests are above their corners at the least, at any price; also of those
    that know what no nest is below, or energy and cycles of tiles together."""
    group, none, rows = (case.network, case.hardware, case.layers), np.zeros(2), NestRows()
    for known in (
        nest_corners(*group, found.min(axis=0), price),
        nest_corners(*group, found.min(axis=0), price, rows=rows),
        nest_corners(*group, none, price, rows=rows),
    ):
        assert known is not None
        for weights in ((1.0, price * x) for x in PRICES):
            assert (found @ weights).min() >= (known @ weights).min() * (1 - 1e-9)
    below = nest_corners(*group, none, price)
    assert below is not None
    assert len(below)
    above = np.inf
    for weights in ((1.0, price * x) for x in PRICES):
        least = (below @ weights).min()
        ratios = found @ weights / least
        assert (ratios >= 1 - 1e-9).all()
        above = min(above, ratios.min())
    assert (found[:, 1] >= below[:, 1].min() * (1 - 1e-9)).all()
    return float(above)


@pytest.mark.parametrize("seed", sweep(range(40), sample=2))
@pytest.mark.parametrize("cases", [small_case, longer_case])
def test_nests_lie_above_their_corners(
    cases: Callable[[np.random.Generator], SmallCase], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    case = cases(rng)
    facts = NestFacts(case.network, case.layers, case.hardware)
    found = points(case, short_nests(facts), facts)
    for share in (SHARE, 40 * SHARE, 1.0):

        def may(energy: Floats, _: Floats, share: float = share) -> NDArray[np.bool_]:
            return rng.random(np.shape(energy)) < share

        some = one_by_one(facts, case.network, case.layers, may, 2)
        found = np.concatenate([found, points(case, some, facts)])
        if len(found):
            break
    best = found[found.prod(axis=1).argmin()]
    assert nearest(case, found, best[0] / best[1]) < 2


def short_nests(facts: NestFacts) -> list[LoopNest]:
    """Return nests of up to two loops that are estimated best; often three loops are better."""
    return [choice.nest for choice in best_nests(facts) if len(choice.nest.loops) <= 2]


def near_corners(case: SmallCase, seed: int) -> float:
    """Hold nests of which estimates are near the corners against these; returns by how much they
    are above them at the least."""
    facts = NestFacts(case.network, case.layers, case.hardware)
    found = points(case, short_nests(facts), facts)
    if not len(found):
        return np.inf
    best = found[found.prod(axis=1).argmin()]
    price = best[0] / best[1]
    below = nest_corners(case.network, case.hardware, case.layers, np.zeros(2), price)
    assert below is not None
    lines = [(price * x, (below @ (1.0, price * x)).min()) for x in PRICES[1:]]
    # what may pass the buffer by is estimated as if it did not
    factor = 1.3 if case.hardware.levels[-2].optional else 1.1
    rng = np.random.default_rng(seed)

    def may(energy: Floats, cycles: Floats) -> Floats:
        near = [energy + price * cycles < factor * least for price, least in lines]
        return np.logical_or.reduce(near) & (rng.random(np.shape(energy + cycles)) < 0.3)

    some = islice(one_by_one(facts, case.network, case.layers, may, 2), 400)
    return nearest(case, np.concatenate([found, points(case, some, facts)]), price)


WINDOWS = [(seed, optional) for seed in range(400) for optional in (False, True)]


@pytest.mark.parametrize(("seed", "optional"), sweep(WINDOWS, sample=8))
def test_nests_around_windows_lie_above_their_corners(seed: int, optional: bool) -> None:
    case = small_case(np.random.default_rng(seed), small_windows, optional=optional)
    near_corners(case, seed)


@pytest.mark.parametrize("seed", sweep(range(60), sample=3))
def test_nests_past_a_buffer_lie_above_their_corners(seed: int) -> None:
    near_corners(small_case(np.random.default_rng(seed), optional=True), seed)


@pytest.mark.parametrize("optional", [False, True])
def test_some_corner_of_windows_is_within_a_hundredth(optional: bool) -> None:
    cases = [small_case(np.random.default_rng(i), small_windows, optional=optional) for i in (3, 5)]
    assert min(near_corners(case, i) for i, case in enumerate(cases)) < 1.01


@pytest.mark.parametrize("seed", range(6))
def test_windows_that_skip_words_have_no_corners(seed: int) -> None:
    """What streams to them may be less than the map."""
    case = small_case(np.random.default_rng(seed), partial(small_windows, skipping=True))
    assert nest_corners(case.network, case.hardware, case.layers, np.zeros(2), 1.0) is None


def on_cores(case: SmallCase) -> Floats:
    """Return points of nests that are estimated best, whatever the cores share out."""
    whole = NestFacts(case.network, case.layers, case.hardware)
    some = [whole.dealing(rank) for rank in whole.ranks if dealable(whole.group, rank)]
    proposed = [choice.nest for facts in some for choice in best_nests(facts)]
    return points(case, [nest for nest in proposed if len(nest.loops) <= 2], whole)


@pytest.mark.parametrize("seed", sweep(range(0, 120, 4), sample=3))
def test_nests_around_windows_on_cores_lie_above_their_corners(seed: int) -> None:
    """Of those of four numbers of cores that some fit on."""
    held = 0
    for case in (cores_case(seed + i, small_windows) for i in range(4)):
        found = on_cores(case)
        if len(found):
            best = found[found.prod(axis=1).argmin()]
            nearest(case, found, best[0] / best[1])
            held += 1
    assert held


@pytest.mark.parametrize("seed", sweep(range(24), sample=3))
def test_nests_on_cores_lie_above_their_corners(seed: int) -> None:
    case = cores_case(seed)
    found = on_cores(case)
    best = found[found.prod(axis=1).argmin()]
    assert nearest(case, found, best[0] / best[1]) < 2


def test_some_corner_is_within_a_twentieth() -> None:
    """So that a bound that is a twentieth too high would not go unnoticed."""
    above = []
    for seed in range(4):
        case = small_case(np.random.default_rng(seed))
        facts = NestFacts(case.network, case.layers, case.hardware)
        found = points(case, short_nests(facts), facts)
        best = found[found.prod(axis=1).argmin()]
        above.append(nearest(case, found, best[0] / best[1]))
    assert min(above) < 1.05


def test_energy_and_cycles_of_tiles_together_raise_the_corners_of_a_block() -> None:
    net, hardware = network("mobilenetv2"), casco_edge(32, pe_x=28, pe_y=12)
    names = [layer.name for layer in net.layers]
    parts = ("expand", "depthwise", "project")
    block = net, hardware, tuple(names.index(f"stage4.2.{part}") for part in parts)
    apart = nest_corners(*block, np.zeros(2), 500.0)
    together = nest_corners(*block, np.zeros(2), 500.0, rows=NestRows())
    assert apart is not None
    assert together is not None
    gains = [(together @ (1.0, x)).min() / (apart @ (1.0, x)).min() for x in (100.0, 500.0, 1000.0)]
    assert min(gains) >= 1 - 1e-12
    assert max(gains) > 1.01


def test_a_mask_has_no_corners_and_no_nest_none() -> None:
    case, none = small_case(np.random.default_rng(1), masked_network), np.zeros(2)
    assert nest_corners(case.network, case.hardware, case.layers, none, 1.0) is None
    case = small_case(np.random.default_rng(0))
    alone = nest_corners(case.network, case.hardware, case.layers[:1], none, 1.0)
    assert alone is not None
    assert len(alone) == 0


def test_corners_are_those_of_the_lines() -> None:
    """Of E >= 2, E + T >= 4 and E + 4 T >= 7, from 0.5 cycles on."""
    found = corners(np.array([0.0, 1.0, 4.0]), np.array([2.0, 4.0, 7.0]), 0.5)
    expected = {(5.0, 0.5), (3.0, 1.0), (2.0, 2.0)}
    assert expected <= {(float(energy), float(cycles)) for energy, cycles in found}
    for energy, cycles in found.tolist():
        assert energy >= max(2.0, 4.0 - cycles, 7.0 - 4.0 * cycles) - 1e-12
