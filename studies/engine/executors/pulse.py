"""Pulse of workers: those that do not answer any more are found, whatever stopped them."""

from collections.abc import Mapping
from typing import Any

from .limited_process import Stillness


class Pulse:
    """Asks workers whether they are alive.

    Args:
        stall_s: seconds of silence after which a worker counts as gone.
    """

    def __init__(self, stall_s: float) -> None:
        self._stall_s = stall_s
        self._every_s = min(stall_s / 4, 10.0)
        # how long a worker has owed an answer; and since it gave the last one
        self._owed: dict[int, tuple[Any, Stillness]] = {}
        self._rests: dict[int, Stillness] = {}

    def silent(self, busy: Mapping[int, Any]) -> list[int]:
        """Return the workers that have been silent for too long; quick, if called often.

        Args:
            busy: Ray's handles of the workers that have started and do something, by number.
        """
        import ray

        for number in (self._owed.keys() | self._rests.keys()) - busy.keys():
            self._owed.pop(number, None)
            self._rests.pop(number, None)
        if owed := {answer: number for number, (answer, _) in self._owed.items()}:
            for answer in ray.wait([*owed], num_returns=len(owed), timeout=0)[0]:
                del self._owed[owed[answer]]
                self._rests[owed[answer]] = Stillness()
                _ignore(answer)
        for number, worker in busy.items():
            rest = self._rests.setdefault(number, Stillness())
            if number not in self._owed and rest.look(alive=False) > self._every_s:
                asked = worker.alive.options(concurrency_group="watch").remote()
                self._owed[number] = asked, Stillness()
        return [
            number
            for number, (_, stillness) in self._owed.items()
            if stillness.look(alive=False) > self._stall_s
        ]


def _ignore(answer: Any) -> None:
    """Take an answer; a worker that has died is told of elsewhere."""
    import ray

    try:
        ray.get(answer)
    except ray.exceptions.RayError:
        return
