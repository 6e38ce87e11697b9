"""Executors: where the tasks of a study are done, in this process or in Ray workers.

The result of a task depends on the task alone, so both executors give the same results, in
another order.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self
from urllib.parse import urlsplit

from archloom.studies.storage import Crash, TaskResult

from ..errors import UserError
from .progress import SILENT, Stages
from .trial_task import (
    Executor,
    InlineExecutor,
    Started,
    TaskContext,
    TrialTask,
    nobody,
    perform,
)

#: Ray's smallest object store is 75 MB; the shared context is far smaller.
_OBJECT_STORE_BYTES = 100 * 2**20

#: Seconds between two looks at whether the user wants to stop.
_PATIENCE_S = 0.2

#: How often a task is tried again whose worker died (killed, out of memory).
_RETRIES = 2

#: One thread per worker: workers share the cores, and threads of numba and torch on top of
#: that make every trial many times slower.
_WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class RayExecutor:
    """Does the tasks in Ray workers, at most ``workers`` of them at a time.

    Args:
        context: what all tasks share; put into the object store once.
        workers: tasks at a time; None for the cores that this process may use.
        address: host:port of a running cluster; None starts Ray on this machine, with just the
            workers. The cluster's machines need the same version of archloom.

    A worker that dies is replaced and its task done again, twice at most; then it counts as a
    crash of that trial.

    ``check`` is called between waits and may raise to give up; ``stages`` hears that workers start,
    which they do with the first task, after ``before`` was called.

    Raises:
        UserError: on entering, if nothing answers at the address.
    """

    def __init__(
        self,
        context: TaskContext,
        workers: int | None = None,
        address: str | None = None,
        check: Callable[[], None] = lambda: None,
        stages: Stages = SILENT,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._before = before
        self._context = context
        self._check = check
        self._stages = stages
        self._workers = workers or len(os.sched_getaffinity(0))
        self._address = address
        self._shared: Any = None
        self._perform: Any = None

    def __enter__(self) -> Self:
        if self._address is not None:
            check_reachable(self._address)
        return self

    def _start(self) -> None:
        """Start Ray, which takes seconds, when there is work: designs are proposed before."""
        # Read by Ray at its import: no usage reports from a user's machine.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Silences a warning about a change of default that does not touch CPU-only work.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        options: dict[str, Any] = {
            "address": self._address or "local",
            "log_to_driver": False,
            "logging_level": logging.ERROR,
            "runtime_env": {"env_vars": _WORKER_ENVIRONMENT},
        }
        if self._address is None:
            options |= {
                "num_cpus": self._workers,
                "object_store_memory": _OBJECT_STORE_BYTES,
                "include_dashboard": False,
            }
        ray.init(**options)
        self._shared = ray.put(self._context)
        self._perform = ray.remote(num_cpus=1, max_retries=_RETRIES)(perform)

    def __exit__(self, *_: object) -> None:
        if self._perform is None:
            return
        import ray

        self._shared = self._perform = None
        ray.shutdown()

    def run(
        self, tasks: Sequence[TrialTask], started: Started = nobody
    ) -> Iterator[tuple[int, TaskResult | Crash]]:
        """Yield (position in ``tasks``, result), each as soon as it is done."""
        if not tasks:
            return
        if self._perform is None:
            self._before()
            self._stages.begin(f"starting Ray with {self._workers} workers")
            self._start()
            self._stages.end()
        import ray

        flying: dict[Any, int] = {}
        waiting = list(range(len(tasks)))[::-1]
        while waiting or flying:
            self._check()
            while waiting and len(flying) < self._workers:
                index = waiting.pop()
                started(index)
                flying[self._perform.remote(self._shared, tasks[index])] = index
            done, _ = ray.wait(list(flying), num_returns=1, timeout=_PATIENCE_S)
            for reference in done:
                yield flying.pop(reference), _collect(reference)


def _collect(reference: Any) -> TaskResult | Crash:
    """Return the result; ``perform`` never raises, so what is left is a worker that died.

    Other errors of Ray (a worker that cannot import archloom, say) are no fault of the trial:
    they stop the study, which can go on once they are mended.
    """
    from ray import exceptions, get

    try:
        result: TaskResult | Crash = get(reference)
    except (
        exceptions.WorkerCrashedError,
        exceptions.OutOfMemoryError,
        exceptions.NodeDiedError,
    ) as error:
        name = type(error).__name__
        return Crash(name, f"the worker died {_RETRIES + 1} times", f"{name}: no traceback")
    return result


def check_reachable(address: str) -> None:
    """Knock at a cluster's door: Ray itself tries for minutes before it gives up.

    Raises:
        UserError: nothing answers.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        socket.create_connection((parts.hostname, parts.port or 0), timeout=10).close()
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Ray cluster answers at executor.address {address!r} ({error}); give host:port of "
            "one that runs, leave it out to start Ray here, or say --executor inline"
        ) from None


def make_executor(
    name: str,
    context: TaskContext,
    workers: int | None,
    address: str | None,
    check: Callable[[], None] = lambda: None,
    stages: Stages = SILENT,
    before: Callable[[], None] = lambda: None,
) -> Executor:
    """Return the executor called ``name``: ``inline`` or ``ray``.

    ``check`` may raise to stop; ``stages`` hears of what takes time besides tasks; ``before`` is
    called once, before the first task.
    """
    if name == "inline":
        return InlineExecutor(context, check, before)
    return RayExecutor(context, workers, address, check, stages, before)
