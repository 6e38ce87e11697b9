import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.engine.executors.executor import Executor, InlineExecutor
from archloom.studies.engine.executors.ray_executor import RayExecutor
from archloom.studies.engine.executors.ray_session import RaySession
from archloom.studies.engine.interrupt import Stopped
from archloom.studies.engine.trial_task import TaskContext, TrialTask, perform
from archloom.studies.errors import TroubleError
from archloom.studies.storage.history import TaskResult, decode
from archloom.studies.storage.trial import Crash, Lost

from ...contracts.executor import CONTEXT, SETTINGS, WORK, ExecutorContract


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Iterator[Executor]:
        with InlineExecutor(CONTEXT) as executor:
            yield executor

    def test_outcomes_come_in_order(self, executor: Executor) -> None:
        assert [index for index, _ in executor.run(WORK)] == [0, 1, 2]


@pytest.fixture(scope="module")
def session() -> Iterator[RaySession]:
    """Ray for all tests below: to start it takes seconds."""
    with RaySession() as shared:
        yield shared


def test_a_worker_that_cannot_start_stops_the_study_with_what_is_wrong(
    session: RaySession,
) -> None:
    """And whoever comes next in the session gets others."""

    class Unreadable:
        def __reduce__(self) -> Any:
            return os._exit, (1,)

    context = TaskContext((Unreadable(),), SETTINGS, search_software)  # type: ignore[arg-type]
    with (
        RayExecutor(context, workers=1, session=session) as executor,
        pytest.raises(TroubleError, match=r"(?s)Ray's workers cannot start: .*actor died"),
    ):
        list(executor.run(WORK))


def die_on_one_seed(
    task: SoftwareTask, state: dict[str, Any] | None, budget: int
) -> SoftwareResult:
    if task.seed == WORK[1].seed:
        os.kill(os.getpid(), signal.SIGKILL)
    return search_software(task, state, budget)


def test_a_worker_that_dies_again_and_again_loses_its_work_alone(session: RaySession) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))
    context = TaskContext(CONTEXT.networks, SETTINGS, die_on_one_seed)
    with RayExecutor(context, workers=1, session=session) as executor:
        outcomes = dict(executor.run(WORK))
    crash = outcomes[1]
    assert isinstance(crash, Lost)
    assert crash.error == "WorkerDied"
    assert crash.message == "the worker died 3 times; the last one was killed by SIGKILL"
    assert isinstance(outcomes[0], TaskResult)
    assert isinstance(outcomes[2], TaskResult)


def test_work_that_has_no_memory_is_done_again_in_another_worker(
    tmp_path: Path, session: RaySession
) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))

    def short(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        with (tmp_path / f"{task.seed}").open("a") as file:
            file.write(f"{os.getpid()}\n")
        tries = len((tmp_path / f"{task.seed}").read_text().split())
        if task.seed == WORK[0].seed or (task.seed == WORK[1].seed and tries < 2):
            raise MemoryError("needed 96 GiB")
        return search_software(task, state, budget)

    context = TaskContext(CONTEXT.networks, SETTINGS, short)
    with RayExecutor(context, workers=1, session=session) as executor:
        outcomes = dict(executor.run(WORK))
    lost = outcomes[0]
    assert isinstance(lost, Lost)
    assert (lost.error, lost.message) == ("MemoryError", "needed 96 GiB")
    assert "in short" in lost.traceback
    assert isinstance(outcomes[1], TaskResult)
    assert isinstance(outcomes[2], TaskResult)
    for task, tries in zip(WORK, (3, 2, 1), strict=True):
        workers = (tmp_path / f"{task.seed}").read_text().split()
        assert len(workers) == len(set(workers)) == tries


def test_whoever_stops_gets_what_is_under_way(tmp_path: Path, session: RaySession) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))

    def slow(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        (tmp_path / "begun").touch()
        while not (tmp_path / "stop").exists():
            time.sleep(0.01)
        time.sleep(0.5)
        return search_software(task, state, budget)

    def check() -> None:
        if (tmp_path / "begun").exists():
            (tmp_path / "stop").touch()
            raise Stopped

    context = TaskContext(CONTEXT.networks, SETTINGS, slow)
    done = []
    with RayExecutor(context, workers=1, check=check, session=session) as executor:
        outcomes = executor.run(WORK)
        done.append(next(outcomes))
        with pytest.raises(Stopped):
            next(outcomes)
    ((index, result),) = done
    assert index == 0
    assert isinstance(result, TaskResult)


def test_a_trial_goes_on_in_its_worker_and_elsewhere_when_that_is_gone(
    tmp_path: Path, session: RaySession
) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))

    def noting(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        with (tmp_path / "seen").open("a") as file:
            file.write(f"{task.seed} {os.getpid()}\n")
        if budget == 4:
            with suppress(FileExistsError):
                (tmp_path / "died").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return search_software(task, state, budget)

    def go_on(outcomes: dict[int, TaskResult | Crash], budget: int) -> list[TrialTask]:
        tasks = []
        for n, task in enumerate(WORK):
            outcome = outcomes[n]
            assert isinstance(outcome, TaskResult)
            tasks.append(replace(task, previous=outcome.payload, budget=budget))
        return tasks

    context = TaskContext(CONTEXT.networks, SETTINGS, noting)
    with RayExecutor(context, workers=2, session=session) as executor:
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


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:x", "ray://"])
def test_a_cluster_that_does_not_answer_is_told_at_once(address: str) -> None:
    with pytest.raises(TroubleError, match="no Ray cluster answers at '"):
        RayExecutor(CONTEXT, address=address).__enter__()


class TestRayExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self, session: RaySession) -> Iterator[Executor]:
        with RayExecutor(CONTEXT, workers=2, session=session) as executor:
            yield executor


def test_ray_that_was_let_go_is_started_again_for_more(session: RaySession) -> None:
    """Where no others use it."""
    session.close()  # there is one Ray in a process
    with RayExecutor(CONTEXT, workers=1) as executor:
        executor.get_ready()
        executor.let_go()
        ((_, outcome),) = executor.run(WORK[:1])
        assert isinstance(outcome, TaskResult)
