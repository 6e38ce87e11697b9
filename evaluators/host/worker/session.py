"""A session: several kernels prepared by one worker and timed in turns, by the rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
    (found,) = in_turns([(worker, names)], plan, told)
    return replace(found, failures={**failures, **found.failures})


def in_turns(
    parts: Sequence[tuple[Asked, Sequence[str]]],
    plan: Plan,
    told: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """Time kernels that are prepared, a turn of each worker after the other; never two at once.

    Args:
        parts: workers, each with the names of its kernels.
        plan: how long.
        told: hears which turn begins.

    Returns:
        What each worker measured.
    """
    sessions = [_Session(worker, tuple(names), plan) for worker, names in parts]
    while any(not session.over for session in sessions):
        for session in sessions:
            if not session.over:
                # a turn that is done again is told once, so that progress stays below the whole
                if len(session.control) == session.told:
                    session.told += 1
                    told(f"turn {session.told} of {plan.blocks}")
                session.turn()
    return [session.measured for session in sessions]


class _Session:
    """Turns of the kernels of one worker."""

    def __init__(self, worker: Asked, names: tuple[str, ...], plan: Plan) -> None:
        self._worker, self._names, self._plan = worker, names, plan
        self._blocks: dict[str, list[Block]] = {name: [] for name in names}
        self._disturbed: list[float] = []
        self._refusal: Infeasible | None = None
        self._failed: Failed | None = None
        self._load = 0.0
        self.control: list[tuple[float, float]] = []
        self.told = 0

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        stopped = self._refusal is not None or self._failed is not None
        return stopped or len(self.control) >= self._plan.blocks

    @property
    def measured(self) -> Measured:
        """What came of it."""
        if self._failed is not None:
            return Measured(failures=dict.fromkeys(self._names, self._failed))
        about = (self._refusal, tuple(self.control), len(self._disturbed), self._load)
        whole = self._refusal is None
        timings = {n: Timing(tuple(b)) for n, b in self._blocks.items()} if whole else {}
        return Measured(timings, {}, *about)

    def turn(self) -> None:
        """Time a block of each kernel, unless somebody else disturbs it."""
        limit = _TURN_S * (len(self._names) + 2)
        found = self._worker.ask(Turn(self._names, self._plan.block_us), limit)
        if isinstance(found, Failed):
            self._failed = found
            return
        assert isinstance(found, Turned), "it answers so"
        self._load = found.load
        self._refusal = too_busy(self._worker.threads, found.load, self._plan.cores)
        if self._refusal is not None:
            return
        share = moved(found.before_us, found.after_us)
        if share > MOST_MOVED:
            self._disturbed.append(share)
            if len(self._disturbed) > MOST_REPEATS:
                self._refusal = control_moved(self._disturbed)
            return
        self.control.append((found.before_us, found.after_us))
        for name in self._names:
            self._blocks[name].append(found.blocks[name])


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
