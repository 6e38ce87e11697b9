"""History of a study: the events of its journal, and the results that they hold.

=============  =================================================================================
``asked``      when, batch, the points, those that bounds exclude (``refused``), and how long the
               optimizer took, on wall and CPU
``advanced``   when, trial, round, the compressed result (:func:`encode`), and how long it took
``crashed``    when, trial, round, and the error with its traceback
``validated``  when, trial, position of the held-out network, and the result or the crash
``opened``     when and with which executor a process took the study up
=============  =================================================================================

An event is journaled before the study acts on it, so a study that was killed acts on it again.
"""

import json
import zlib
from base64 import b85decode, b85encode
from dataclasses import dataclass
from time import time
from typing import Any

from archloom.search.budget import Curve
from archloom.search.software import NetworkResult, SoftwareResult
from archloom.space import Infeasible
from archloom.space.design_space import Point

from .store import Store
from .trial import Crash


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A round that went well: its compressed result, and what it took on wall and CPU.

    CPU seconds are of the whole process, its helper threads too: they are what a search costs,
    on however many machines it ran.
    """

    payload: str
    seconds: float
    cpu_seconds: float


def encode(result: SoftwareResult) -> str:
    """Return the result as a short string; :func:`decode` is the inverse."""
    content = {
        "state": result.state,
        "evaluations": result.curve.evaluations,
        "edp": result.curve.edp,
        "networks": {name: best.to_dict() for name, best in result.networks.items()},
        "infeasible": result.infeasible.to_dict() if result.infeasible else None,
    }
    return b85encode(zlib.compress(json.dumps(content, separators=(",", ":")).encode())).decode()


def decode(payload: str) -> SoftwareResult:
    """Return what :func:`encode` was given."""
    content = json.loads(zlib.decompress(b85decode(payload)))
    reason = content["infeasible"]
    return SoftwareResult(
        content["state"],
        Curve(tuple(content["evaluations"]), tuple(content["edp"])),
        {name: NetworkResult.from_dict(found) for name, found in content["networks"].items()},
        Infeasible(**reason) if reason else None,
    )


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

    def payload(self, trial: int, round_index: int) -> str | Crash | None:
        """Return the payload or the crash of a trial's round; None if it was not done yet."""
        return self._rounds.get((trial, round_index))

    def done(self, trial: int, round_index: int, result: TaskResult | Crash) -> None:
        """Note what came of a trial's round."""
        place = {"trial": trial, "round": round_index}
        if isinstance(result, Crash):
            self._note("crashed", **place, crash=result.to_dict())
        else:
            taken = _taken(result.seconds, result.cpu_seconds)
            self._note("advanced", **place, **taken, payload=result.payload)
        self._rounds[trial, round_index] = _kept(result)

    def held_out(self, trial: int, network: int) -> str | Crash | None:
        """Return what came of a design on a held-out network; None if it was not done yet."""
        return self._held_out.get((trial, network))

    def validated(self, trial: int, network: int, result: TaskResult | Crash) -> None:
        """Note what came of a design on a held-out network."""
        place = {"trial": trial, "network": network}
        if isinstance(result, Crash):
            self._note("validated", **place, payload=None, crash=result.to_dict())
        else:
            taken = _taken(result.seconds, result.cpu_seconds)
            self._note("validated", **place, **taken, payload=result.payload, crash=None)
        self._held_out[trial, network] = _kept(result)

    def forget(self, trial: int) -> None:
        """Let go of a finished trial's payloads, which only its record is needed of."""
        for key in [key for key in self._rounds if key[0] == trial]:
            del self._rounds[key]

    def _note(self, event: str, **content: Any) -> None:
        """Write an event with the time at which it is written, which nothing is decided by."""
        self._store.append({"event": event, "at": round(time(), 3), **content})


def _kept(result: TaskResult | Crash) -> str | Crash:
    return result if isinstance(result, Crash) else result.payload


def _taken(seconds: float, cpu_seconds: float) -> dict[str, float]:
    return {"seconds": round(seconds, 6), "cpu_seconds": round(cpu_seconds, 6)}
