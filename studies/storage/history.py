"""History of a study: the events of its journal, and the results that they hold.

=============  =================================================================================
``asked``      when, batch, the points, those that bounds exclude (``refused``, packed), for how
               many designs boxes were ``followed``, how long the optimizer took, on wall and CPU,
               and how long it took to learn from trials before
``advanced``   when, trial, round, the compressed result (:func:`encode`), and how long it took
``crashed``    when, trial, round, and the error with its traceback
``validated``  when, trial, position of the held-out network, and the result or the crash
``opened``     when and with which executor a process took the study up, which study it is, and
               how many trials it has in all
``lost``       when, trial, round or held-out network, and the error: machines failed, not the trial
``over_limit`` when, trial, round or held-out network, and which limit of time or memory it broke
``certified``  when, batch, share of the hypervolume, and a digest of the certificate of that time
``retried``    when, trial, and round or network: what was lost is to be done again
``learned``    when, and a digest of the snapshot of what was learned so far
=============  =================================================================================

An event is journaled before the study acts on it, so a study that was killed acts on it again.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count as numbers
from time import time
from typing import Any, Final

from archloom.search.budget import Curve
from archloom.search.software import NetworkResult, SoftwareResult, pack, unpack
from archloom.space import Infeasible
from archloom.space.design_space import Point
from archloom.studies.config import named

from ..errors import UserError
from .event_log import tell_journaled
from .parts import JOURNAL
from .store import Store
from .trial import Crash, Lost, OverLimit


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A round that went well: its compressed result, what it took on wall and CPU, and who did it.

    CPU seconds are of the whole process, its helper threads too: they are what a search costs,
    on however many machines it ran.
    """

    payload: str
    seconds: float
    cpu_seconds: float
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Certified:
    """What was proven of the front after a batch.

    Attributes:
        digest: of the certificate.
        share: of the greatest possible hypervolume that the front has for certain.
    """

    digest: str
    share: float


def encode(result: SoftwareResult) -> str:
    """Return the result as a short string; :func:`decode` is the inverse."""
    content: dict[str, Any] = {
        "state": result.state,
        "evaluations": result.curve.evaluations,
        "edp": result.curve.edp,
        "networks": {name: best.to_dict() for name, best in result.networks.items()},
        "infeasible": result.infeasible.to_dict() if result.infeasible else None,
    }
    if result.together:
        content["together"] = dict(result.together)
    if result.trade_offs:
        content["trade_offs"] = [
            {name: found.to_dict() for name, found in other.items()} for other in result.trade_offs
        ]
    return pack(content)


def decode(payload: str) -> SoftwareResult:
    """Return what :func:`encode` was given.

    Raises:
        UserError: it is no such string, or would expand to more than any result does.
    """
    try:
        content = unpack(payload)
        reason = content["infeasible"]
        return SoftwareResult(
            content["state"],
            Curve(tuple(content["evaluations"]), tuple(content["edp"])),
            _networks(content["networks"]),
            Infeasible(**reason) if reason else None,
            content.get("together", {}),
            tuple(map(_networks, content.get("trade_offs", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        raise UserError(
            f"a result in the journal is none that archloom wrote ({error}); restore the journal "
            "from a copy, or start a study in another directory"
        ) from None


def _networks(found: Mapping[str, Any]) -> dict[str, NetworkResult]:
    return {name: NetworkResult.from_dict(one) for name, one in found.items()}


#: More designs than any batch has.
ALL: Final = 2**31


@dataclass(frozen=True, slots=True)
class Asked:
    """A proposal as the journal has it.

    Attributes:
        points: to be run.
        refused: not to be run.
        followed: for how many designs open boxes were followed, those after the optimizer's;
            ``ALL`` where the journal says no more than that they were.
        effort: times the software search of other designs that these get; above 1 for designs
            that are searched again.
    """

    points: list[Point]
    refused: list[Point]
    followed: int
    effort: int = 1


class History:
    """Reads the past from a store, and writes the present to it.

    A study with another number of trials than it had is what it would have been from the start. So
    a batch that was smaller, or would be, for the number of trials alone, is proposed again, with
    all after it; what is known of a design stays known if it comes as the same trial.

    Args:
        store: opened for writing; its events are taken.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[int, Asked] = {}
        config = store.header.config
        self._trials = (*store.header.trials_before, config["trials"])[0]
        self._batch_size = config["batch_size"]
        #: designs of each batch
        self._sizes: dict[int, int] = {}
        #: designs of batches that are proposed again, by trial
        self._dropped: dict[int, Point] = {}
        self._learned = ""
        #: batch before which it was learned
        self._learned_before = 0
        self._rounds: dict[tuple[int, int], str | Crash] = {}
        self._held_out: dict[tuple[int, int], str | Crash] = {}
        self._certified: dict[int, Certified] = {}
        for number, event in enumerate(store.take_events(), 1):
            try:
                self._replay(event)
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError, zlib.error):
                raise UserError(
                    f"{named(store.location, JOURNAL)}: line {number} is no event that archloom "
                    "wrote; restore it from a copy, or start a study in another place"
                ) from None

    def _replay(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "opened":
                self._extend(int(event.get("trials", self._trials)))
            case "asked":
                points, refused = event["points"], event.get("refused", [])
                if isinstance(refused, str):
                    refused = unpack(refused)
                if not all(isinstance(point, dict) for point in [*points, *refused]):
                    raise TypeError("points are no objects")
                followed = event.get("followed", 0)
                followed = ALL if followed is True else int(followed)
                effort = int(event.get("effort", 1))
                self._asked[event["batch"]] = Asked(points, refused, followed, effort)
                self._proposed(event["batch"], points)
            case "advanced":
                self._rounds[event["trial"], event["round"]] = str(event["payload"])
            case "crashed":
                self._rounds[event["trial"], event["round"]] = Crash(**event["crash"])
            case "certified":
                self._certified[event["batch"]] = Certified(event["digest"], event["share"])
            case "lost" | "over_limit" as kind:
                results, key = self._place(event)
                results[key] = (Lost if kind == "lost" else OverLimit)(**event["crash"])
            case "retried":
                results, key = self._place(event)
                results.pop(key, None)
                self._forget_learned()
            case "learned":
                self._learned, self._learned_before = str(event["digest"]), max(self._sizes)
            case "validated":
                crash = event["crash"]
                found = Crash(**crash) if crash else event["payload"]
                self._held_out[event["trial"], event["network"]] = found

    def _place(
        self, event: dict[str, Any]
    ) -> tuple[dict[tuple[int, int], str | Crash], tuple[int, int]]:
        """Return where an event belongs: among rounds, or among held-out networks."""
        if "round" in event:
            return self._rounds, (event["trial"], event["round"])
        return self._held_out, (event["trial"], event["network"])

    def retry(self) -> int:
        """Have all done again that crashed, was lost or over a limit; return how many searches."""
        count = 0
        for name, results in (("round", self._rounds), ("network", self._held_out)):
            for (trial, at), found in list(results.items()):
                if isinstance(found, Crash):
                    self._note("retried", trial=trial, **{name: at})
                    del results[trial, at]
                    count += 1
        if count:
            self._forget_learned()
        return count

    def _forget_learned(self) -> None:
        """Forget what was proven and learned: it knew other trials."""
        self._certified.clear()
        self._learned = ""

    def _extend(self, trials: int) -> None:
        """Drop what would be proposed otherwise with another number of trials."""
        before, self._trials = self._trials, trials
        if trials == before:
            return
        # at the end of fewer trials, it was of other ones
        self._certified.clear()
        begin = 0
        for batch, size in sorted(self._sizes.items()):
            wanted = {min(self._batch_size, n - begin) for n in (before, trials)}
            if len(wanted) > 1:
                self._drop(batch, begin)
                break
            begin += size

    def _drop(self, first: int, begin: int) -> None:
        """Drop batches from one on, whose first trial is given."""
        for batch in sorted(b for b in self._sizes if b >= first):
            del self._sizes[batch]
            points = self._asked.pop(batch).points
            self._dropped.update(enumerate(points, begin))
            begin += len(points)
        if self._learned_before > first:
            self._learned = ""

    def _proposed(self, batch: int, points: Sequence[Point]) -> None:
        """Take note of a batch's designs; forget what is known of other ones in their places."""
        if self._dropped:
            begin = sum(size for number, size in self._sizes.items() if number < batch)
            for trial, point in enumerate(points, begin):
                if self._dropped.pop(trial, point) != point:
                    for results in (self._rounds, self._held_out):
                        for key in [key for key in results if key[0] == trial]:
                            del results[key]
        self._sizes[batch] = len(points)

    def opened(self, executor: str) -> None:
        """Note that a process took the study up."""
        header = self._store.header
        self._extend(header.config["trials"])
        self._note("opened", executor=executor, study=header.identity, trials=self._trials)

    def proposal(self, batch: int) -> Asked | None:
        """Return what was proposed for a batch; None if nobody asked yet."""
        return self._asked.pop(batch, None)

    def asked(
        self,
        batch: int,
        asked: Asked,
        seconds: float,
        cpu_seconds: float,
        learning_cpu_seconds: float,
    ) -> None:
        """Note what was proposed for a batch, and what it took to find it, and to learn from the
        trials before."""
        content: dict[str, Any] = {"batch": batch, "points": asked.points}
        if asked.refused:
            content["refused"] = pack(asked.refused)
        if asked.followed:
            content["followed"] = asked.followed
        if asked.effort > 1:
            content["effort"] = asked.effort
        learning = {"learning_cpu_seconds": round(learning_cpu_seconds, 6)}
        self._proposed(batch, asked.points)
        self._note("asked", **content, **_taken(seconds, cpu_seconds), **learning)

    @property
    def known_rounds(self) -> int:
        """Rounds whose results are known and not forgotten."""
        return len(self._rounds)

    @property
    def learned(self) -> str:
        """Digest of the newest snapshot of what was learned; empty if there is none that holds."""
        return self._learned

    def keep_learned(self, digest: str) -> None:
        """Note the digest of a snapshot of what was learned so far."""
        self._learned, self._learned_before = digest, max(self._sizes)
        self._note("learned", digest=digest)

    def certificate(self, batch: int) -> Certified | None:
        """Return what was proven of the front after a batch; None if nothing is noted."""
        return self._certified.get(batch)

    def certified(self, batch: int, digest: str, share: float) -> None:
        """Note what is proven of the front after a batch."""
        self._certified[batch] = Certified(digest, share)
        self._note("certified", batch=batch, digest=digest, share=share)

    def payload(self, trial: int, round_index: int) -> str | Crash | None:
        """Return the payload or the crash of a trial's round; None if it was not done yet."""
        return self._rounds.get((trial, round_index))

    def done(self, trial: int, round_index: int, result: TaskResult | Crash) -> None:
        """Note what came of a trial's round."""
        place = {"trial": trial, "round": round_index}
        if isinstance(result, Crash):
            self._note(result.event, **place, **_worked(result), crash=result.to_dict())
        else:
            taken = _taken(result.seconds, result.cpu_seconds, result.worker)
            self._note("advanced", **place, **taken, payload=result.payload)
        self._rounds[trial, round_index] = _kept(result)

    def held_out(self, trial: int, network: int) -> str | Crash | None:
        """Return what came of a design on a held-out network; None if it was not done yet."""
        return self._held_out.get((trial, network))

    def validated(self, trial: int, network: int, result: TaskResult | Crash) -> None:
        """Note what came of a design on a held-out network."""
        place = {"trial": trial, "network": network}
        if isinstance(result, Lost | OverLimit):
            self._note(result.event, **place, **_worked(result), crash=result.to_dict())
        elif isinstance(result, Crash):
            self._note("validated", **place, payload=None, crash=result.to_dict())
        else:
            taken = _taken(result.seconds, result.cpu_seconds, result.worker)
            self._note("validated", **place, **taken, payload=result.payload, crash=None)
        self._held_out[trial, network] = _kept(result)

    def forget(self, trial: int) -> None:
        """Let go of a finished trial's payloads, which only its record is needed of."""
        for round_index in numbers():
            if self._rounds.pop((trial, round_index), None) is None:
                break

    def _note(self, event: str, **content: Any) -> None:
        """Write an event with the time at which it is written, which nothing is decided by."""
        noted = {"event": event, "at": round(time(), 3), **content}
        self._store.append(noted)
        tell_journaled(noted)


def _kept(result: TaskResult | Crash) -> str | Crash:
    return result if isinstance(result, Crash) else result.payload


def _worked(result: Crash) -> dict[str, Any]:
    """Return what a round that gave nothing took, where that is known."""
    return _taken(result.seconds, result.cpu_seconds) if isinstance(result, OverLimit) else {}


def _taken(seconds: float, cpu_seconds: float, worker: str = "") -> dict[str, Any]:
    taken = {"seconds": round(seconds, 6), "cpu_seconds": round(cpu_seconds, 6)}
    return taken | ({"worker": worker} if worker else {})
