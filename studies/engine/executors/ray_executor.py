"""The executor that does tasks in Ray's workers, on this machine or on a cluster.

The result of a task depends on the task alone, so all executors give the same results, in
another order.
"""

import os
import pickle
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Self

from archloom.studies.engine.progress import SILENT, Stages
from archloom.studies.storage import Lost

from ...errors import TroubleError
from ..interrupt import Stopped
from ..trial_task import TaskContext, TrialTask
from .cluster import check_reachable, connect
from .executor import Executor, InlineExecutor, Key, nothing
from .limited_process import ProcessLimits
from .outcomes import Gone, Outcome, outcome_of
from .placement import Placed, Placement
from .pulse import Pulse
from .worker import CONCURRENCY, Worker

#: Seconds between two looks at whether the user wants to stop.
_PATIENCE_S = 0.2

#: How often a task is tried again whose worker died (killed, out of memory).
_RETRIES = 2


class RayExecutor(Executor):
    """Does the tasks in Ray workers, one at a time in each.

    Args:
        context: what all tasks share; put into the object store once.
        workers: how many; None for the cores that this process may use.
        address: host:port of a running cluster; None starts Ray on this machine, with just the
            workers. The cluster's machines need the same version of archloom.

    A trial goes on in the worker that had it before, unless that one has too much to do. Workers
    that a cluster has no room for yet join when it has. A worker that dies, or whose machine has no
    memory or disk left, is replaced and its task done again, twice at most; then the task is lost.
    So is one that stands still. A task that takes more than ``context.limits`` is ended, and not
    done again.

    ``check`` is called between waits. If it raises :class:`Stopped`, no task begins any more; those
    under way are waited for, and then it is raised again. ``stages`` hears that workers start,
    which they do with the first task, after ``before`` was called. ``report`` hears of workers that
    are replaced.

    Raises:
        TroubleError: on entering, if nothing answers at the address; later, if workers cannot
            start, or the cluster refuses.
    """

    apart = True

    def __init__(
        self,
        context: TaskContext,
        workers: int | None = None,
        address: str | None = None,
        check: Callable[[], None] = lambda: None,
        stages: Stages = SILENT,
        before: Callable[[], None] = lambda: None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._before = before
        self._report = report
        self._pulse = Pulse(context.limits.stall_s)
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
        self._asked: dict[Any, tuple[int, Key | None]] = {}
        self._tasks: dict[Key, tuple[TrialTask, Callable[[], None]]] = {}
        self._waiting: list[Key] = []
        self._losses = Counter[Key]()

    def __enter__(self) -> Self:
        if self._address is not None:
            check_reachable(self._address)
        return self

    def _start(self) -> None:
        """Start Ray, which takes seconds, when there is work: designs are proposed before."""
        connect(self._address, self._count)
        import ray

        limits = self._context.limits
        held_to = ProcessLimits(limits.cpu_s, limits.memory_mb, limits.stall_s)
        # workers pass it on to their processes as it is
        pickled: Callable[[TaskContext], bytes] = ray.cloudpickle.dumps
        shared = ray.put(pickled(self._context))
        options: dict[str, Any] = {"num_cpus": 1, "concurrency_groups": CONCURRENCY}
        self._make = lambda: ray.remote(**options)(Worker).remote(shared, held_to)
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
        for content in (self._workers, self._asked, self._tasks, self._waiting):
            content.clear()
        ray.shutdown()

    def submit(self, key: Key, task: TrialTask, started: Callable[[], None] = nothing) -> None:
        """Have a task done."""
        insort(self._waiting, key)
        self._tasks[key] = task, started

    def poll(self) -> list[tuple[Key, Outcome]]:
        """Give idle workers what waits, and wait for a moment for what they bring."""
        if not self._tasks:
            return []
        if self._make is None:
            self._before()
            self._stages.begin(f"starting Ray with {self._count} workers")
            self._starting = True
            self._start()
        if self._wants_to_go_on():
            self._give_out()
        ended = []
        for key, result in self._done():
            if isinstance(result, Lost) and self._losses[key] < _RETRIES:
                self._losses[key] += 1
                insort(self._waiting, key)
                continue
            if isinstance(result, Gone):
                result = result.counted(_RETRIES + 1)
            self._losses.pop(key, None)
            del self._tasks[key]
            ended.append((key, result))
        return ended

    def _wants_to_go_on(self) -> bool:
        """Ask whether tasks may begin.

        Raises:
            Stopped: none may, and none is under way.
        """
        try:
            self._check()
        except Stopped:
            if all(key is None for _, key in self._asked.values()):
                raise
            return False
        return True

    def _done(self) -> Iterator[tuple[Key, Outcome]]:
        """Wait a little; yield what tasks have come to meanwhile."""
        import ray

        result: Outcome
        asked = list(self._asked)
        done, _ = ray.wait(asked, num_returns=1, timeout=_PATIENCE_S)
        if done:
            # others that are done as well
            done, _ = ray.wait(asked, num_returns=len(asked), timeout=0)
        for reference in done:
            worker, key = self._asked.pop(reference)
            try:
                answer = ray.get(reference)
            except (ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError) as error:
                result = self._died(worker, error, starting=key is None)
            else:
                self._begun()
                if key is None:
                    continue
                result = outcome_of(answer)
                if isinstance(result, Gone):
                    self._replace(worker, result.message)
                elif isinstance(result, Lost):
                    # its machine has no room: what it remembers takes some
                    self._replace(worker, f"had no room ({result.error}: {result.message})")
            if key is not None:
                yield key, result
        yield from self._silent()

    def _silent(self) -> Iterator[tuple[Key, Outcome]]:
        """Replace workers that do not answer any more; yield what their tasks have come to."""
        asked = {n: (reference, key) for reference, (n, key) in self._asked.items()}
        busy = {n: self._workers[n] for n, (_, key) in asked.items() if key is not None}
        for worker in self._pulse.silent(busy):
            reference, key = asked[worker]
            del self._asked[reference]
            text = f"did not answer for {self._context.limits.stall_s:g} s"
            gone = Gone("WorkerSilent", text, "WorkerSilent: no traceback")
            self._replace(worker, gone.message)
            assert key is not None, "it does something"
            yield key, gone

    def _begun(self) -> None:
        """Note that a worker is there: until then a cluster may have had no room."""
        self._stillborn = 0
        if self._starting:
            self._starting = False
            self._stages.end()

    def _give_out(self) -> None:
        """Give each idle worker a task, if one waits for it."""
        busy = {worker for worker, _ in self._asked.values()}
        for number, worker in self._workers.items():
            if number in busy:
                continue
            waiting = [_placed(self._tasks[key][0]) for key in self._waiting]
            chosen = self._placement.choose(number, waiting)
            if chosen is None:
                continue
            key = self._waiting.pop(chosen)
            task, started = self._tasks[key]
            started()
            self._asked[worker.perform.remote(pickle.dumps(task))] = number, key

    def _died(self, number: int, error: Any, starting: bool) -> Lost:
        """Replace a worker; return what its task has come to, if it is not done again.

        Raises:
            TroubleError: workers cannot start (they cannot import archloom, say). That is no fault
                of a trial: the study stops, and can go on once it is mended.
        """
        self._stillborn += starting
        if getattr(error, "actor_init_failed", False) or self._stillborn > _RETRIES:
            raise TroubleError(f"Ray's workers cannot start: {str(error).strip()}")
        name = type(error).__name__
        gone = Gone(name, f"is gone ({name})", f"{name}: no traceback")
        self._replace(number, gone.message)
        return gone

    def _replace(self, number: int, why: str) -> None:
        import ray

        ray.kill(self._workers.pop(number))
        self._placement.lost(number)
        self._add_worker()
        self._report(f"a worker {why}; another one takes its place")


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
    report: Callable[[str], None] = lambda _: None,
) -> Executor:
    """Return the executor called ``name``: ``inline`` or ``ray``.

    ``check`` may raise to stop; ``stages`` hears of what takes time besides tasks; ``before`` is
    called once, before the first task; ``report`` hears of workers that are replaced.
    """
    if name == "inline":
        return InlineExecutor(context, check, before)
    return RayExecutor(context, workers, address, check, stages, before, report)
