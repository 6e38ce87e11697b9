"""What long work, and a study's loop, report of themselves to whoever shows it.

Whatever may take more than a second or two takes a :class:`Stages` and says what it does; it knows
nothing of terminals, logs or clocks. Stages may stand inside others.
"""

from dataclasses import dataclass
from typing import Final, Protocol


class Stages(Protocol):
    """Listens to how far long work is. No result may depend on it."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Say that a stage begins.

        Args:
            what: it does, as ``compiling kernels``.
            total: steps that it has; None if nobody knows.
        """
        ...

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Say that so many more steps of the innermost stage are done, and what comes ``now``."""
        ...

    def end(self) -> None:
        """Say that the innermost stage is over."""
        ...


class Silence:
    """Stages that nobody watches."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Do nothing."""

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


#: Where nobody listens.
SILENT: Final[Stages] = Silence()


@dataclass(frozen=True, slots=True)
class Status:
    """How far a study is, for people who watch it.

    Attributes:
        trials_done, trials: trials with a final record, and all of them.
        round, rounds: round of the batch under way (from 1), and rounds of a batch.
        fraction: share of the whole study's work that is done, about.
        best: the best of the first objective so far, for people; None if there is none yet.
        front: designs on the front so far, those of the batch under way with what they have.
        failed: trials that crashed so far.
        over_limit: trials that broke a limit of time or memory so far.
        validation: searches of software for held-out networks that are done, and all of them;
            None before they begin.
        volume: hypervolume of the front, in decades to the power of the objectives, below the
            worst costs of the first batch; None before that has ended.
        volume_gain: the same over that of the first batch.
        certified: share of the greatest possible hypervolume that the front has for certain, at the
            study's budget; None while nothing is proven.
    """

    trials_done: int
    trials: int
    round: int
    rounds: int
    fraction: float
    best: str | None
    front: int
    failed: int
    validation: tuple[int, int] | None = None
    volume: float | None = None
    certified: float | None = None
    over_limit: int = 0
    volume_gain: float | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A task that runs.

    Attributes:
        label: of its trial; unique among what runs.
        stage: what of it, as ``round 1/3``.
        design: what it is on.
        plans: that it may price.
        trial, round: their numbers, rounds from 1; None for a held-out network's.
    """

    label: str
    stage: str
    design: str
    plans: int
    trial: int | None = None
    round: int | None = None


class Watch(Stages, Protocol):
    """Listens to a study; no result may depend on it."""

    def status(self, status: Status) -> None:
        """Hear how far the study is."""
        ...

    def started(self, running: Running, worker: str = "", node: str = "") -> None:
        """Hear that a task runs, and where; nowhere is this process."""
        ...

    def finished(self, label: str) -> None:
        """Hear that the task of a trial runs no more."""
        ...

    def found(self, text: str) -> None:
        """Hear of a design that is not dominated so far."""
        ...

    def over(self) -> None:
        """Hear that the study is over, and that what comes is not part of it."""
        ...


class Unwatched(Silence):
    """A study that nobody watches."""

    def status(self, status: Status) -> None:
        """Do nothing."""

    def started(self, running: Running, worker: str = "", node: str = "") -> None:
        """Do nothing."""

    def finished(self, label: str) -> None:
        """Do nothing."""

    def found(self, text: str) -> None:
        """Do nothing."""

    def over(self) -> None:
        """Do nothing."""
