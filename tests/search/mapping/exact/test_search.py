"""The exact mapping search against full enumeration, published optima, and the other searches."""

from dataclasses import replace
from itertools import product
from math import exp, inf
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.loopnest.kernel import evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact import branch_and_bound as exact_search, choices as exact_choices
from archloom.search.mapping.exact.branch_and_bound import MismatchError
from archloom.search.mapping.exact.choices import Listed, choices_of
from archloom.search.mapping.exact.energy_latency_front import front
from archloom.search.mapping.exact.proof import Proof
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.exact.spatial.mesh_packing import unrolled
from archloom.search.mapping.exact.spatial.unrollings import (
    axes_of,
    divisors,
    keeps_of,
    touched,
    unrolled_by,
)
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.importers.cases.reader import Case, read_cases
from archloom.space.mapping.constraints import kept_as

from ....cases.fronts import listed_front
from ....cases.small_designs import casco_edge, conv, resnet_conv, three_levels
from ....cases.small_problems import (
    OBJECTIVES,
    all_costs,
    along_axes,
    drawn_problem,
    unlike_all_mappings,
)
from ....cases.sweeps import sweep
from ....contracts.mapping_search import PROBLEMS, objective
from ....source_tree import ROOT

PLENTY = 10**8
GO_ON = np.zeros(1, np.uint8)
BLOCKS, BLOCK = 16, 75
CASES = ROOT / "tests" / "data" / "timeloop_cases.jsonl"


def proof(problem: MappingProblem, **options: Any) -> Proof:
    return prove(problem, options.pop("budget", PLENTY), **options)


@pytest.mark.parametrize("block", sweep(range(BLOCKS), BLOCKS // 4))
def test_it_finds_the_least_of_all_mappings(block: int) -> None:
    """Every tiling, order, spatial choice and permitted bypass, for each objective."""
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        problem = along_axes(drawn_problem(number), both=number % 2 == 0)
        assert unlike_all_mappings(problem) == [], number


def test_the_small_problems_are_of_every_kind() -> None:
    problems = [drawn_problem(number) for number in range(BLOCKS * BLOCK)]
    setups = [problem.setup for problem in problems]
    kinds = {
        "ports limit it": [(s.bandwidth < inf).any() for s in setups],
        "bypass is free": [s.optional.any() for s in setups],
        "a level must pass a tensor": [not s.allowed.all() for s in setups],
        "strided": [max(p.stride) > 1 for p in problems],
        "dilated": [max(p.dilation) > 1 for p in problems],
        "padded": [max(p.padding) > 0 for p in problems],
        "depthwise": [p.bounds[1] > 1 and p.bounds[2] * p.bounds[3] == 1 for p in problems],
        "grouped": [p.bounds[1] > 1 and p.bounds[2] * p.bounds[3] > 1 for p in problems],
        "operands in the buffer": [any(p.staged) for p in problems],
        "two levels": [len(s.fanout) == 2 for s in setups],
        "four levels": [len(s.fanout) == 4 for s in setups],
        "no multicast": [not s.multicast.all() for s in setups],
        "wide accesses": [(s.width > 1).any() for s in setups],
        "private buffers": [(s.capacity >= 0).any() for s in setups],
        "meshes at several levels": [(s.fanout.prod(axis=1) > 1).sum() > 1 for s in setups],
    }
    assert {kind: sum(map(bool, found)) for kind, found in kinds.items() if sum(found) < 40} == {}


def case(arch: str, layer: str) -> MappingProblem:
    """Return a problem of the cases file that keeps tensors as its architecture does."""
    cases = [c for c in read_cases(CASES) if isinstance(c, Case)]
    hardware, mapping = next((c.hardware, c.mapping) for c in cases if c.hardware.name == arch)
    problem = next(c.layer for c in cases if c.layer.name == layer)
    assert mapping is not None
    whole = MappingProblem.of_layer(problem, hardware)
    return replace(whole, constraints=kept_as(mapping, hardware))


@pytest.mark.parametrize(
    ("arch", "layer", "edp"),
    [
        ("A1_rf256", "resnet18_conv3x3", 2.78233713e14),
        ("A5_ws_accum", "gemm_768x768x64", 1.19909796e14),
        ("A3_twolevel", "fc_512_1000", 3.487446528e12),
    ],
)
def test_known_optima(arch: str, layer: str, edp: float) -> None:
    """Proven by another program (pJ x cycles); no dimension is unrolled along both axes there."""
    found = proof(along_axes(case(arch, layer), both=False))
    assert found.proven
    assert found.best is not None
    assert exp(found.best.score) == pytest.approx(edp, rel=1e-8)


def test_a_dimension_along_both_axes_can_be_better() -> None:
    """The same source: 2.72972e14 where a dimension may be unrolled along x and y at once."""
    found = proof(case("A1_rf256", "resnet18_conv3x3"))
    assert found.best is not None
    assert exp(found.best.score) == pytest.approx(2.72972e14, rel=1e-5)


@pytest.mark.parametrize("name", PROBLEMS)
def test_other_searches_never_find_less(name: str) -> None:
    problem = PROBLEMS[name]
    found = proof(problem)
    assert found.proven
    assert found.best is not None
    for search in (LocalMapping(), RandomMapping()):
        for seed in range(3):
            state = search.advance(problem, search.start(problem, seed), 10_000)
            assert objective(problem, search.best(problem, state)) >= found.best.score - 1e-9


@pytest.mark.parametrize("number", [3, 14, 46, 79, 90])
def test_more_budget_never_gives_worse_and_bounds_hold(number: int) -> None:
    problem = drawn_problem(number)
    whole = proof(problem)
    assert whole.best is not None
    before = inf
    for budget in (1, 5, 50, 900, 1001, 1100, 1500, 3000, 10_000, 100_000, 10**6):
        found = proof(problem, budget=budget)
        assert found.evaluations <= budget
        assert found.best is not None
        assert found.best.score <= before
        assert found.bound <= whole.best.score + 1e-12
        assert found.gap_percent >= 100 * (exp(found.best.score - whole.best.score) - 1) - 1e-6
        assert found.proven == (found.gap_percent == 0)
        before = found.best.score
    assert before == whole.best.score


def test_a_cut_search_still_has_a_gap_that_is_finite() -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    gaps = [proof(problem, budget=budget).gap_percent for budget in (500, 40_000, PLENTY)]
    assert 0 < gaps[1] < gaps[0] < inf
    assert gaps[1] < 100
    assert gaps[2] == 0


def test_what_the_kernel_prices_otherwise_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any) -> Any:
        status, energy, chip, dram = evaluate_batch(*args)
        return status, energy * (1 + 1e-6), chip, dram

    monkeypatch.setattr(exact_search, "evaluate_batch", wrong)
    with pytest.raises(MismatchError, match="the kernel at"):
        proof(MappingProblem.of_layer(conv(), three_levels()), warm_up=0)


def test_leakage_of_instances_is_counted() -> None:
    hardware = three_levels()
    leaky = replace(hardware.levels[0], energy=AccessEnergy(1.0, 1.0, 1.0, leakage_pj=1e3))
    problem = MappingProblem.of_layer(
        conv(), replace(hardware, levels=(leaky, *hardware.levels[1:]))
    )
    found = proof(problem)
    assert found.proven
    assert found.best is not None
    # at least one instance leaks in every cycle
    assert found.best.energy_pj > 1e3 * found.best.cycles


def test_divisors_are_all_and_ascending() -> None:
    for number in range(1, 200):
        assert divisors(number) == tuple(i for i in range(1, number + 1) if number % i == 0)


def all_spreads(setup: KernelInputs) -> np.ndarray:
    """Return all products of factors that divide the bounds."""
    parts = unrolled_by(setup, GO_ON)
    assert parts is not None
    spreads = (parts[0][:, None] * parts[1][None]).reshape(-1, len(setup.fanout), 8)
    kept: np.ndarray = spreads[(setup.bounds % spreads.prod(axis=1) == 0).all(axis=1)]
    return kept


@pytest.mark.parametrize("both", [False, True])
def test_spreads_fit_their_mesh(both: bool) -> None:
    setup = along_axes(MappingProblem.of_layer(resnet_conv(), casco_edge()), both).setup
    spreads = all_spreads(setup)
    assert len(np.unique(spreads, axis=0)) == len(spreads) > 100
    for spread in spreads[::97]:
        for level, here in enumerate(spread):
            x, y = axes_of(setup, level, here)
            assert (x * y == here).all()
            assert x.prod() <= setup.fanout[level, 0]
            assert y.prod() <= setup.fanout[level, 1]
            assert both or (np.minimum(x, y) == 1).all()
    with pytest.raises(ValueError, match="fit no mesh"):
        axes_of(setup, 0, np.full(8, 64))


@pytest.mark.parametrize("number", sweep(range(60), 20))
def test_all_products_that_a_mesh_has_room_for_are_found(number: int) -> None:
    setup = along_axes(drawn_problem(number), both=number % 2 == 0).setup
    for level in range(len(setup.fanout)):
        expected = set()
        for x, y in product(product(*map(divisors, setup.bounds.tolist())), repeat=2):
            factors = np.array([x, y])
            stands = (setup.spatial[level] == 1) | (factors == setup.fixed[level])
            apart = setup.both_axes or (factors.min(axis=0) == 1).all()
            room = (factors.prod(axis=1) <= setup.fanout[level]).all()
            if stands.all() and apart and room and (setup.bounds % factors.prod(axis=0) == 0).all():
                expected.add(tuple(factors.prod(axis=0).tolist()))
        found = unrolled(setup._replace(extras=None), level, 10**4, GO_ON)
        assert sorted(map(tuple, found.tolist())) == sorted(expected)


def bounded(setup: KernelInputs, high: float = inf, most: int = PLENTY) -> Listed:
    plain = setup._replace(extras=None)
    choices = choices_of(plain, touched(plain), GO_ON)
    assert choices is not None
    listed = choices.between(-inf, high, inf, most)
    assert listed is not None
    assert choices.least() <= listed.bounds.min(initial=inf)
    return listed


def test_one_of_each_mirrored_pair_is_left() -> None:
    setup = MappingProblem.of_layer(conv(), three_levels()).setup
    spreads = all_spreads(setup)
    themselves = (spreads == spreads[:, :, [0, 1, 2, 3, 5, 4, 7, 6]]).all(axis=(1, 2)).sum()
    assert len(bounded(setup).bounds) == (len(spreads) + themselves) / 2
    # where only one axis may hold rows, or strides differ, nothing is left out
    setup.spatial[1, 0, 4] = 0
    assert len(bounded(setup).bounds) == len(all_spreads(setup))
    strided = replace(MappingProblem.of_layer(conv(), three_levels()), stride=(1, 2)).setup
    assert len(bounded(strided).bounds) == len(all_spreads(strided))


@pytest.mark.parametrize("number", [0, 7, 13, 21, 34])
def test_each_choice_is_listed_in_the_window_of_its_bound(number: int) -> None:
    setup = MappingProblem.of_layer(resnet_conv(), casco_edge()).setup
    if number:
        setup = drawn_problem(number).setup
    whole = bounded(setup)
    middle = float(np.median(whole.bounds))
    low = bounded(setup, middle)
    assert low.below == middle
    assert sorted(map(tuple, low.chosen.tolist())) == sorted(
        map(tuple, whole.chosen[whole.bounds < middle].tolist())
    )
    choices = choices_of(setup._replace(extras=None), touched(setup), GO_ON)
    assert choices is not None
    assert choices.between(-inf, inf, inf, 1) is None


@pytest.mark.parametrize("few", [0, 20])
def test_choices_that_are_listed_part_by_part_are_all_settled(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_search, "FEW", 0)
    monkeypatch.setattr(exact_search, "WIDER", (0.01, 0.1))
    monkeypatch.setattr(exact_choices, "ROOM", few or exact_choices.ROOM)
    monkeypatch.setattr(exact_choices, "TILES_OF_A_PAIR", 10**6)
    unproven = 0
    for number in range(1, 200, 3):
        problem = drawn_problem(number)
        energy, cycles = all_costs(problem.setup, keeps_of(problem.setup))
        for weights in OBJECTIVES.values():
            found = proof(problem, weights=weights, warm_up=0)
            # more choices than there is room for may have one bound
            unproven += not found.proven
            assert (found.best is None) == (not len(energy))
            if found.best is not None:
                score = weights[0] * np.log(energy) + weights[1] * np.log(cycles)
                assert found.bound <= score.min() + 1e-9, number
                assert found.best.score >= score.min() - 1e-9, number
                if found.proven:
                    assert found.best.score == pytest.approx(score.min(), abs=1e-9), number
    assert unproven <= (4 if few else 0)


@pytest.mark.parametrize("block", sweep(range(4), 1))
def test_the_front_is_that_of_all_mappings(block: int) -> None:
    for number in range(block * 50, (block + 1) * 50):
        problem = along_axes(drawn_problem(number), both=number % 2 == 0)
        energy, cycles = all_costs(problem.setup, keeps_of(problem.setup))
        found = front(problem, PLENTY)
        assert found.proven, number
        points = [(p.cycles, exp(p.score)) for p in reversed(found.points)]
        assert np.array(points) == pytest.approx(listed_front(energy, cycles), rel=1e-9), number


def test_a_front_that_is_cut_says_so() -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    whole = front(problem, PLENTY)
    cut = front(problem, whole.evaluations // 2)
    assert (whole.proven, cut.proven) == (True, False)
    assert cut.evaluations <= whole.evaluations // 2
    assert len(cut.points) < len(whole.points)
    cycles = [point.cycles for point in whole.points]
    scores = [point.score for point in whole.points]
    assert cycles == sorted(cycles, reverse=True)
    assert scores == sorted(scores)
