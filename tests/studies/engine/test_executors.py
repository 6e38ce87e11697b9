import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.engine.executors import RayExecutor
from archloom.studies.engine.trial_task import (
    Executor,
    InlineExecutor,
    TaskContext,
    TrialTask,
    perform,
)
from archloom.studies.errors import UserError
from archloom.studies.storage.history import TaskResult, decode
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


def test_a_trial_goes_on_in_its_worker_and_elsewhere_when_that_is_gone(tmp_path: Path) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))

    def noting(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        with (tmp_path / "seen").open("a") as file:
            file.write(f"{task.seed} {os.getpid()}\n")
        if budget == 4 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return search_software(task, state, budget)

    def go_on(outcomes: dict[int, TaskResult | Crash], budget: int) -> list[TrialTask]:
        tasks = []
        for n, task in enumerate(WORK):
            outcome = outcomes[n]
            assert isinstance(outcome, TaskResult)
            tasks.append(replace(task, previous=outcome.payload, budget=budget))
        return tasks

    with RayExecutor(TaskContext(CONTEXT.networks, SETTINGS, noting), workers=2) as executor:
        outcomes = dict(executor.run(WORK))
        outcomes = dict(executor.run(go_on(outcomes, 3)))
        outcomes = dict(executor.run(go_on(outcomes, 4)))
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert sorted(seen[:3]) == sorted(seen[3:6]), "no trial has moved"
    assert len(seen) == 10, "the task of the worker that died was done again"
    for task, outcome in zip(WORK, (outcomes[n] for n in range(3)), strict=True):
        assert isinstance(outcome, TaskResult)
        at_once = perform(CONTEXT, replace(task, budget=task.budget + 7))
        assert isinstance(at_once, TaskResult)
        assert decode(outcome.payload).networks == decode(at_once.payload).networks


def test_a_worker_that_cannot_start_stops_the_study_with_what_is_wrong() -> None:
    import ray

    class Unreadable:
        def __reduce__(self) -> Any:
            return os._exit, (1,)

    context = TaskContext((Unreadable(),), SETTINGS, search_software)  # type: ignore[arg-type]
    with (
        RayExecutor(context, workers=1) as executor,
        pytest.raises(ray.exceptions.RayActorError, match="actor died"),
    ):
        list(executor.run(WORK))


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
