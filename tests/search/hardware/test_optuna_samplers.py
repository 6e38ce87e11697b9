import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from optuna.samplers import BaseSampler, GPSampler

from archloom.search.hardware.optuna_samplers import OptunaSearch, gp_sampler, tpe_sampler
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.objectives import EDP, TDP, Limit, Objective, ObjectiveSet
from archloom.search.pareto import hypervolume
from archloom.space.networks.registry import network

from ...contracts.hardware_optimizer import HardwareOptimizerContract
from ...contracts.problems import edge_problem, observe, small_problem, small_space


class TestTpe(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return OptunaSearch(problem, seed, tpe_sampler, tries=4, initial=6)


def hasty_gp(seed: int) -> BaseSampler:
    """Return the sampler with less effort for the best proposal, which takes most of a second."""
    sampler = gp_sampler(seed)
    effort = {"_n_preliminary_samples": 64, "_n_local_search": 2}
    assert effort.keys() <= vars(sampler).keys()
    vars(sampler).update(effort)
    return sampler


class TestGp(HardwareOptimizerContract):
    """A sample is not cheap, so that only a few of the designs are the sampler's own."""

    @pytest.fixture
    def small(self, tmp_path_factory: pytest.TempPathFactory) -> DesignProblem:
        return small_problem(tmp_path_factory.getbasetemp(), 0.75)

    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return OptunaSearch(problem, seed, hasty_gp, tries=1, initial=15)


def test_tpe_beats_random_search() -> None:
    problem = edge_problem()

    def volume(optimizer: HardwareOptimizer) -> float:
        values = []
        for _ in range(10):
            seen = observe(problem, optimizer.ask(8, []))
            values += [o.values for o in seen]
            optimizer.tell(seen)
        return hypervolume(np.array(values), [1e-9, 8.0, 2.0])

    learned = [volume(OptunaSearch(problem, s, tpe_sampler, tries=16)) for s in range(3)]
    drawn = [volume(RandomSearch(problem, s)) for s in range(3)]
    assert np.median(learned) > np.median(drawn)


def test_limits_are_constraints_of_the_sampler(tmp_path: Path) -> None:
    """Told that every design with the wide dataflow breaks the limit, TPE avoids it."""
    limit = Limit(Objective("latency"), 1e6)
    problem = DesignProblem(
        small_space(tmp_path),
        [network("tiny_cnn")],
        objective_set=ObjectiveSet((EDP, TDP), (limit,)),
    )
    optimizer = OptunaSearch(problem, 0, tpe_sampler, tries=16)
    for _ in range(4):
        designs = [problem.assess(p) for p in optimizer.ask(6, [])]
        optimizer.tell(
            [
                Observation(c.point, c.values, 1, None, (1.0 if "wide" in c.key else -1.0,))
                for c in designs
                if isinstance(c, Candidate)
            ]
        )
    more = optimizer.ask(8, [])
    assert sum(point["dataflow"] == "narrow" for point in more) >= 6


def test_optuna_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    problem = edge_problem()
    optimizer = OptunaSearch(problem, 0, tpe_sampler, tries=2, initial=4)
    optimizer.tell(observe(problem, optimizer.ask(8, [])))
    with caplog.at_level(logging.INFO, logger="optuna"):
        assert len(optimizer.ask(2, [])) == 2
    assert not caplog.records


def test_the_process_runs_on_one_thread() -> None:
    """Small matrices on all cores took six times the CPU time, and a sum has many orders there."""
    seen: list[int] = []

    class Watched(GPSampler):
        def sample_relative(self, *given: Any) -> dict[str, Any]:
            seen.append(torch.get_num_threads())
            return super().sample_relative(*given)

    def sampler(seed: int) -> BaseSampler:
        gp_sampler(seed)
        return Watched(n_startup_trials=4, seed=seed)

    before = torch.get_num_threads()
    problem = edge_problem()
    optimizer = OptunaSearch(problem, 0, sampler, tries=1, initial=4)
    optimizer.tell(observe(problem, optimizer.ask(6, [])))
    torch.set_num_threads(2)
    try:
        optimizer.ask(1, [])
        assert seen == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="initial is 0, must be at least 1"):
        OptunaSearch(edge_problem(), 0, tpe_sampler, tries=1, initial=0)
