"""The executor that does tasks in Ray's workers, on this machine or on a cluster.

The result of a task depends on the task alone, so all executors give the same results, in
another order.
"""

import os
import pickle
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Self

from archloom.studies.engine.progress import SILENT, Stages
from archloom.studies.storage import Lost, TaskResult

from ..interrupt import Stopped
from ..trial_task import TaskContext, TrialTask
from .cluster import check_reachable
from .crew import Crew
from .executor import Executor, InlineExecutor, Key, Started, nothing
from .limited_process import ProcessLimits
from .nodes import Nodes
from .outcomes import Gone, Outcome, machine_errors, outcome_of
from .placement import Placed, Placement
from .pulse import Pulse
from .ray_session import RaySession

#: Seconds between two looks at whether the user wants to stop.
_PATIENCE_S: Final = 0.2

#: How often a task is tried again whose worker died (killed, out of memory), and how often one
#: whose machine left or could not be reached, which most often is no fault of the task.
_RETRIES: Final = 2
_DEPARTURES: Final = 8


class RayExecutor(Executor):
    """Does the tasks in Ray workers, one at a time in each.

    Args:
        context: what all tasks share; put into the object store once.
        workers: how many; None for the cores that this process may use, or those of the cluster.
        address: host:port of a running cluster; None starts Ray on this machine, with just the
            workers.
        session: Ray and workers that others have used before, and use later; None for its own.

    A trial goes on in the worker that had it before, unless that one has too much to do. Workers
    that a cluster has no room for yet join when it has. A worker that dies, or whose machine has no
    memory or disk left, is replaced and its task done again, twice at most; then the task is lost.
    If its machine leaves the cluster, that happens more often. A worker that stands still is
    replaced as well. A task that takes more than ``context.limits`` is ended, and not done again.

    ``check`` is called between waits. If it raises :class:`Stopped`, no task begins any more; those
    under way are waited for, and then it is raised again. ``stages`` hears that workers start,
    which they do with the first task; Ray may start before. Before the workers do, ``before`` is
    called here, where they are to be; or on each node of a cluster ``prepare``, with the number of
    its cores. If Ray takes more than ``start_s`` to start, or here its first worker does, this
    process ends, see :func:`.cluster.connect`.

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
        prepare: Callable[[int], int] = lambda _: 0,
        start_s: float = 120.0,
        session: RaySession | None = None,
    ) -> None:
        self._own = session is None
        self._session = session or RaySession()
        self._before = before
        self._prepare = prepare
        self._pulse = Pulse(context.limits.stall_s)
        self._context = context
        self._check = check
        self._stages = stages
        self._count = workers
        self._address = address
        self._start_s = start_s
        self._crew: Crew | None = None
        self._placement = Placement()
        # what is asked of workers
        self._asked: dict[Any, tuple[int, Key]] = {}
        self._tasks: dict[Key, tuple[TrialTask, Started]] = {}
        self._waiting: list[Key] = []
        self._losses = Counter[Key]()
        self._departures = Counter[Key]()

    def __enter__(self) -> Self:
        if self._address is not None:
            check_reachable(self._address)
        return self

    def get_ready(self) -> None:
        """Start Ray here, which takes seconds and little work of this process."""
        if self._address is None:
            self._connect()

    def _connect(self) -> None:
        if self._session.fits(self._address, self._count):
            return
        here, cores = self._address is None, self._cores
        self._stages.begin(f"starting Ray with {cores} workers" if here else "joining the cluster")
        try:
            self._session.connect(self._address, self._count, cores, self._start_s)
        finally:
            self._stages.end()

    @property
    def _cores(self) -> int:
        """Workers here, where nobody said how many."""
        return self._count or len(os.sched_getaffinity(0))

    def _start(self) -> Crew:
        """Start the workers, when there is work: designs are proposed before."""
        here = self._address is None
        if here:
            self._before()
        self._connect()
        import ray

        limits = self._context.limits
        held_to = ProcessLimits(limits.cpu_s, limits.memory_mb, limits.stall_s)
        # workers pass it on to their processes as it is
        pickled: Callable[[TaskContext], bytes] = ray.cloudpickle.dumps
        shared = ray.put(pickled(self._context))
        crew = self._session.crew
        if crew is None:
            nodes = None if here else Nodes(self._prepare)
            count = self._cores if here else self._count
            told = (self._stages, self._check, self._start_s)
            crew = self._session.crew = Crew(shared, held_to, count, nodes, *told)
        else:
            crew.turn_to(shared, held_to, self._stages, self._check)
        return crew

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        """End Ray, or leave the cluster; a session that others use stays, unless workers are still
        busy."""
        busy, self._crew = bool(self._asked), None
        for content in (self._asked, self._tasks, self._waiting):
            content.clear()
        if self._own or busy:
            self._session.close()

    def submit(self, key: Key, task: TrialTask, started: Started = nothing) -> None:
        """Have a task done."""
        insort(self._waiting, key)
        self._tasks[key] = task, started

    def workers(self) -> dict[str, int]:
        """Return how many workers there are on each node."""
        return self._crew.by_node() if self._crew else {}

    def poll(self) -> list[tuple[Key, Outcome]]:
        """Give idle workers what waits, and wait for a moment for what they bring."""
        if not self._tasks:
            return []
        self._crew = self._crew or self._start()
        self._crew.tend(wait=not self._asked)
        if self._wants_to_go_on():
            self._give_out(self._crew)
        ended = []
        for key, result, departed in self._done(self._crew):
            if isinstance(result, Lost) and self._again(key, departed):
                insort(self._waiting, key)
                continue
            if isinstance(result, Gone):
                result = result.counted((_DEPARTURES if departed else _RETRIES) + 1)
            self._losses.pop(key, None)
            self._departures.pop(key, None)
            del self._tasks[key]
            ended.append((key, result))
        return ended

    def _again(self, key: Key, departed: bool) -> bool:
        """Count a loss; return whether the task is tried again."""
        count, most = (self._departures, _DEPARTURES) if departed else (self._losses, _RETRIES)
        count[key] += 1
        return count[key] <= most

    def _wants_to_go_on(self) -> bool:
        """Ask whether tasks may begin.

        Raises:
            Stopped: none may, and none is under way.
        """
        try:
            self._check()
        except Stopped:
            if not self._asked:
                raise
            return False
        return True

    def _done(self, crew: Crew) -> Iterator[tuple[Key, Outcome, bool]]:
        """Wait a little; yield what tasks have come to, and whether their machine left."""
        import ray

        asked = [*self._asked, *crew.starting]
        if not asked:
            return
        done, _ = ray.wait(asked, num_returns=1, timeout=_PATIENCE_S)
        if done:
            # others that are done as well
            done, _ = ray.wait(asked, num_returns=len(asked), timeout=0)
        for reference in done:
            if reference not in self._asked:
                continue
            worker, key = self._asked.pop(reference)
            result: Outcome
            departed = False
            try:
                result = outcome_of(ray.get(reference))
            except machine_errors() as error:
                departed, name = crew.machine_left(worker, error), type(error).__name__
                how = "lost its machine" if departed else f"was ended ({name})"
                result = Gone(name, how, f"{name}: no traceback")
            if isinstance(result, TaskResult):
                result = replace(result, worker=crew.place(worker)[0])
            elif isinstance(result, Gone):
                self._replace(crew, worker, result.message)
            elif isinstance(result, Lost):
                # its machine has no room: what it remembers takes some
                self._replace(
                    crew, worker, f"could not be placed ({result.error}: {result.message})"
                )
            yield key, result, departed
        yield from self._silent(crew)

    def _silent(self, crew: Crew) -> Iterator[tuple[Key, Outcome, bool]]:
        """Replace workers that do not answer any more; yield what their tasks have come to."""
        asked = {number: (reference, key) for reference, (number, key) in self._asked.items()}
        for number in self._pulse.silent({number: crew.handle(number) for number in asked}):
            reference, key = asked[number]
            del self._asked[reference]
            text = f"did not answer for {self._context.limits.stall_s:g} s"
            departed = crew.machine_left(number, None)
            self._replace(crew, number, text)
            yield key, Gone("WorkerSilent", text, "WorkerSilent: no traceback"), departed

    def _give_out(self, crew: Crew) -> None:
        """Give each idle worker a task, if one waits for it."""
        busy = {worker for worker, _ in self._asked.values()}
        for number in crew.depart(busy):
            self._placement.lost(number)
        for number in crew.idle(busy):
            waiting = [_placed(self._tasks[key][0]) for key in self._waiting]
            chosen = self._placement.choose(number, waiting)
            if chosen is None:
                continue
            key = self._waiting.pop(chosen)
            task, started = self._tasks[key]
            started(*crew.place(number))
            self._asked[crew.handle(number).perform.remote(pickle.dumps(task))] = number, key

    def _replace(self, crew: Crew, number: int, why: str) -> None:
        self._placement.lost(number)
        crew.dismiss(number, why)


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
    prepare: Callable[[int], int] = lambda _: 0,
    start_s: float = 120.0,
    session: RaySession | None = None,
) -> Executor:
    """Return the executor called ``name``: ``inline`` or ``ray``.

    ``check`` may raise to stop; ``stages`` hears of what takes time besides tasks; ``before`` is
    called once, before the first task; on a cluster it is ``prepare``, on each of its nodes. If Ray
    takes more than ``start_s`` to start, this process ends, see :func:`.cluster.connect`. With a
    ``session`` it is started, with its workers, once for all that share it.
    """
    if name == "inline":
        return InlineExecutor(context, check, before)
    return RayExecutor(context, workers, address, check, stages, before, prepare, start_s, session)
