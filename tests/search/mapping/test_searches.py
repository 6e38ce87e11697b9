"""Mapping searches: their contract, and how good what they find is."""

from dataclasses import replace
from functools import cache
from itertools import permutations, product
from statistics import median
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import ExactMapping, prove
from archloom.search.mapping.protocol import MappingSearch, Progress
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.layer import Layer

from ...cases.small_designs import casco_edge, resnet_conv, three_levels, two_levels
from ...cases.small_problems import drawn_problem
from ...cases.sweeps import sweep
from ...contracts.mapping_search import PROBLEMS, MappingSearchContract, objective, same


class TestEveryMappingSearch(MappingSearchContract):
    """All that are registered, so that none is forgotten."""

    @pytest.fixture(autouse=True, params=MAPPING_SEARCHES)
    def chosen(self, request: pytest.FixtureRequest) -> None:
        self.search = request.param

    def make(self) -> MappingSearch[Any]:
        return MAPPING_SEARCHES[self.search]()


def test_searches_know_their_names() -> None:
    assert [MAPPING_SEARCHES[name]().name for name in MAPPING_SEARCHES] == list(MAPPING_SEARCHES)


#: searches that prove nothing
GUESSING = sorted(set(MAPPING_SEARCHES) - {"exact", "auto"})


@pytest.mark.parametrize("first", sweep((1000, 1060, 1120), 1))
@pytest.mark.parametrize("name", GUESSING)
def test_no_search_finds_less_than_the_exact_one(name: str, first: int) -> None:
    """Annealing and breeding find just that, on most of the small problems."""
    search, reached, many = MAPPING_SEARCHES[name](), 0, 60
    for number in range(first, first + many):
        problem = drawn_problem(number)
        least = prove(problem, 10**8, warm_up=0)
        assert least.proven
        assert least.best is not None
        state = search.advance(problem, search.start(problem, number), 4000)
        score = objective(problem, search.best(problem, state))
        assert score >= least.best.score - 1e-9, number
        reached += score <= least.best.score + 1e-9
    assert reached > many * 0.8 or name == "random"


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_exact_search_proves_what_it_finds(name: str) -> None:
    problem, search = PROBLEMS[name], ExactMapping()
    start = search.start(problem, 0)
    assert 0 < search.best(problem, search.advance(problem, start, 1)).gap_percent < np.inf
    state = search.advance(problem, start, 10**8)
    assert search.best(problem, state).gap_percent == 0
    # what is proven stays as it is
    more = search.best(problem, search.advance(problem, state, 10**8))
    assert more.mapping == search.best(problem, state).mapping
    assert more.evaluations == 2 * 10**8


def test_an_interruptible_search_counts_what_it_spends_and_stops() -> None:
    problem, search = PROBLEMS[next(iter(PROBLEMS))], ExactMapping()
    reports: list[Progress] = []
    done = search.until(problem, 0, 10**8, np.zeros(1, np.uint8), reports.append)
    found = search.best(problem, done)
    whole = search.best(problem, search.advance(problem, search.start(problem, 0), 10**8))
    assert (found.gap_percent, found.mapping) == (0, whole.mapping)
    assert found.evaluations == reports[-1].evaluations < 10**8
    stopped = search.until(problem, 0, 10**8, np.ones(1, np.uint8), reports.append)
    assert search.best(problem, stopped).evaluations == 1


def test_a_search_that_cannot_be_interrupted_stops_between_slices() -> None:
    problem, search = PROBLEMS[next(iter(PROBLEMS))], LocalMapping()
    reports: list[Progress] = []
    done = search.until(problem, 0, 5000, np.zeros(1, np.uint8), reports.append)
    assert same(done, search.advance(problem, search.start(problem, 0), 5000))
    assert reports[-1].evaluations == 5000
    scores = [report.score for report in reports]
    assert scores == sorted(scores, reverse=True)
    assert reports[-1].score == pytest.approx(objective(problem, search.best(problem, done)))
    stopped = search.until(problem, 0, 5000, np.ones(1, np.uint8), reports.append)
    assert search.best(problem, stopped).evaluations == 1000
    assert search.best_padding(problem, 10, 0) is None


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0), (2.0, 1.0)])
def test_searches_minimise_what_the_problem_weighs(weights: tuple[float, float]) -> None:
    problem = replace(MappingProblem.of_layer(resnet_conv(), casco_edge()), weights=weights)

    def score(search: MappingSearch[Any]) -> float:
        found = search.best(problem, search.advance(problem, search.start(problem, 1), 10_000))
        whole = found.energy_pj + problem.setup.leakage_pj * found.latency_cycles
        return weights[0] * np.log(whole) + weights[1] * np.log(found.latency_cycles)

    least = prove(problem, 10**9)
    assert least.best is not None
    assert least.best.score <= score(LocalMapping()) < score(RandomMapping())


def primes(value: int) -> list[int]:
    found, p = [], 2
    while value > 1:
        while value % p == 0:
            found.append(p)
            value //= p
        p += 1
    return found


def spreads(bound: int, slots: list[int]) -> list[dict[int, int]]:
    """Every way to share the factors of ``bound`` among slots."""
    found = set()
    for places in product(slots, repeat=len(primes(bound))):
        factors = dict.fromkeys(slots, 1)
        for slot, p in zip(places, primes(bound), strict=True):
            factors[slot] *= p
        found.add(tuple(sorted(factors.items())))
    return [dict(f) for f in sorted(found)]


def orders(moving: list[int]) -> list[list[int]]:
    """Every order of the loops that move; the others never matter."""
    fixed = [d for d in range(8) if d not in moving]
    return [[*p, *fixed] for p in permutations(moving)]


def all_mappings(problem: MappingProblem) -> tuple[np.ndarray, np.ndarray]:
    """Every mapping of a small problem: int64[B, L, 4, 8] and uint8[B, L, 3]."""
    setup, levels = problem.setup, len(problem.hardware.levels)
    moving = [d for d, bound in enumerate(problem.bounds) if bound > 1]
    # slot = level * 3 + (0 in time, 1 along x, 2 along y)
    slots = [
        level * 3 + kind
        for level in range(levels)
        for kind in range(3)
        if kind == 0 or setup.fanout[level, kind - 1] > 1
    ]
    tilings = []
    for choice in product(*(spreads(problem.bounds[d], slots) for d in moving)):
        loops = np.ones((levels, 4, 8), np.int64)
        for d, factors in zip(moving, choice, strict=True):
            for slot, factor in factors.items():
                loops[slot // 3, slot % 3, d] = factor
        tilings.append(loops)
    nests = []
    for nest in product(*[orders(moving)] * (levels - 1)):
        loops = np.array(tilings)
        loops[:, 0, ORDER] = np.arange(8)
        loops[:, 1:, ORDER] = nest
        nests.append(loops)
    free = np.argwhere(setup.optional)
    keeps = []
    for bits in product((0, 1), repeat=len(free)):
        keep = setup.allowed.copy()
        keep[tuple(free.T)] = bits
        keeps.append(keep)
    loops = np.concatenate(nests)
    return np.tile(loops, (len(keeps), 1, 1, 1)), np.repeat(keeps, len(loops), axis=0)


@cache
def optimum(problem: MappingProblem) -> float:
    """Ln of the least EDP over every mapping."""
    status, energy, chip, dram = evaluate_batch(problem.setup, *all_mappings(problem))
    cycles = np.maximum(chip, dram)
    edp = (energy + problem.setup.leakage_pj * cycles) * cycles
    return float(np.log(edp[status == VALID].min()))


def small(hardware: Hardware, **bounds: int) -> MappingProblem:
    size = (
        bounds.get("p", 1) + bounds.get("r", 1) - 1,
        bounds.get("q", 1) + bounds.get("s", 1) - 1,
    )
    return MappingProblem.of_layer(Layer("small", "conv", input_size=size, **bounds), hardware)


ENUMERABLE = {
    "two levels, matrix": small(two_levels(), k=4, c=4, p=4),
    "two levels, window": small(two_levels(), k=4, c=2, p=6, r=3),
    "two levels, square": small(two_levels(), k=2, p=4, q=2, r=2, s=3),
    "three levels, matrix": small(three_levels(), k=4, c=4, p=4),
    "three levels, window": small(three_levels(32), k=6, p=6, r=3),
    "three levels, bypass": small(three_levels(32, optional=True), k=2, c=4, p=3),
    "three levels, depthwise": small(three_levels(24), g=4, p=4, r=3),
}


@pytest.mark.parametrize("name", ENUMERABLE)
def test_annealing_finds_the_optimum_of_every_small_problem(name: str) -> None:
    problem, search = ENUMERABLE[name], LocalMapping()
    best = optimum(problem)
    gaps = []
    for seed in range(5):
        state = search.advance(problem, search.start(problem, seed), 2000)
        gaps.append(objective(problem, search.best(problem, state)) - best)
    # never below: the enumeration would have missed a mapping
    assert min(gaps) >= -1e-12
    assert sum(gap < 1e-9 for gap in gaps) >= 3
    assert max(gaps) < 1e-3


@pytest.mark.parametrize("name", ENUMERABLE)
def test_sampling_reaches_every_corner_of_a_small_problem(name: str) -> None:
    """With enough draws it finds the optimum too: no mapping is out of its reach."""
    problem, search = ENUMERABLE[name], RandomMapping()
    state = search.advance(problem, search.start(problem, 0), 400_000)
    gap = objective(problem, search.best(problem, state)) - optimum(problem)
    assert -1e-12 <= gap < 1e-9


@pytest.mark.parametrize("evaluations", [2000, 8000])
def test_annealing_beats_sampling_at_equal_evaluations(evaluations: int) -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    found: dict[str, float] = {}
    for name in ("local", "random"):
        search = MAPPING_SEARCHES[name]()
        states = [search.advance(problem, search.start(problem, s), evaluations) for s in range(9)]
        found[name] = median(objective(problem, search.best(problem, s)) for s in states)
    assert found["local"] < found["random"]
