"""Ray and workers that several studies use one after the other."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from archloom.space.networks.registry import network
from archloom.studies.engine.executors.ray_executor import RayExecutor
from archloom.studies.engine.executors.ray_session import RaySession
from archloom.studies.engine.trial_task import TaskContext, TaskLimits, perform
from archloom.studies.storage.history import TaskResult
from archloom.studies.storage.trial import OverLimit

from ...contracts.executor import CONTEXT, WORK

OTHER = replace(CONTEXT, networks=(network("tiny_mobile"),))


@pytest.fixture(scope="module")
def session() -> Iterator[RaySession]:
    with RaySession() as shared:
        yield shared
    assert not shared.connected


def done(context: TaskContext, session: RaySession, workers: int = 1) -> list[TaskResult]:
    with RayExecutor(context, workers, session=session) as executor:
        found = dict(executor.run(WORK))
    return [one for _, one in sorted(found.items()) if isinstance(one, TaskResult)]


def payloads(context: TaskContext) -> list[str]:
    alone = [perform(context, task) for task in WORK]
    return [one.payload for one in alone if isinstance(one, TaskResult)]


def test_workers_go_from_study_to_study_and_find_what_each_of_them_asks_for(
    session: RaySession,
) -> None:
    first, second, third = (done(context, session) for context in (CONTEXT, OTHER, CONTEXT))
    assert [one.payload for one in first] == payloads(CONTEXT) != payloads(OTHER)
    assert [one.payload for one in second] == payloads(OTHER)
    assert [one.payload for one in third] == [one.payload for one in first]
    assert len({one.worker for one in (*first, *second, *third)}) == 1


def test_limits_are_those_of_the_study_under_way(session: RaySession) -> None:
    done(CONTEXT, session)
    tight = replace(CONTEXT, limits=TaskLimits(memory_mb=1.0))
    with RayExecutor(tight, 1, session=session) as executor:
        ((_, over),) = executor.run(WORK[:1])
    assert isinstance(over, OverLimit)
    # its process was ended, and the next study gets one with its own limits
    assert [one.payload for one in done(OTHER, session)] == payloads(OTHER)


def test_another_number_of_workers_needs_another_start(session: RaySession) -> None:
    done(CONTEXT, session)
    crew = session.crew
    assert len(done(OTHER, session, workers=2)) == len(WORK)
    assert session.crew is not crew


def test_workers_that_are_busy_are_not_left_to_the_next(session: RaySession) -> None:
    with RayExecutor(CONTEXT, 2, session=session) as executor:  # as many as were started last
        executor.submit((0, 0), replace(WORK[0], budget=10**9))
        while not executor.workers() and not executor.poll():
            pass
        executor.poll()
    assert not session.connected
    assert [one.payload for one in done(OTHER, session)] == payloads(OTHER)
