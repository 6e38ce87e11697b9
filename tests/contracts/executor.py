"""What every executor promises; a test class inherits this and says how to make one."""

from abc import ABC, abstractmethod

import pytest

from archloom.search.software.search import SoftwareSettings, advance
from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import network
from archloom.studies.engine.executors.executor import Executor
from archloom.studies.engine.trial_task import TaskContext, TrialTask, perform
from archloom.studies.storage.history import TaskResult, decode
from archloom.studies.storage.trial import Crash

SETTINGS = SoftwareSettings(population=4, mapping="random", mapping_evaluations=30)
CONTEXT = TaskContext((network("tiny_cnn"),), SETTINGS, advance)
WORK = [
    TrialTask(preset("eyeriss"), seed, None, budget) for seed, budget in ((1, 3), (2, 2), (3, 5))
]

#: Its budget is no number, so the software search raises.
BROKEN = TrialTask(preset("eyeriss"), 4, None, "three")  # type: ignore[arg-type]


class ExecutorContract(ABC):
    """Inherit, implement :meth:`executor` as a fixture that is entered, and the tests run."""

    @pytest.fixture
    @abstractmethod
    def executor(self) -> Executor:
        """Return a started executor for :data:`CONTEXT`."""

    def test_every_piece_comes_back_once_with_what_it_gives_alone(self, executor: Executor) -> None:
        outcomes = list(executor.run(WORK))
        assert sorted(index for index, _ in outcomes) == list(range(len(WORK)))
        for index, outcome in outcomes:
            alone = perform(CONTEXT, WORK[index])
            assert isinstance(outcome, TaskResult)
            assert isinstance(alone, TaskResult)
            assert outcome.payload == alone.payload
            assert outcome.seconds > 0

    def test_work_goes_on_from_the_round_before(self, executor: Executor) -> None:
        ((_, first),) = executor.run([TrialTask(preset("eyeriss"), 9, None, 2)])
        assert isinstance(first, TaskResult)
        ((_, second),) = executor.run([TrialTask(preset("eyeriss"), 9, first.payload, 3)])
        ((_, at_once),) = executor.run([TrialTask(preset("eyeriss"), 9, None, 5)])
        assert isinstance(second, TaskResult)
        assert isinstance(at_once, TaskResult)
        assert decode(second.payload).curve == decode(at_once.payload).curve
        assert decode(second.payload).networks == decode(at_once.payload).networks

    def test_a_crash_is_a_value_and_spares_the_rest(self, executor: Executor) -> None:
        outcomes = dict(executor.run([WORK[0], BROKEN, WORK[1]]))
        assert isinstance(outcomes[0], TaskResult)
        assert isinstance(outcomes[2], TaskResult)
        crash = outcomes[1]
        assert isinstance(crash, Crash)
        assert crash == perform(CONTEXT, BROKEN)
        assert crash.error == "TypeError"
        assert "Traceback" in crash.traceback

    def test_no_work_is_done_at_once(self, executor: Executor) -> None:
        assert list(executor.run([])) == []

    def test_workers_that_were_let_go_come_back_for_more(self, executor: Executor) -> None:
        executor.get_ready()
        executor.let_go()
        assert executor.workers() == {}
        ((_, outcome),) = executor.run(WORK[:1])
        assert isinstance(outcome, TaskResult)
