"""Search of schedules for many kernels at once, in rounds: compiled side by side, timed in turn.

In a round each kernel that is still searched tries one schedule. The layers with the most MACs are
searched first; the others then try what was the best of the most similar one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from archloom.evaluators.host import KernelSpec, Schedule, schedule_record
from archloom.evaluators.host.worker import Failed, Plan, Prepare, Turned
from archloom.search.hardware.schedules import Effort, Tuner, similar_schedules
from archloom.studies.engine.progress import Stages
from archloom.studies.solve.measuring import Memory, try_event

from .crew import Crew
from .points import Kernel

#: microseconds of a block: kernels of small networks take a few
BLOCK_US: Final = 2_000.0

#: kernels that take a turn together
TOGETHER: Final = 32


@dataclass(frozen=True)
class Wish:
    """A kernel whose schedule is wanted.

    Attributes:
        kernel: it, with the weights that schedules are tried on.
        home: worker that it belongs to.
        searched: whether schedules are searched for it, or one is tried.
    """

    kernel: Kernel
    home: int
    searched: bool


def handle(kernel: Kernel, schedule: Schedule) -> str:
    """Return what a worker knows a kernel with a schedule by."""
    return f"{kernel.name} | {json.dumps(schedule_record(schedule), sort_keys=True)}"


class Tuning:
    """Schedules that were tried for kernels, and the best of them.

    Args:
        effort: of a search.
        crew: compiles and times.
        memory: what was tried before.
        stages: hears how far it is.
        plan: of compilation.
    """

    def __init__(
        self, effort: Effort, crew: Crew, memory: Memory, stages: Stages, plan: Plan
    ) -> None:
        self._effort, self._crew, self._memory = effort, crew, memory
        self._stages, self._plan = stages, plan
        self._tuners: dict[KernelSpec, Tuner] = {}
        self._best: dict[KernelSpec, list[Schedule]] = {}

    def best(self, kernel: Kernel, count: int) -> list[Schedule]:
        """Return the fastest schedules that were tried, the fastest first."""
        return self._tuners[kernel.code].best(count)

    def tried(self, kernel: Kernel) -> int:
        """Return how many schedules were tried."""
        return len(self._tuners[kernel.code].tried) if kernel.code in self._tuners else 0

    def search(self, wishes: Sequence[Wish]) -> None:
        """Search schedules for kernels that have none yet."""
        new: dict[KernelSpec, Wish] = {}
        for wish in wishes:
            if (code := wish.kernel.code) not in self._tuners:
                before = new.setdefault(code, wish)
                new[code] = replace(before, searched=before.searched or wish.searched)
        for searched in (True, False):
            some = [w for w in new.values() if w.searched == searched]
            effort = self._effort
            if not searched:
                effort = Effort(1, 1, effort.optimizer, effort.seed)
            for wish in some:
                code = wish.kernel.code
                self._tuners[code] = Tuner(code, effort, similar_schedules(code, self._best))
            self._rounds({w.kernel.code: w for w in some}, effort.trials)

    def _rounds(self, wishes: Mapping[KernelSpec, Wish], most: int) -> None:
        for number in range(most):
            asked = [(code, s) for code in wishes if (s := self._next(code)) is not None]
            if not asked:
                break
            what = f"tuning {len(asked)} kernels, schedule {number + 1} of {most}"
            self._try([(wishes[code], schedule) for code, schedule in asked], what)
        for code in wishes:
            if found := self._tuners[code].best(1):
                self._best[code] = found

    def _next(self, code: KernelSpec) -> Schedule | None:
        """Return the next schedule to try that was not tried before a kill."""
        tuner = self._tuners[code]
        while (schedule := tuner.propose()) is not None:
            event = self._memory.tried(str(code), schedule)
            if event is None:
                return schedule
            tuner.tell(schedule, event["time_us"])
        return None

    def _try(self, asked: Sequence[tuple[Wish, Schedule]], what: str) -> None:
        by_home: dict[int, list[Prepare]] = {}
        for wish, schedule in asked:
            name, kernel = handle(wish.kernel, schedule), wish.kernel
            prepare = Prepare(name, kernel.spec, schedule, stored=kernel.stored)
            by_home.setdefault(wish.home, []).append(prepare)
        failures = self._crew.prepare(what, by_home, self._plan)
        self._stages.begin(f"{what}: timing", len(asked))
        for home in sorted(by_home):
            here = [(w, s) for w, s in asked if w.home == home]
            for at in range(0, len(here), TOGETHER):
                some = here[at : at + TOGETHER]
                self._time(home, some, failures)
                self._stages.advance(steps=len(some))
        self._stages.end()

    def _time(
        self, home: int, some: Sequence[tuple[Wish, Schedule]], failures: Mapping[str, Failed]
    ) -> None:
        """Time schedules that compile, and remember all."""
        names = [n for w, s in some if (n := handle(w.kernel, s)) not in failures]
        found = self._crew.once(home, names, BLOCK_US) if names else None
        turned = found if isinstance(found, Turned) else None
        events = []
        for wish, schedule in some:
            name, code = handle(wish.kernel, schedule), wish.kernel.code
            failed = failures.get(name)
            time_us = None
            if failed is None and isinstance(found, Failed):
                failed = found
            elif failed is None and turned is not None:
                # searched on the lower quartile, which others disturb least
                time_us = turned.blocks[name].low
            events.append(try_event(str(code), schedule, time_us, failed))
            self._tuners[code].tell(schedule, time_us)
        self._memory.add_together(events)
