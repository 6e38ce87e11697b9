"""Executors: where the tasks of a study are done, in this process or in Ray workers.

The result of a task depends on the task alone, so both executors give the same results, in
another order.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from archloom.studies.storage import Crash, Lost, TaskResult

from ..errors import TroubleError
from .cluster import check_reachable, connect
from .interrupt import Stopped
from .placement import Placed, Placement
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

#: Seconds between two looks at whether the user wants to stop.
_PATIENCE_S = 0.2

#: How often a task is tried again whose worker died (killed, out of memory).
_RETRIES = 2


class _Worker:
    """What runs in a worker: it keeps what it knows of its trials from one task to the next."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    def ready(self) -> None:
        """Answer once the worker has started."""

    def perform(self, task: TrialTask) -> TaskResult | Crash:
        """Do a task."""
        return perform(self._context, task)


class RayExecutor:
    """Does the tasks in Ray workers, one at a time in each.

    Args:
        context: what all tasks share; put into the object store once.
        workers: how many; None for the cores that this process may use.
        address: host:port of a running cluster; None starts Ray on this machine, with just the
            workers. The cluster's machines need the same version of archloom.

    A trial goes on in the worker that had it before, unless that one has too much to do. Workers
    that a cluster has no room for yet join when it has. A worker that dies, or whose machine has no
    memory or disk left, is replaced and its task done again, twice at most; then the task is lost.

    ``check`` is called between waits. If it raises :class:`Stopped`, no task begins any more; those
    under way are waited for, and then it is raised again. ``stages`` hears that workers start,
    which they do with the first task, after ``before`` was called.

    Raises:
        TroubleError: on entering, if nothing answers at the address; later, if workers cannot
            start, or the cluster refuses.
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
        self._count = workers or len(os.sched_getaffinity(0))
        self._address = address
        self._make: Callable[[], Any] | None = None
        self._placement = Placement()
        self._workers: dict[int, Any] = {}
        self._made = self._stillborn = 0
        self._starting = False
        # what is asked of workers: the answer of one that starts has no task
        self._asked: dict[Any, tuple[int, int | None]] = {}

    def __enter__(self) -> Self:
        if self._address is not None:
            check_reachable(self._address)
        return self

    def _start(self) -> None:
        """Start Ray, which takes seconds, when there is work: designs are proposed before."""
        connect(self._address, self._count)
        import ray

        shared = ray.put(self._context)
        self._make = lambda: ray.remote(num_cpus=1)(_Worker).remote(shared)
        for _ in range(self._count):
            self._add_worker()

    def _add_worker(self) -> None:
        assert self._make is not None, "Ray has started"
        worker = self._make()
        self._workers[self._made] = worker
        self._asked[worker.ready.remote()] = self._made, None
        self._made += 1

    def __exit__(self, *_: object) -> None:
        if self._make is None:
            return
        import ray

        self._make = None
        self._workers.clear()
        self._asked.clear()
        ray.shutdown()

    def run(
        self, tasks: Sequence[TrialTask], started: Started = nobody
    ) -> Iterator[tuple[int, TaskResult | Crash]]:
        """Yield (position in ``tasks``, result), each as soon as it is done."""
        if not tasks:
            return
        if self._make is None:
            self._before()
            self._stages.begin(f"starting Ray with {self._count} workers")
            self._starting = True
            self._start()
        waiting, losses = list(range(len(tasks))), Counter[int]()
        left = len(tasks)
        while left:
            if self._wants_to_go_on():
                self._give_out(tasks, waiting, started)
            for index, result in self._done():
                if isinstance(result, Lost) and losses[index] < _RETRIES:
                    losses[index] += 1
                    waiting.insert(0, index)
                    continue
                left -= 1
                yield index, result

    def _wants_to_go_on(self) -> bool:
        """Ask whether tasks may begin.

        Raises:
            Stopped: none may, and none is under way.
        """
        try:
            self._check()
        except Stopped:
            if all(index is None for _, index in self._asked.values()):
                raise
            return False
        return True

    def _done(self) -> Iterator[tuple[int, TaskResult | Crash]]:
        """Wait a little; yield what tasks have come to meanwhile."""
        import ray

        done, _ = ray.wait(list(self._asked), num_returns=1, timeout=_PATIENCE_S)
        for reference in done:
            worker, index = self._asked.pop(reference)
            try:
                result = ray.get(reference)
            except (ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError) as error:
                result = self._died(worker, error, starting=index is None)
            else:
                self._begun()
                if isinstance(result, Lost):
                    # its machine has no room: what it remembers takes some
                    ray.kill(self._workers[worker])
                    self._replace(worker)
            if index is not None:
                yield index, result

    def _begun(self) -> None:
        """Note that a worker is there: until then a cluster may have had no room."""
        self._stillborn = 0
        if self._starting:
            self._starting = False
            self._stages.end()

    def _give_out(self, tasks: Sequence[TrialTask], waiting: list[int], started: Started) -> None:
        """Give each idle worker a task, if one waits for it."""
        busy = {worker for worker, _ in self._asked.values()}
        for number, worker in self._workers.items():
            if number in busy:
                continue
            chosen = self._placement.choose(number, [_placed(tasks[index]) for index in waiting])
            if chosen is None:
                continue
            index = waiting.pop(chosen)
            started(index)
            self._asked[worker.perform.remote(tasks[index])] = number, index

    def _died(self, number: int, error: Any, starting: bool) -> Lost:
        """Replace a worker; return what its task has come to, if it is not done again.

        Raises:
            TroubleError: workers cannot start (they cannot import archloom, say). That is no fault
                of a trial: the study stops, and can go on once it is mended.
        """
        self._stillborn += starting
        if getattr(error, "actor_init_failed", False) or self._stillborn > _RETRIES:
            raise TroubleError(f"Ray's workers cannot start: {str(error).strip()}")
        self._replace(number)
        name = type(error).__name__
        return Lost(name, f"the worker died {_RETRIES + 1} times", f"{name}: no traceback")

    def _replace(self, number: int) -> None:
        del self._workers[number]
        self._placement.lost(number)
        self._add_worker()


def _placed(task: TrialTask) -> Placed:
    """Return what matters of a task: designs with buffers of one size share tilings."""
    return Placed(task.seed, task.hardware.levels[-2].total_bytes)


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
