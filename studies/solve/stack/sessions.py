"""Sessions of timing: what a busy machine disturbed is timed once more, and then refused."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from archloom.evaluators.host import Timing
from archloom.evaluators.host.machine import too_busy, usable_cores
from archloom.evaluators.host.worker import Failed, Plan
from archloom.space import Infeasible
from archloom.studies.engine.progress import Stages

from .crew import Crew
from .tuning import BLOCK_US

#: sessions of a kernel at most
_MOST: Final = 3

#: microseconds of a block of a whole network
_NETWORK_US: Final = 10_000.0

#: seconds that kernels of several threads wait for the load of our own compilation to fall
_CALM_S: Final = 240.0


class Sessions:
    """Times what is prepared.

    Args:
        crew: has it prepared.
        threads: of each kernel.
        stages: hears how far it is.
        check: called while it waits; may raise.

    Attributes:
        kernels, networks: how long a session of each is.
    """

    def __init__(self, crew: Crew, threads: int, stages: Stages, check: Callable[[], None]) -> None:
        self._crew, self._threads, self._stages, self._check = crew, threads, stages, check
        cores = len(usable_cores())
        self.kernels = Plan(block_us=BLOCK_US, cores=cores)
        self.networks = Plan(block_us=_NETWORK_US, cores=cores)

    def timed(
        self, names: Mapping[int, Sequence[str]], plan: Plan
    ) -> dict[str, Timing | Failed | Infeasible]:
        """Return the time of everything, or why it has none."""
        self._wait(plan.cores)
        found: dict[str, Timing | Failed | Infeasible] = {}
        left = {home: list(some) for home, some in names.items()}
        for _ in range(_MOST):
            if not any(left.values()):
                break
            measured = self._crew.times(left, plan)
            for name in (name for some in left.values() for name in some):
                if name in measured.timings:
                    found[name] = _better(found.get(name), measured.timings[name])
                elif name in measured.failures:
                    found[name] = measured.failures[name]
                elif name not in found:
                    assert measured.refusal is not None, "what has no time has a reason"
                    found[name] = measured.refusal
            left = {
                home: [name for name in some if _disturbed(found[name])]
                for home, some in left.items()
            }
        return found

    def _wait(self, cores: int) -> None:
        """Wait until our own work is no longer part of the load, where that matters."""
        until = time.monotonic() + _CALM_S
        if too_busy(self._threads, os.getloadavg()[0], cores) is None:
            return
        self._stages.begin("waiting for the load of the machine to fall")
        while too_busy(self._threads, os.getloadavg()[0], cores) and time.monotonic() < until:
            self._check()
            time.sleep(1.0)
        self._stages.end()


def _better(before: Timing | Failed | Infeasible | None, now: Timing) -> Timing:
    """Return the less noisy one of two times."""
    return before if isinstance(before, Timing) and before.noise <= now.noise else now


def _disturbed(found: Timing | Failed | Infeasible) -> bool:
    return isinstance(found, Infeasible) or (isinstance(found, Timing) and bool(found.refusal))
