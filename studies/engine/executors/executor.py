"""What every executor does, and the one that needs no other process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Self, TypeAlias

from ..trial_task import TaskContext, TrialTask, perform
from .outcomes import Outcome, judged

#: what a task is known by; those that sort first begin first
Key: TypeAlias = tuple[int, int]


#: is told that a task begins, and in which worker on which node
Started: TypeAlias = Callable[[str, str], None]


def nothing(worker: str, node: str) -> None:
    """Hear that a task begins, and do nothing."""


class Executor(ABC):
    """Does tasks, perhaps in parallel; a context manager that holds the workers.

    Attributes:
        apart: whether tasks are done in other processes, so that this one has time meanwhile.
    """

    apart: bool

    def __enter__(self) -> Self:
        """Prepare to start workers."""
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Stop the workers; tasks under way are given up."""

    @abstractmethod
    def get_ready(self) -> None:
        """Do some of what comes before the first task, while tasks are still thought of.

        Raises:
            TroubleError: no work can be done.
        """

    @abstractmethod
    def let_go(self) -> None:
        """Stop the workers where no task is left; another task would start them again."""

    @abstractmethod
    def submit(self, key: Key, task: TrialTask, started: Started = nothing) -> None:
        """Have a task done, before those whose keys are greater.

        ``started`` is called with its worker and that one's node (both empty for this process) when
        it begins, and again if it has to be begun again.
        """

    @abstractmethod
    def poll(self) -> list[tuple[Key, Outcome]]:
        """Do something, or wait a little; return what has ended since the last call.

        Raises:
            Stopped: the user wants to stop, and nothing is under way.
            TroubleError: no work can be done.
        """

    def workers(self) -> dict[str, int]:
        """Return how many workers there are on each node; none where tasks are done here."""
        return {}

    def run(
        self,
        tasks: Sequence[TrialTask],
        started: Callable[[int, str, str], None] = lambda *_: None,
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield (position in ``tasks``, result) for every task, each as soon as it is done.

        ``started`` is called with the position of each task, its worker and node, when it begins.
        """
        for index, task in enumerate(tasks):
            self.submit((index, 0), task, partial(started, index))
        left = len(tasks)
        while left:
            for (index, _), result in self.poll():
                left -= 1
                yield index, result


class InlineExecutor(Executor):
    """Does the tasks in this process, in order: for debugging, tests and single cores.

    A task cannot be ended here: one that took too much CPU time is over the limit once it is done,
    and memory, which is that of the whole study, is not looked at.

    ``check`` is called before each task and may raise to give up; ``before`` is called once, before
    the first task.
    """

    apart = False

    def __init__(
        self,
        context: TaskContext,
        check: Callable[[], None] = lambda: None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = context
        self._check = check
        self._before: Callable[[], None] | None = before
        self._waiting: dict[Key, tuple[TrialTask, Started]] = {}

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()

    def get_ready(self) -> None:
        """Do nothing."""

    def let_go(self) -> None:
        """Do nothing."""

    def submit(self, key: Key, task: TrialTask, started: Started = nothing) -> None:
        """Have a task done."""
        self._waiting[key] = task, started

    def poll(self) -> list[tuple[Key, Outcome]]:
        """Do the first task that waits."""
        if not self._waiting:
            return []
        if self._before:
            self._before()
            self._before = None
        self._check()
        key = min(self._waiting)
        task, started = self._waiting.pop(key)
        started("", "")
        return [(key, judged(perform(self._context, task), self._context.limits))]
