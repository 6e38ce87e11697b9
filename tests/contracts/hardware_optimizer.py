"""What every hardware optimizer promises; a test class inherits this and says how to make one."""

from abc import ABC, abstractmethod

import pytest

from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.space.design_space.parameter import Point

from .problems import edge_problem, observe, small_problem


class HardwareOptimizerContract(ABC):
    """Inherit, implement :meth:`make`, and the tests run."""

    @abstractmethod
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        """Return the optimizer under test."""

    @pytest.fixture
    def small(self, tmp_path_factory: pytest.TempPathFactory) -> DesignProblem:
        return small_problem(tmp_path_factory.getbasetemp(), 0.9)

    @pytest.fixture(params=["small", "large"])
    def problem(self, request: pytest.FixtureRequest, small: DesignProblem) -> DesignProblem:
        """A space that can be enumerated, and one that can't."""
        return small if request.param == "small" else edge_problem()

    def play(
        self, optimizer: HardwareOptimizer, problem: DesignProblem, batches: int, size: int
    ) -> list[list[Point]]:
        asked = []
        for _ in range(batches):
            asked.append(optimizer.ask(size, []))
            optimizer.tell(observe(problem, asked[-1]))
        return asked

    def keys(self, problem: DesignProblem, points: list[Point]) -> list[str]:
        return [problem.space.point_key(p) for p in points]

    def test_proposes_as_many_as_asked_all_feasible_none_twice(
        self, problem: DesignProblem
    ) -> None:
        batches = self.play(self.make(problem, 0), problem, batches=4, size=4)
        assert [len(b) for b in batches] == [4] * 4
        points = [p for b in batches for p in b]
        assert all(isinstance(problem.assess(p), Candidate) for p in points)
        assert len(set(self.keys(problem, points))) == 16

    def test_a_replay_asks_the_same_however_it_is_told(self, problem: DesignProblem) -> None:
        batches = self.play(self.make(problem, 3), problem, batches=4, size=4)
        told = [o for b in batches[:3] for o in observe(problem, b)]
        at_once, one_by_one = self.make(problem, 3), self.make(problem, 3)
        at_once.tell(told)
        for observation in told:
            one_by_one.tell([observation])
        assert at_once.ask(4, []) == batches[3]
        assert one_by_one.ask(4, []) == batches[3]

    def test_asking_again_changes_nothing(self, problem: DesignProblem) -> None:
        optimizer = self.make(problem, 1)
        self.play(optimizer, problem, batches=3, size=4)
        assert optimizer.ask(4, []) == optimizer.ask(4, [])

    def test_pending_points_are_not_proposed(self, problem: DesignProblem) -> None:
        optimizer = self.make(problem, 1)
        for batches in (0, 3):
            self.play(optimizer, problem, batches, size=4)
            pending = optimizer.ask(4, [])
            more = optimizer.ask(4, pending)
            assert len(more) == 4
            assert not set(self.keys(problem, more)) & set(self.keys(problem, pending))

    def test_the_seed_matters(self, problem: DesignProblem) -> None:
        first, second = (
            self.play(self.make(problem, seed), problem, batches=4, size=4) for seed in (0, 1)
        )
        assert first != second

    def test_failed_trials_are_not_proposed_again(self, problem: DesignProblem) -> None:
        optimizer = self.make(problem, 0)
        failed = optimizer.ask(12, [])
        optimizer.tell([Observation(p, None, evaluations=0) for p in failed])
        more = optimizer.ask(4, [])
        assert len(more) == 4
        assert not set(self.keys(problem, more)) & set(self.keys(problem, failed))

    def test_a_small_space_is_proposed_whole_and_then_no_more(self, small: DesignProblem) -> None:
        optimizer = self.make(small, 0)
        total = len(small.feasible())
        assert 20 < total < small.space.cardinality
        points = [p for b in self.play(optimizer, small, batches=4, size=total // 3) for p in b]
        assert len(points) == total
        assert set(self.keys(small, points)) == {c.key for c in small.feasible()}
        assert optimizer.ask(4, []) == []

    def test_a_space_without_a_feasible_design_gives_none(self, small: DesignProblem) -> None:
        empty = DesignProblem(small.space, small.networks, area_cap_mm2=1e-6)
        assert self.make(empty, 0).ask(4, []) == []

    def test_no_point_asked_is_none_given(self, problem: DesignProblem) -> None:
        optimizer = self.make(problem, 0)
        self.play(optimizer, problem, batches=3, size=4)
        assert optimizer.ask(0, []) == []
