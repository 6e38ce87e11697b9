import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from archloom.search.hardware.bayesian.mobo import Acquisition, Bounds, Mobo, UpdateFilter
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.pareto import hypervolume
from archloom.space.design_space.parameter import Point
from archloom.space.networks.registry import network
from archloom.surrogates import GaussianProcess

from ....cases.sweeps import sweep
from ....contracts.hardware_optimizer import HardwareOptimizerContract
from ....contracts.problems import analytic_edp, edge_problem, observe, small_space


class TestMobo(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Mobo(problem, seed, initial=6, pool=300)

    def test_the_seed_matters(self, problem: DesignProblem) -> None:
        """Where every design is scored there is nothing to draw."""
        first, second = (
            self.play(self.make(problem, seed), problem, batches=4, size=4) for seed in (0, 1)
        )
        assert (first == second) == problem.enumerable


class TestMoboWithFilter(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Mobo(problem, seed, initial=6, pool=200, update_filter="uul", filter_batch=4)


class TestMoboByTightBounds(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Mobo(problem, seed, initial=4, pool=200, bounds="tight")

    def test_the_seed_matters(self, problem: DesignProblem) -> None:
        """A small space is looked at as a whole; a large one from drawn designs on."""
        first, second = (
            self.play(self.make(problem, seed), problem, batches=4, size=4) for seed in (0, 1)
        )
        assert (first == second) == problem.enumerable


class TestMoboByNehvi(HardwareOptimizerContract):
    """A batch takes a second, so that only a few of the designs are sampled."""

    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Mobo(problem, seed, initial=14, pool=100, acquisition="qlognehvi")


class TestMoboByParego(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Mobo(problem, seed, initial=14, pool=100, acquisition="qlognparego")


def found_by(optimizer: HardwareOptimizer, problem: DesignProblem, trials: int) -> np.ndarray:
    rows = []
    while len(rows) < trials:
        points = optimizer.ask(4, [])
        optimizer.tell(observe(problem, points))
        for point in points:
            facts = problem.assess(point)
            assert isinstance(facts, Candidate)
            rows.append((analytic_edp(problem, point), facts.area_mm2, facts.tdp_w))
    return np.array(rows)


@pytest.mark.parametrize("seeds", sweep((2, 5), 1))
def test_it_beats_random_search_on_the_median_of_some_seeds(seeds: int) -> None:
    problem = edge_problem()
    runs = {
        maker: [found_by(maker(problem, seed), problem, 32) for seed in range(seeds)]
        for maker in (Mobo, RandomSearch)
    }
    reference = np.vstack([run for both in runs.values() for run in both]).max(axis=0) * 1.1
    volumes = {m: [hypervolume(r, reference) for r in both] for m, both in runs.items()}
    assert median(volumes[Mobo]) > 1.1 * median(volumes[RandomSearch])
    assert min(volumes[Mobo]) > max(volumes[RandomSearch])


def test_a_trial_stopped_early_does_not_look_as_bad_as_it_is(tmp_path: Path) -> None:
    """Little search makes every EDP 3 times as large; the model has to learn that from spent."""
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")])
    designs = np.random.default_rng(0).permutation(np.array(problem.feasible(), dtype=object))
    told = [
        Observation(
            c.point,
            ((1, 3)[i % 2] * analytic_edp(problem, c.point), c.area_mm2, c.tdp_w),
            (400, 100)[i % 2],
        )
        for i, c in enumerate(designs[:60])
    ]
    optimizer = Mobo(problem, 0)
    optimizer.tell(told)
    rest = list(designs[60:])
    process = optimizer._posterior().processes[0]
    assert process is not None
    mean, _ = process.predict(optimizer._encoder.of(rest).inputs)
    truth = [np.log(analytic_edp(problem, c.point) / c.values[0]) for c in rest]
    assert np.abs(mean - truth).mean() < 0.25 * np.log(3)


def replay() -> str:
    """Return the last points that are asked, and what the model has learned to the last bit."""
    problem = edge_problem()
    optimizer = Mobo(problem, 5, initial=4, pool=200)
    for _ in range(6):
        points = optimizer.ask(4, [])
        optimizer.tell(observe(problem, points))
    process = optimizer._posterior().processes[0]
    assert isinstance(process, GaussianProcess)
    return f"{points} {process.hyperparameters.length_scales.tobytes().hex()}"


def test_another_process_with_other_threads_asks_the_same_to_the_last_bit() -> None:
    here, other = replay(), "1" if os.environ.get("OMP_NUM_THREADS") == "2" else "2"
    there = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import replay; print(replay())"],
        cwd=Path(__file__).parents[4],
        env=os.environ | {"OMP_NUM_THREADS": other, "OPENBLAS_NUM_THREADS": other},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert there == f"{here}\n"
    assert here.count("pe_x") == 4


def test_a_result_over_the_caps_or_of_another_study_teaches_nothing_wrong() -> None:
    problem = edge_problem()
    optimizer = Mobo(problem, 0, initial=4, pool=200)
    largest = {p.name: p.values[-1] for p in problem.space.parameters}
    optimizer.tell([Observation(largest, (1e-9, 99.0, 9.0), 100)])
    optimizer.tell(observe(problem, optimizer.ask(4, [])))
    assert len(optimizer.ask(4, [])) == 4


@pytest.mark.parametrize("edp", [0.0, -1.0, float("inf"), float("nan")])
def test_an_edp_that_is_none_is_refused(edp: float) -> None:
    point = edge_problem().sample(np.random.default_rng(0), 1, (), 100)[0].point
    with pytest.raises(ValueError, match="positive and finite, or None"):
        Observation(point, (edp, 1.0, 1.0), 1)
    with pytest.raises(ValueError, match="2 values and 0 excesses, must have 3 and 0"):
        Mobo(edge_problem(), 0, pool=20).tell([Observation(point, (1.0, 1.0), 1)])


def test_it_learns_where_trials_fail_and_by_which_rule(tmp_path: Path) -> None:
    """Designs with the wide dataflow break one rule, small buffers another."""
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")])

    def tell(points: list[Point]) -> list[Observation]:
        seen = observe(problem, points)
        for i, point in enumerate(points):
            rule = "wide" if point["dataflow"] == "wide" else "small"
            if rule == "wide" or point["l2_kib"] == 8:
                seen[i] = Observation(point, None, 0, failure=rule)
        return seen

    optimizer = Mobo(problem, 0, initial=12)
    ended = []
    for _ in range(7):
        seen = tell(optimizer.ask(4, []))
        ended += [o.values is not None for o in seen]
        optimizer.tell(seen)
    assert np.mean(ended[:12]) < 0.6
    assert np.mean(ended[16:]) > 0.85
    assert len(optimizer._posterior().rules) == 2
    safe = {"pe_x": 2, "pe_y": 2, "l2_kib": 32, "dataflow": "narrow"}
    chances = optimizer._posterior().feasibility(
        optimizer._encoder.at([safe, safe | {"l2_kib": 8}, safe | {"dataflow": "wide"}])
    )
    assert chances[0] > 0.8
    assert (chances[1:] < 0.4).all()


def test_the_start_is_best_by_bounds_and_far_from_it_once_a_design_fails() -> None:
    problem = edge_problem()
    tight = set(problem._tightened)
    optimizer = Mobo(problem, 0, initial=6, pool=200)
    first = optimizer.ask(4, [])
    # tight bounds need kernels, which a study would compile before its first design
    assert problem._tightened.keys() == tight
    # they are ranked as far as they are asked for, and further on begin with the same
    assert first == [c.point for c in optimizer._bound_ranked(48)[:4]]
    assert len(optimizer._bound_ranked(4)) == 48
    apart = optimizer._space_filling[0].point
    assert apart not in first
    optimizer.tell([Observation(first[0], None, 0, failure="small")])
    optimizer.tell(observe(problem, first[1:]))
    assert optimizer.ask(1, []) == [apart]


def test_the_corner_is_above_what_bounds_promise_though_nothing_like_it_was_tried() -> None:
    """The slowest designs are the cheapest ones: part of the front from the start."""
    problem = edge_problem()
    optimizer = Mobo(problem, 0, pool=400)
    bound_front = optimizer._encoder.bound_front
    fast = np.argsort([c.values[0] for c in optimizer._pool.base])[:8]
    optimizer.tell(observe(problem, [optimizer._pool.base[i].point for i in fast]))
    above = (
        optimizer._observations.logs()
        - optimizer._encoder.results(optimizer._observations.results).ln_least
    )
    assert optimizer._observations.logs()[:, 0].max() < bound_front[:, 0].max()
    assert optimizer._posterior().reference[0] > bound_front[:, 0].max() + above[:, 0].min()


def test_without_failures_no_rule_is_learned() -> None:
    problem = edge_problem()
    optimizer = Mobo(problem, 0, pool=50)
    optimizer.tell(observe(problem, optimizer.ask(8, [])))
    crashed = problem.sample(np.random.default_rng(1), 1, (), 100)[0].point
    optimizer.tell([Observation(crashed, None, 0)])
    assert optimizer._posterior().rules == ()


@pytest.mark.parametrize("name", ["initial", "pool", "filter_batch"])
def test_bad_options_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0"):
        Mobo(edge_problem(), 0, **{name: 0})
    unknown: UpdateFilter = "ulu"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="update_filter is 'ulu', must be one of none, uul"):
        Mobo(edge_problem(), 0, update_filter=unknown)
    odd: Acquisition = "ei"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="acquisition is 'ei', must be one of ehvi, qlog"):
        Mobo(edge_problem(), 0, acquisition=odd)
    neither: Bounds = "tigth"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="bounds is 'tigth', must be one of loose, tight"):
        Mobo(edge_problem(), 0, bounds=neither)


def test_designs_found_by_tight_bounds_are_better_by_these_than_those_of_the_pool() -> None:
    problem = edge_problem()
    optimizer = Mobo(problem, 0, initial=8, pool=200, bounds="tight")
    assert optimizer._tight is not None
    found = np.array([c.values for c in optimizer._tight.base])
    drawn = np.array([problem.tightened(c).values for c in optimizer._pool.base])
    reference = np.vstack([found, drawn]).max(axis=0) * 1.1
    assert hypervolume(found[:8], reference) > hypervolume(drawn, reference)
    keys = [c.key for c in optimizer._tight.base]
    assert len(keys) == len(set(keys))
    assert [problem.space.point_key(p) for p in optimizer.ask(4, [])] == keys[:4]


def test_what_tight_bounds_exclude_is_not_proposed_by_them() -> None:
    problem = edge_problem()
    optimizer = Mobo(problem, 0, initial=4, pool=200, bounds="tight")
    for _ in range(3):
        optimizer.tell(observe(problem, optimizer.ask(4, [])))
        front = np.array([r.values for r in optimizer._observations.results])
        for point in optimizer.ask(4, []):
            candidate = problem.assess(point)
            assert isinstance(candidate, Candidate)
            assert not (front <= problem.tightened(candidate).values).all(axis=1).any()
