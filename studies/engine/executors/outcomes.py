"""Outcomes of tasks whose process ended, or that took more than they may."""

import pickle
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from archloom.studies.storage import Crash, Lost, OverLimit, TaskResult

from ..trial_task import TaskLimits
from .limited_process import Ended, over_cpu_limit

Outcome: TypeAlias = TaskResult | Crash

#: what a worker that is gone is called, by why it is
_GONE: Final = {"died": "WorkerDied", "stalled": "WorkerStalled"}


@dataclass(frozen=True, slots=True)
class Gone(Lost):
    """A round whose worker is gone; the message says what that one did, as ``was killed``."""

    def counted(self, times: int) -> Lost:
        """Return what becomes of the round once it has lost that many workers."""
        text = f"the worker died {times} times; the last one {self.message}"
        return Lost(self.error, text, self.traceback)


def machine_errors() -> tuple[type[Exception], ...]:
    """Return what Ray raises for an answer that a machine has failed to give.

    The worker is gone, it was never placed, or its node went with the answer in its memory.
    """
    from ray import exceptions as of_ray

    return (
        of_ray.RayActorError,
        of_ray.ActorUnschedulableError,
        of_ray.OutOfMemoryError,
        of_ray.OutOfDiskError,
        of_ray.ObjectLostError,
        of_ray.NodeDiedError,
    )


def outcome_of(answer: bytes | Ended) -> Outcome:
    """Return what a task came to, from the answer of the process that did it."""
    if isinstance(answer, bytes):
        return cast(Outcome, pickle.loads(answer))
    spent = round(answer.seconds, 3), round(answer.cpu_seconds, 3)
    if answer.why in _GONE:
        return Gone(_GONE[answer.why], answer.how, f"{_GONE[answer.why]}: no traceback")
    numbers = answer.why, answer.limit, round(answer.spent, 3)
    return OverLimit("OverLimit", answer.how, "OverLimit: no traceback", *numbers, *spent)


def judged(result: Outcome, limits: TaskLimits) -> Outcome:
    """Return the outcome of a task that nobody could stop, which may have taken too long."""
    if not isinstance(result, TaskResult) or result.cpu_seconds <= limits.cpu_s:
        return result
    return outcome_of(over_cpu_limit(limits.cpu_s, result.seconds, result.cpu_seconds))
