"""What a measurement remembers: a journal of what was tried and timed, which survives a kill.

The first event says what is wanted and on which machine; others follow as work is done. Who asks
for the same on the same machine again goes on where the journal ends.
"""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from archloom.evaluators.host import Schedule, schedule_record
from archloom.evaluators.host.worker import Failed
from archloom.studies.storage import Event, Journal, lock

from ...errors import TroubleError, UserError, writing

#: of the journal in the directory of a measurement
JOURNAL: Final = "journal.jsonl"


class Memory:
    """The journal of a measurement, opened for writing.

    Args:
        folder: of the measurement; made if it is not there.
        wanted: what is to be measured, as JSON.
        machine: where, as JSON.

    Attributes:
        resumed: whether the journal held work before.

    Raises:
        UserError: the journal is of something else, or another process writes it.
    """

    def __init__(self, folder: Path, wanted: dict[str, Any], machine: dict[str, Any]) -> None:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = lock(folder)
        except TroubleError:
            raise
        except UserError:
            raise UserError(f"{folder}: another process is measuring there; wait for it") from None
        begin = {"kind": "begin", "wanted": wanted, "machine": machine}
        try:
            self._journal = Journal(folder / JOURNAL, lambda found: _check(found, begin, folder))
        except UserError:
            self._lock.release()
            raise
        self._tried: dict[tuple[str, str], Event] = {}
        self._done: dict[tuple[str, str], Event] = {}
        self.resumed = bool(self._journal.found)
        for event in self._journal.found:
            self._take_in(event)
        if not self.resumed:
            self._journal.append(begin)

    def close(self) -> None:
        """Let another process write."""
        self._journal.close()
        self._lock.release()

    def tried(self, kernel: str, schedule: Schedule) -> Event | None:
        """Return what was found out about a schedule; None if it was not tried."""
        return self._tried.get((kernel, _text(schedule)))

    def add_try(
        self, kernel: str, schedule: Schedule, time_us: float | None, failed: Failed | None
    ) -> Event:
        """Remember a schedule that was tried."""
        return self._add(try_event(kernel, schedule, time_us, failed))

    def done(self, kind: str, name: str) -> Event | None:
        """Return the results of a layer or network; None if there are none yet."""
        return self._done.get((kind, name))

    def add_done(self, kind: str, name: str, about: Event) -> Event:
        """Remember the results of a layer or network; the last ones count."""
        return self._add({"kind": kind, "name": name, **about})

    def add_together(self, events: Iterable[Event]) -> None:
        """Remember several events at once: a kill leaves all of them or none."""
        if found := list(events):
            self._add({"kind": "together", "events": found})

    def forget_refused(self, reasons: Collection[str]) -> None:
        """Forget the results that were refused for some reasons; the journal keeps them."""
        self._done = {
            key: event
            for key, event in self._done.items()
            if (event.get("reason") or {}).get("reason") not in reasons
        }

    def _add(self, event: Event) -> Event:
        self._journal.append(event)
        # what is remembered is what a later run will read
        event = json.loads(json.dumps(event))
        self._take_in(event)
        return event

    def _take_in(self, event: Event) -> None:
        if event["kind"] == "together":
            for each in event["events"]:
                self._take_in(each)
        elif event["kind"] == "tried":
            self._tried[event["kernel"], _sorted(event["schedule"])] = event
        elif event["kind"] != "begin":
            self._done[event["kind"], event["name"]] = event


def try_event(
    kernel: str, schedule: Schedule, time_us: float | None, failed: Failed | None
) -> Event:
    """Return the event of a schedule that was tried: its time, or why it has none."""
    return {
        "kind": "tried",
        "kernel": kernel,
        "schedule": schedule_record(schedule),
        "time_us": time_us,
        "failure": None if failed is None else [failed.kind, failed.message],
    }


def _text(schedule: Schedule) -> str:
    return _sorted(schedule_record(schedule))


def _sorted(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)


def _check(found: "list[Event] | Any", begin: Event, folder: Path) -> None:
    """Refuse a journal of another measurement, naming what differs.

    Raises:
        UserError: it is of another one.
    """
    if not found:
        return
    before, now = found[0], json.loads(json.dumps(begin))
    if before.get("kind") != "begin":
        raise UserError(f"{folder / JOURNAL}: is no journal of a measurement; choose another --out")
    for part, what in (("wanted", "with other options"), ("machine", "on another machine")):
        odd = [k for k, value in now[part].items() if before[part].get(k) != value]
        if odd:
            shown = "; ".join(f"{k}: {before[part].get(k)!s:.60} then, {now[part][k]!s:.60} now"
                              for k in odd)  # fmt: skip
            raise UserError(f"{folder}: was measured {what}: {shown}; choose another --out")
