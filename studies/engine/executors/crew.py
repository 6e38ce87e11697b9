"""Workers: as many as are wanted, where there is room for them, and replaced when they die."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any, Final

from archloom.studies.engine.progress import Stages
from archloom.studies.storage import tell

from ...errors import TroubleError
from .cluster import end_late_start
from .limited_process import ProcessLimits
from .nodes import Nodes
from .outcomes import machine_errors
from .worker import CONCURRENCY, Worker

#: workers in a row that may die before they have started
_STILLBORN: Final = 2

#: what a worker did whose node is not there any more
LEFT: Final = "left with its machine"

#: seconds between two looks while no worker is there
_PATIENCE_S: Final = 0.05

#: seconds that workers need to start where there is room
_STARTING_S: Final = 15.0


@dataclass(slots=True)
class _Member:
    """A worker, and where it is once it has started.

    Attributes:
        handle: Ray's of it.
        left: nodes that had left when it was made.
        key: Ray's name of its node; empty while it starts.
        node: what people call that.
        name: host and process.
    """

    handle: Any
    left: int
    key: str = ""
    node: str = ""
    name: str = ""


@dataclass
class Crew:
    """Workers of a study, known by numbers that are not used again.

    Args:
        context: what all tasks share, pickled, in Ray's object store.
        limits: of each task.
        count: workers that are wanted; None for as many as the nodes in use have cores.
        nodes: of the cluster; None for Ray on this machine.
        stages: hear of what is waited for while no worker is there.
        check: called meanwhile; may raise to give up.
        start_s: seconds that Ray on this machine may take until a worker has started; then this
            process ends, as :func:`.cluster.connect` says.
    """

    context: Any
    limits: ProcessLimits
    count: int | None
    nodes: Nodes | None
    stages: Stages
    check: Callable[[], None]
    start_s: float
    _members: dict[int, _Member] = field(default_factory=dict)
    _starting: dict[Any, int] = field(default_factory=dict)
    _selector: dict[str, str] | None = None
    _made: int = 0
    _stillborn: int = 0

    @property
    def wanted(self) -> int:
        """How many workers there should be."""
        if self.nodes is None:
            return self.count or 1
        return self.count or self.nodes.cpus

    def turn_to(
        self,
        context: Any,
        limits: ProcessLimits,
        stages: Stages,
        check: Callable[[], None],
    ) -> None:
        """Have all workers, of which none is busy, work for another study; see the class."""
        self.context, self.limits = context, limits
        self.stages, self.check = stages, check
        for member in self._members.values():
            # a worker that has died says so when it is asked for something
            member.handle.turn_to.remote(context, limits)

    def idle(self, busy: set[int]) -> list[int]:
        """Return the workers that have started and are not busy."""
        return [n for n, member in self._members.items() if member.key and n not in busy]

    def depart(self, busy: set[int]) -> list[int]:
        """Let go of idle workers whose nodes have left; return them."""
        gone = [number for number in self.idle(busy) if self._gone(self._members[number])]
        for number in gone:
            self.dismiss(number, LEFT)
        return gone

    def _gone(self, member: _Member) -> bool:
        return self.nodes is not None and bool(member.key) and member.key not in self.nodes

    def handle(self, number: int) -> Any:
        """Return what Ray calls a worker."""
        return self._members[number].handle

    def place(self, number: int) -> tuple[str, str]:
        """Return a worker's name, and what its node is called."""
        return self._members[number].name, self._members[number].node

    def by_node(self) -> dict[str, int]:
        """Return how many workers there are on each node."""
        return dict(Counter(member.node for member in self._members.values() if member.key))

    @property
    def starting(self) -> list[Any]:
        """What Ray calls the answers of workers that start."""
        return [*self._starting]

    def tend(self, wait: bool) -> None:
        """Look at the nodes, make workers that are missing, and see which have started.

        Args:
            wait: until at least one is there.

        Raises:
            Stopped: the user gave up meanwhile.
            TroubleError: workers cannot start, or no node can be used.
        """
        self._look()
        began, shown = monotonic(), ""
        try:
            while wait and not any(member.key for member in self._members.values()):
                what = self._waiting(monotonic() - began)
                if what != shown:
                    if shown:
                        self.stages.end()
                    shown = what
                    self.stages.begin(what)
                self.check()
                if self.nodes is None and monotonic() - began > self.start_s:
                    # Ray loses workers that start while the wall clock jumps, and waits for them
                    end_late_start()
                sleep(_PATIENCE_S)
                self._look()
        finally:
            if shown:
                self.stages.end()

    def _look(self) -> None:
        if self.nodes is not None:
            self.nodes.look()
        self._hire()
        self._welcome()

    def _waiting(self, seconds: float) -> str:
        """Return what is waited for."""
        workers = "1 worker" if self.wanted == 1 else f"{self.wanted} workers"
        if self.nodes is None:
            return f"starting Ray with {workers}"
        if doing := self.nodes.stage:
            return doing
        if not self._selector:
            return "the cluster currently has no node for workers"
        if seconds < _STARTING_S:
            return f"starting {workers} on the cluster"
        return f"waiting for free resources in the cluster: 0 of {workers}"

    def _hire(self) -> None:
        """Make workers that are missing; those without a place get another choice of nodes."""
        import ray

        options: dict[str, Any] = {"num_cpus": 1, "concurrency_groups": CONCURRENCY}
        if self.nodes is not None:
            selector = self.nodes.selector()
            if selector != self._selector:
                self._selector = selector
                for number in self._starting.values():
                    ray.kill(self._members.pop(number).handle)
                self._starting.clear()
            if selector is None:
                return
            options["label_selector"] = selector
        for _ in range(len(self._members), self.wanted):
            handle: Any = ray.remote(**options)(Worker).remote(self.context, self.limits)
            left = self.nodes.left if self.nodes else 0
            self._members[self._made] = _Member(handle, left)
            self._starting[handle.ready.remote()] = self._made
            self._made += 1

    def _welcome(self) -> None:
        """See which workers have started."""
        for number, answer in self._answers():
            if isinstance(answer, tuple):
                node, host, process = answer
                member = self._members[number]
                member.key = node
                member.node = self.nodes.name(node) if self.nodes else host
                member.name = f"{host}/{process}"
                self._stillborn = 0
                tell("worker_joined", worker=member.name, node=member.node)
            else:
                self._born_dead(number, answer)

    def _answers(self) -> Iterator[tuple[int, Any]]:
        import ray

        starting = self.starting
        done = ray.wait(starting, num_returns=len(starting), timeout=0)[0] if starting else []
        for reference in done:
            number = self._starting.pop(reference)
            try:
                yield number, ray.get(reference)
            except machine_errors() as error:
                yield number, error

    def _born_dead(self, number: int, error: Any) -> None:
        """Let go of a worker that died before it had started.

        Raises:
            TroubleError: workers cannot start (they cannot import archloom, say). That is no fault
                of a trial: the study stops, and can go on once it is mended.
        """
        self._stillborn += not self.machine_left(number, error)
        # whoever works next in this session gets others
        del self._members[number]
        if getattr(error, "actor_init_failed", False) or self._stillborn > _STILLBORN:
            raise TroubleError(f"Ray's workers cannot start: {str(error).strip()}")

    def machine_left(self, number: int, error: Any) -> bool:
        """Return whether a worker died since its node left, or is out of reach."""
        import ray

        if self.nodes is None:
            return False
        self.nodes.look(now=True)
        member = self._members[number]
        gone = self._gone(member) if member.key else self.nodes.left > member.left
        # the nodes that it was made for had gone before it was placed
        away = (ray.exceptions.ActorUnavailableError, ray.exceptions.ActorUnschedulableError)
        return gone or isinstance(error, away)

    def dismiss(self, number: int, why: str) -> None:
        """Let go of a worker; it is replaced, if there is room.

        Args:
            number: of the worker.
            why: what it did, as ``was killed``.
        """
        import ray

        member = self._members.pop(number)
        ray.kill(member.handle)
        message = f"worker {member.name} on {member.node} {why}; it is replaced"
        fields = {"worker": member.name, "node": member.node, "why": why, "message": message}
        tell("worker_died", logging.WARNING, **fields)
