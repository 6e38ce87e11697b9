"""What a study has done, as events of its journal.

=============  =================================================================================
``asked``      when, batch, the points, those that bounds exclude (``refused``), and how long the
               optimizer took, on wall and CPU
``advanced``   when, trial, round, the compressed outcome (:mod:`.work`), and how long it took
``crashed``    when, trial, round, and the error with its traceback
``validated``  when, trial, position of the held-out network, and the outcome or the crash
``opened``     when and with which executor a process took the study up
=============  =================================================================================

An event is journaled before the study acts on it, so a study that was killed acts on it again.
"""

from time import time
from typing import Any

from .store import Store
from .work import Advanced, Crash

Point = dict[str, Any]


class History:
    """Reads the past from a store, and writes the present to it.

    Args:
        store: opened for writing; its events are taken.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._points: dict[int, tuple[list[Point], list[Point]]] = {}
        self._rounds: dict[tuple[int, int], str | Crash] = {}
        self._held_out: dict[tuple[int, int], str | Crash] = {}
        for event in store.take_events():
            self._replay(event)

    def _replay(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "asked":
                self._points[event["batch"]] = (event["points"], event.get("refused", []))
            case "advanced":
                self._rounds[event["trial"], event["round"]] = event["payload"]
            case "crashed":
                self._rounds[event["trial"], event["round"]] = Crash(**event["crash"])
            case "validated":
                crash = event["crash"]
                found = Crash(**crash) if crash else event["payload"]
                self._held_out[event["trial"], event["network"]] = found

    def opened(self, executor: str) -> None:
        """Note that a process took the study up."""
        self._note("opened", executor=executor)

    def points(self, batch: int) -> tuple[list[Point], list[Point]] | None:
        """Return the points of a batch, and those that were proposed and are not run.

        None if they were not asked for yet.
        """
        return self._points.get(batch)

    def asked(
        self,
        batch: int,
        points: list[Point],
        refused: list[Point],
        seconds: float,
        cpu_seconds: float,
    ) -> None:
        """Note the points of a batch, those that are not run, and what it took to find them."""
        content = {"batch": batch, "points": points} | ({"refused": refused} if refused else {})
        self._note("asked", **content, **_taken(seconds, cpu_seconds))

    def outcome(self, trial: int, round_index: int) -> str | Crash | None:
        """Return the payload or the crash of a trial's round; None if it was not done yet."""
        return self._rounds.get((trial, round_index))

    def done(self, trial: int, round_index: int, result: Advanced | Crash) -> None:
        """Note what came of a trial's round."""
        place = {"trial": trial, "round": round_index}
        if isinstance(result, Crash):
            self._note("crashed", **place, crash=result.to_dict())
            self._rounds[trial, round_index] = result
        else:
            taken = _taken(result.seconds, result.cpu_seconds)
            self._note("advanced", **place, **taken, payload=result.payload)
            self._rounds[trial, round_index] = result.payload

    def held_out(self, trial: int, network: int) -> str | Crash | None:
        """Return what came of a design on a held-out network; None if it was not done yet."""
        return self._held_out.get((trial, network))

    def validated(self, trial: int, network: int, result: Advanced | Crash) -> None:
        """Note what came of a design on a held-out network."""
        place = {"trial": trial, "network": network}
        if isinstance(result, Crash):
            self._note("validated", **place, payload=None, crash=result.to_dict())
            self._held_out[trial, network] = result
        else:
            taken = _taken(result.seconds, result.cpu_seconds)
            self._note("validated", **place, **taken, payload=result.payload, crash=None)
            self._held_out[trial, network] = result.payload

    def forget(self, trial: int) -> None:
        """Let go of a finished trial's payloads, which only its record is needed of."""
        for key in [key for key in self._rounds if key[0] == trial]:
            del self._rounds[key]

    def _note(self, event: str, **content: Any) -> None:
        """Write an event with the time at which it is written, which nothing is decided by."""
        self._store.append({"event": event, "at": round(time(), 3), **content})


def _taken(seconds: float, cpu_seconds: float) -> dict[str, float]:
    return {"seconds": round(seconds, 6), "cpu_seconds": round(cpu_seconds, 6)}
