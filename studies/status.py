"""How far a study is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Status:
    """How far a study is, for people who watch it.

    Attributes:
        trials_done, trials: trials with a final record, and all of them.
        round, rounds: round of the batch under way (from 1), and rounds of a batch.
        fraction: share of the whole study's work that is done, about.
        best: the best of the first objective so far, for people; None if there is none yet.
        front: designs on the front so far.
        failed: trials that crashed so far.
        baseline: whether it is the baseline that is being evaluated.
        validation: searches of software for held-out networks that are done, and all of them;
            None before they begin.
    """

    trials_done: int
    trials: int
    round: int
    rounds: int
    fraction: float
    best: str | None
    front: int
    failed: int
    baseline: bool = False
    validation: tuple[int, int] | None = None


Watch = Callable[[Status], None]
