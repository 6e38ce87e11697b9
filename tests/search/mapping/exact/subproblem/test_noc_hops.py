"""The exact mapping search where words take hops and routers, against full enumeration."""

from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest

from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import ExactMapping, prove
from archloom.search.mapping.exact.spatial.mesh_layouts import Layouts, distances, meshed_levels
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import Effects

from .....cases.small_designs import resnet_conv
from .....cases.small_problems import along_axes, drawn_network, unlike_all_mappings
from .....cases.sweeps import sweep

PLENTY = 10**8
BLOCKS, BLOCK = 8, 30


@pytest.mark.parametrize("block", sweep(range(BLOCKS), BLOCKS // 8))
def test_it_finds_the_least_of_all_mappings_and_orders_of_unrolled_loops(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        problem = along_axes(drawn_network(number), both=number % 2 == 0)
        assert unlike_all_mappings(problem) == [], number


def test_the_small_problems_have_networks_of_every_kind() -> None:
    problems = [drawn_network(number) for number in range(BLOCKS * BLOCK)]
    setups = [problem.setup for problem in problems]
    meshed = [meshed_levels(setup) for setup in setups]
    kinds = {
        "routers": [any(s.router_pj[m] > 0) for s, m in zip(setups, meshed, strict=True)],
        "meshes": [any((s.fanout[m] > 1).all(axis=1)) for s, m in zip(setups, meshed, strict=True)],
        "several networks": [len(m) > 1 for m in meshed],
        "no multicast": [not s.multicast[m].all() for s, m in zip(setups, meshed, strict=True)],
        "children let tensors pass": [
            any(not s.allowed[i - 1].all() for i in m if i)
            for s, m in zip(setups, meshed, strict=True)
        ],
        "rows meet": [max(p.bounds[4], p.bounds[5]) > 1 < max(p.bounds[6:]) for p in problems],
        "ports": [(s.bandwidth < inf).any() for s in setups],
    }
    assert {kind: sum(map(bool, found)) for kind, found in kinds.items() if sum(found) < 20} == {}


@pytest.mark.parametrize("number", [28, 87, 95, 147, 166])
def test_the_mapping_has_the_orders_that_it_was_priced_with(number: int) -> None:
    """Here they differ from the order of dimensions."""
    problem, search = drawn_network(number), ExactMapping()
    found = search.best(problem, search.advance(problem, search.start(problem, 0), PLENTY))
    assert found.gap_percent == 0
    assert found.mapping is not None
    orders = {order for level in found.mapping.levels for order in (level.order_x, level.order_y)}
    assert len(orders) > 1
    cost = mapped_cost(problem, found.mapping)
    assert found.energy_pj == pytest.approx(cost.dynamic_pj, rel=1e-9)


def test_hops_of_a_preset_are_proven() -> None:
    hardware = replace(preset("eyeriss"), effects=Effects(network="mesh"))
    problem = MappingProblem.of_layer(resnet_conv(), hardware)
    found = prove(problem, 10**7)
    plain = prove(MappingProblem.of_layer(resnet_conv(), preset("eyeriss")), 10**7)
    assert found.proven
    assert found.best is not None
    assert plain.best is not None
    assert exp(found.best.score) > exp(plain.best.score)


def test_more_budget_never_gives_worse_and_bounds_hold() -> None:
    problem = drawn_network(17)
    whole = prove(problem, PLENTY)
    assert whole.best is not None
    before = inf
    for budget in (1, 50, 1001, 1100, 1500, 3000, 10_000, 100_000):
        found = prove(problem, budget)
        assert found.evaluations <= budget
        assert found.best is not None
        assert found.best.score <= before
        assert found.bound <= whole.best.score + 1e-12
        before = found.best.score
    assert before == whole.best.score


def test_layouts_are_all_orders_that_serve_some_group_best() -> None:
    """4 of K in a row, then 2 of C: weights differ everywhere, so only two orders differ."""
    setup = drawn_network(0).setup
    setup = setup._replace(
        fanout=np.array([[8, 1]] * len(setup.fanout)),
        multicast=np.ones_like(setup.multicast),
        spatial=np.ones_like(setup.spatial),
        hop_pj=np.ones_like(setup.hop_pj),
    )
    row = np.array([1, 1, 4, 2, 1, 1, 1, 1])
    found, complete = Layouts(setup).of(1, row, ((1, 1), (1, 1)))
    assert complete
    served = {tuple(hops[0] for _, hops in layout.served) for layout in found}
    # inputs go to K side by side, or outputs come from C side by side
    k_inside = (28.0, 3.0 + 7.0, 4.0 + 5.0 + 6.0 + 7.0)
    c_inside = (28.0, 6.0 + 7.0, 1.0 + 3.0 + 5.0 + 7.0)
    assert served == {k_inside, c_inside}
    assert distances(setup)[1].tolist() == list(range(8))
