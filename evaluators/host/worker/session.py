"""A session: several kernels prepared by one worker and timed in turns, by the rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from archloom.evaluators.host.machine import too_busy
from archloom.space import Infeasible

from ..samples import BLOCKS, MOST_MOVED, MOST_REPEATS, Block, Timing, control_moved, moved
from .requests import Failed, Prepare, PrepareNetwork, Turn, Turned

#: microseconds of a block
BLOCK_US: Final = 60_000.0

#: seconds of the processor that a turn may take for each kernel in it, and any
_TURN_S: Final = 30.0


class Asked(Protocol):
    """A worker, as a session needs it."""

    threads: int
    started: int

    def ask(self, request: object, limit_s: float) -> object:
        """Return the answer to a request, or :class:`Failed`."""
        ...


@dataclass(frozen=True)
class Measured:
    """Times of kernels that took turns.

    Attributes:
        timings: by name, of those that could be timed.
        failures: by name, of those that could not be prepared.
        refusal: why there is no time of any; None if there are some.
        control_us: the control kernel at the beginning and end of each turn that counts.
        repeats: turns that were done again, for the control moved.
        load: average at the end.
    """

    timings: dict[str, Timing] = field(default_factory=dict)
    failures: dict[str, Failed] = field(default_factory=dict)
    refusal: Infeasible | None = None
    control_us: tuple[tuple[float, float], ...] = ()
    repeats: int = 0
    load: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long a session is.

    Attributes:
        blocks: of each kernel.
        block_us: microseconds of one, about.
        compile_s: seconds of the processor that preparing a kernel may take.
        cores: of the machine.
    """

    blocks: int = BLOCKS
    block_us: float = BLOCK_US
    compile_s: float = 20.0
    cores: int = 1


def measure(
    worker: Asked,
    kernels: Sequence[Prepare | PrepareNetwork],
    plan: Plan,
    told: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Time kernels in turns.

    Args:
        worker: prepares and times them.
        kernels: with names of their own.
        plan: how long.
        told: hears what is done, a kernel or a turn at a time.
    """
    names, failures = _prepared(worker, kernels, plan, told)
    if not names:
        return Measured(failures=failures)
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    control: list[tuple[float, float]] = []
    disturbed: list[float] = []
    load = 0.0
    while len(control) < plan.blocks:
        told(f"turn {len(control) + 1} of {plan.blocks}")
        found = worker.ask(Turn(tuple(names), plan.block_us), _TURN_S * (len(names) + 2))
        if isinstance(found, Failed):
            return Measured(failures={**failures, **dict.fromkeys(names, found)})
        assert isinstance(found, Turned), "it answers so"
        load = found.load
        if busy := too_busy(worker.threads, load, plan.cores):
            return Measured({}, failures, busy, tuple(control), len(disturbed), load)
        share = moved(found.before_us, found.after_us)
        if share > MOST_MOVED:
            disturbed.append(share)
            if len(disturbed) > MOST_REPEATS:
                why = control_moved(disturbed)
                return Measured({}, failures, why, tuple(control), len(disturbed), load)
            continue
        control.append((found.before_us, found.after_us))
        for name in names:
            blocks[name].append(found.blocks[name])
    timings = {name: Timing(tuple(blocks[name])) for name in names}
    return Measured(timings, failures, None, tuple(control), len(disturbed), load)


def _prepared(
    worker: Asked,
    kernels: Sequence[Prepare | PrepareNetwork],
    plan: Plan,
    told: Callable[[str], None],
) -> tuple[list[str], dict[str, Failed]]:
    """Prepare kernels in one process; return the names of those that are ready, and failures.

    A process that is killed takes with it what it had prepared, so the others begin again.
    """
    failures: dict[str, Failed] = {}
    worker.ask((), plan.compile_s)
    while True:
        ready: list[str] = []
        process = worker.started
        for kernel in kernels:
            if kernel.name in failures:
                continue
            told(kernel.name)
            many = len(kernel.chain.kernels) if isinstance(kernel, PrepareNetwork) else 1
            answer = worker.ask(kernel, plan.compile_s * many)
            if isinstance(answer, Failed):
                failures[kernel.name] = answer
                if answer.kind in ("too_slow", "died"):
                    break
            else:
                ready.append(kernel.name)
        else:
            if worker.started == process:
                return ready, failures
