"""The search of one kernel's schedule: curated starts, those of similar layers, then an optimizer.

No schedule is proposed twice. A search ends when enough schedules in a row were no gain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from archloom.evaluators.host import KernelSpec, Schedule, curated

from ...seeds import derived_seed
from ..protocol import Observation
from .schedule_problem import ScheduleProblem

if TYPE_CHECKING:
    from ..protocol import HardwareOptimizer

#: optimizers that need nothing but a space and observations
TUNERS: Final = ("nsga2", "random", "tpe")

#: a schedule that is faster by less than this share is no gain
LEAST_GAIN: Final = 0.03


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a search may be.

    Attributes:
        trials: schedules that are compiled at most; those that fail count.
        patience: schedules in a row without gain, after the starts, that end it.
        optimizer: one of :data:`TUNERS`.
        seed: of the optimizer.

    Raises:
        ValueError: a number below 0 or 1, or an unknown optimizer.
    """

    trials: int = 10
    patience: int = 5
    optimizer: str = "tpe"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trials < 0 or self.patience < 1:
            raise ValueError("trials must be 0 or more, patience 1 or more")
        if self.optimizer not in TUNERS:
            raise ValueError(f"optimizer must be one of {', '.join(TUNERS)}")


@dataclass(frozen=True, slots=True)
class Tried:
    """A schedule that was tried.

    Attributes:
        schedule: it.
        time_us: a first time of it; None if it failed.
    """

    schedule: Schedule
    time_us: float | None


class Tuner:
    """Proposes schedules of a kernel, one after the other, and is told their times.

    What it proposes depends on what it was told and on the seed alone, so replaying what was
    recorded rebuilds it.

    Args:
        spec: a kernel that has schedules to choose from.
        effort: how long to search.
        similar: schedules that were good for similar layers, the best first.
    """

    def __init__(self, spec: KernelSpec, effort: Effort, similar: Sequence[Schedule] = ()) -> None:
        self._problem = ScheduleProblem(spec)
        self._effort = effort
        self.tried: list[Tried] = []
        starts: list[Schedule] = []
        for start in chain(similar[:1], curated(spec), similar[1:]):
            if start.fault(spec) is None and start not in starts:
                starts.append(start)
        self._starts = starts
        seed = derived_seed(effort.seed, str(spec), "tune")
        self._optimizer = _optimizer(effort.optimizer, self._problem, seed)

    def propose(self) -> Schedule | None:
        """Return the next schedule to try; None if the search is over."""
        if len(self.tried) >= self._effort.trials or self._stalled():
            return None
        if len(self.tried) < len(self._starts):
            return self._starts[len(self.tried)]
        found = self._optimizer.ask(1, [])
        return self._problem.schedules.schedule(found[0]) if found else None

    def tell(self, schedule: Schedule, time_us: float | None) -> None:
        """Learn the time of a schedule, or that it failed."""
        self.tried.append(Tried(schedule, time_us))
        point = self._problem.schedules.point(schedule)
        values = None if time_us is None else (time_us / 1e6,)
        failure = None if values else "no_kernel"
        self._optimizer.tell([Observation(point, values, 1, failure)])

    def best(self, count: int) -> list[Schedule]:
        """Return the fastest schedules so far, the fastest first.

        The least of many times is lower than its schedule's next ones (the winner's curse), so
        several are to be measured again.
        """
        timed = [t for t in self.tried if t.time_us is not None]
        return [t.schedule for t in sorted(timed, key=lambda t: t.time_us or 0.0)[:count]]

    def _stalled(self) -> bool:
        """Whether the last schedules were no gain."""
        best, since = float("inf"), 0
        for number, tried in enumerate(self.tried):
            gain = tried.time_us is not None and tried.time_us < best * (1 - LEAST_GAIN)
            best = min(best, tried.time_us or best)
            since = 0 if gain or number < len(self._starts) else since + 1
        return since >= self._effort.patience


def _optimizer(name: str, problem: ScheduleProblem, seed: int) -> "HardwareOptimizer":
    """Return an optimizer of hardware, with options for short searches."""
    # each loads a library that takes a while
    if name == "tpe":
        from ..optuna_samplers import TpeSearch

        return TpeSearch(problem, seed, initial=1)
    if name == "nsga2":
        from ..nsga2 import Nsga2

        return Nsga2(problem, seed, population=4)
    from ..random_search import RandomSearch

    return RandomSearch(problem, seed)
