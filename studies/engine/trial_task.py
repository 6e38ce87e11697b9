"""Tasks of workers: one stretch of software search for one hardware design.

Everything that goes in or out is a small value, so that it can cross process borders, be
journaled and be done again. The result travels as compressed JSON: the search state that a
resumed study reads from its journal is then exactly the one that an undisturbed study uses.
"""

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.storage import Crash, Lost, OverLimit, TaskResult, decode, encode

if TYPE_CHECKING:
    from archloom.search.software import Sharing, SoftwareResult, SoftwareSettings, SoftwareTask
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Network

    Advance = Callable[[SoftwareTask, dict[str, Any] | None, int], SoftwareResult]

_LOG: Final = logging.getLogger("archloom.tasks")


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """What a task may take.

    Attributes:
        cpu_s: CPU-seconds.
        memory_mb: resident memory of its process (10^6 bytes); None for most of its machine's.
        stall_s: seconds in which its worker may do nothing, before another one takes its place.
    """

    cpu_s: float = inf
    memory_mb: float | None = None
    stall_s: float = 120.0


@dataclass(frozen=True, slots=True)
class TaskContext:
    """Values that all tasks of a study share; an executor sends it to each worker once.

    Attributes:
        networks: that designs are found for.
        settings: of the software search.
        advance: the software search.
        held_out: networks that designs are validated on.
        limits: of each task.
        sharing: networks that share a chip; None if none do.
    """

    networks: "tuple[Network, ...]"
    settings: "SoftwareSettings"
    advance: "Advance"
    held_out: "tuple[Network, ...]" = ()
    limits: TaskLimits = TaskLimits()
    sharing: "Sharing | None" = None


@dataclass(frozen=True, slots=True)
class TrialTask:
    """One round of one trial, or the validation of a design on one network.

    Attributes:
        hardware: the design.
        seed: seed of the trial's software search; the same in all rounds.
        previous: payload of the trial's round before; None in the first.
        budget: evaluations to spend.
        held_out: position of the held-out network; None for the networks of the search.
        networks: of the search, where they differ from design to design; None for those of all.
        effort: times the mappings that the study's settings have tried.
    """

    hardware: "Hardware"
    seed: int
    previous: str | None
    budget: int
    held_out: int | None = None
    networks: "tuple[Network, ...] | None" = None
    effort: int = 1


def perform(context: TaskContext, task: TrialTask) -> TaskResult | Crash:
    """Do a task; whatever it raises comes back as a value."""
    from archloom.search.fusion import WorkLimitError
    from archloom.search.software import SoftwareTask

    start, cpu_start = perf_counter(), process_time()
    try:
        held = task.held_out
        searched = context.networks if task.networks is None else task.networks
        networks = searched if held is None else (context.held_out[held],)
        sharing = context.sharing if held is None else None
        settings = context.settings.deeper(task.effort)
        search = SoftwareTask(task.hardware, networks, settings, task.seed, sharing)
        state = None if task.previous is None else decode(task.previous).state
        payload = encode(context.advance(search, state, task.budget))
    except WorkLimitError as error:
        taken = perf_counter() - start, process_time() - cpu_start
        numbers = "work_limit", error.limit, error.spent
        why = "OverLimit", str(error), "OverLimit: no traceback"
        return OverLimit(*why, *numbers, *taken, reproducible=True)
    except (MemoryError, OSError) as error:
        # the search reads and writes no files of its own: this machine has no room
        return Lost(type(error).__name__, str(error), traceback.format_exc())
    except Exception as error:  # noqa: BLE001  (the one place where a crash becomes data)
        return Crash(type(error).__name__, str(error), traceback.format_exc())
    done = TaskResult(payload, perf_counter() - start, process_time() - cpu_start)
    if _LOG.isEnabledFor(logging.DEBUG):
        from archloom.search.software import remembered

        told = ", ".join(f"{name} {hit} of {asked}" for name, (hit, asked) in remembered().items())
        spent = f"seed {task.seed}, {done.cpu_seconds:.3f} CPU-s"
        _LOG.debug("searched %s: %s; remembered so far: %s", task.hardware.name, spent, told)
    return done
