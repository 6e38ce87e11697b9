"""Workers that compile kernels side by side, and time them one after the other.

Kernels of one algorithm and compression belong to one worker, so that the networks of them do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait as wait_for
from threading import Event as Flag
from typing import Final, Self

from archloom.evaluators.host import Timing
from archloom.evaluators.host.machine import usable_cores
from archloom.evaluators.host.worker import (
    Failed,
    Measured,
    Plan,
    Prepare,
    PrepareNetwork,
    Turn,
    Turned,
    Worker,
    in_turns,
)
from archloom.studies.engine.progress import Stages

#: seconds between looks at whether the user wants to stop
_LOOK_S: Final = 0.1

#: what wants to be prepared, by the worker that it belongs to
Wishes = Mapping[int, Sequence[Prepare | PrepareNetwork]]


class Crew:
    """Workers with what they have prepared.

    Args:
        threads: of each kernel.
        count: workers, if kernels have one thread.
        stages: hears what is prepared.
        check: called often; may raise, and then what is under way is left.
    """

    def __init__(self, threads: int, count: int, stages: Stages, check: Callable[[], None]) -> None:
        cores = usable_cores()[::-1]
        count = min(count, len(cores)) if threads == 1 else 1
        self._workers = [
            Worker(threads, core=core if threads == 1 else None) for core in cores[:count]
        ]
        self._ready: list[set[str]] = [set() for _ in self._workers]
        self._homes: dict[object, int] = {}
        self._load = [0] * count
        self._stages, self._check = stages, check

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()

    def settle(self, sizes: Mapping[object, int]) -> None:
        """Give each group a worker for ever, the one with the least to do.

        Args:
            sizes: kernels of each group that are to be done.
        """
        for group in sorted(sizes, key=lambda g: (-sizes[g], str(g))):
            home = self._homes.setdefault(group, self._load.index(min(self._load)))
            self._load[home] += sizes[group]

    def home(self, group: object) -> int:
        """Return the worker of a group."""
        return self._homes[group]

    def prepare(self, what: str, wishes: Wishes, plan: Plan) -> dict[str, Failed]:
        """Compile and check side by side; return what failed, by name."""
        left = {
            home: [wish for wish in wanted if wish.name not in self._ready[home]]
            for home, wanted in wishes.items()
        }
        count = sum(map(len, left.values()))
        if not count:
            return {}
        self._stages.begin(what, count)
        stop = Flag()
        with ThreadPoolExecutor(len(left)) as pool:
            futures = [pool.submit(self._prepare, home, wishes[home], plan, stop) for home in left]
            try:
                while wait_for(futures, _LOOK_S).not_done:
                    self._check()
            finally:
                stop.set()
        self._stages.end()
        return {name: failed for future in futures for name, failed in future.result().items()}

    def _prepare(
        self, home: int, wishes: Sequence[Prepare | PrepareNetwork], plan: Plan, stop: Flag
    ) -> dict[str, Failed]:
        """Prepare what belongs to a worker, again if its process was killed."""
        worker, failures = self._workers[home], dict[str, Failed]()
        process = worker.started
        while not stop.is_set():
            left = [w for w in wishes if w.name not in failures and w.name not in self._ready[home]]
            if not left:
                break
            wish = left[0]
            many = len(wish.chain.kernels) if isinstance(wish, PrepareNetwork) else 1
            answer = worker.ask(wish, plan.compile_s * many)
            if isinstance(answer, Failed):
                failures[wish.name] = answer
            lost = isinstance(answer, Failed) and answer.kind in ("too_slow", "died")
            if lost or worker.started != process:
                # what a killed process had prepared is gone
                process = worker.started
                self._ready[home].clear()
            if not isinstance(answer, Failed):
                self._ready[home].add(wish.name)
            self._stages.advance(wish.name.partition(" | ")[0])
        return failures

    def once(self, home: int, names: Sequence[str], block_us: float) -> Turned | Failed:
        """Time a block of each kernel of a worker."""
        self._check()
        limit = 30.0 * (len(names) + 2)
        found = self._workers[home].ask(Turn(tuple(names), block_us), limit)
        if isinstance(found, Failed):
            self._ready[home].clear()
            return found
        assert isinstance(found, Turned), "it answers so"
        return found

    def times(self, names: Mapping[int, Sequence[str]], plan: Plan) -> Measured:
        """Time kernels of several workers in turns; return all that was measured as one."""
        self._check()
        homes = [home for home, some in names.items() if some]
        measured = in_turns([(self._workers[home], tuple(names[home])) for home in homes], plan)
        timings, failures = dict[str, Timing](), dict[str, Failed]()
        for home, found in zip(homes, measured, strict=True):
            timings |= found.timings
            failures |= found.failures
            if found.failures:
                self._ready[home].clear()
        return Measured(
            timings,
            failures,
            next((found.refusal for found in measured if found.refusal), None),
            tuple(pair for found in measured for pair in found.control_us),
            sum(found.repeats for found in measured),
            max((found.load for found in measured), default=0.0),
        )

    def keep(self, names: Iterable[str]) -> None:
        """Forget what else is prepared."""
        kept = set(names)
        for worker, ready in zip(self._workers, self._ready, strict=True):
            if ready - kept:
                worker.ask(tuple(ready & kept))
                ready &= kept
