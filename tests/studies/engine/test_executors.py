import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.engine.executors import RayExecutor
from archloom.studies.engine.trial_task import Executor, InlineExecutor, TaskContext
from archloom.studies.errors import UserError
from archloom.studies.storage.history import TaskResult
from archloom.studies.storage.trial import Crash

from ...contracts.executor import CONTEXT, SETTINGS, WORK, ExecutorContract


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Iterator[Executor]:
        with InlineExecutor(CONTEXT) as executor:
            yield executor

    def test_outcomes_come_in_order(self, executor: Executor) -> None:
        assert [index for index, _ in executor.run(WORK)] == [0, 1, 2]


def die_on_one_seed(
    task: SoftwareTask, state: dict[str, Any] | None, budget: int
) -> SoftwareResult:
    if task.seed == WORK[1].seed:
        os.kill(os.getpid(), signal.SIGKILL)
    return search_software(task, state, budget)


def test_a_worker_that_dies_again_and_again_is_a_crash_of_its_work_alone() -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))
    context = TaskContext(CONTEXT.networks, SETTINGS, die_on_one_seed)
    with RayExecutor(context, workers=1) as executor:
        outcomes = dict(executor.run(WORK))
    crash = outcomes[1]
    assert isinstance(crash, Crash)
    assert crash.error == "ActorDiedError"
    assert "died 3 times" in crash.message
    assert isinstance(outcomes[0], TaskResult)
    assert isinstance(outcomes[2], TaskResult)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:x", "ray://"])
def test_a_cluster_that_does_not_answer_is_told_at_once(address: str) -> None:
    with pytest.raises(UserError, match=r"no Ray cluster answers at executor\.address"):
        RayExecutor(CONTEXT, address=address).__enter__()


@pytest.fixture(scope="module")
def ray_workers() -> Iterator[Executor]:
    """One session for all tests below: to start Ray takes seconds."""
    with RayExecutor(CONTEXT, workers=2) as executor:
        yield executor


class TestRayExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self, ray_workers: Executor) -> Executor:
        return ray_workers
