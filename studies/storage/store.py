"""A study opened for writing: the only memory that it has, wherever its parts are kept.

``parts.py`` lists the parts, :mod:`.directory` and :mod:`.database` keep them.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from archloom.search.hardware.certify import Certificate
from archloom.space import bounded_json
from archloom.studies.config import Location, argument, named

from ..errors import UserError
from .directory import Files, begin_directory, refuse_place
from .event_log import heard_by_somebody, tell
from .header import LATER, Header, differences, header_parts, read_header, study_text
from .journal import Event
from .parts import (
    BASELINE_FILE,
    CERTIFICATE,
    JOURNAL,
    LEARNED,
    STUDY,
    TRIALS,
    VALIDATION,
    Parts,
)
from .reading import bring_up_to_date, read_part
from .records import read_trials, record_line
from .trial import HeldOutTrial, Trial

#: what a certificate says that has a statement for any budget
_NEWEST: Final = b'"ceiling_any_budget":'

#: most bytes, and values, that a snapshot is unpacked to; that of 100,000 boxes has about half
MOST_LEARNED_BYTES: Final = 64 * 2**20
MOST_LEARNED_VALUES: Final = 4_000_000


class Store:
    """A study, opened for writing by this process alone until it is closed.

    Attributes:
        location: where it is kept.
        header: what the study is.
        begun: whether it held events when it was opened.
        notes: what was mended on opening, for people.
        ended: called with each trial that ended after this opening, once its record is safe; in
            the order of their numbers. What it raises ends the study, which can go on.

    Raises:
        UserError: there is no study, it is of another format, is damaged, or another process
            writes to it; nothing was changed.
        TroubleError: it cannot be written, or another process has taken it over; so do all methods
            that write.
    """

    def __init__(self, location: Location) -> None:
        bring_up_to_date(location)
        self.location = location
        self.header = read_header(location)
        self._parts = _opened(location)
        try:
            self._events = self._parts.open_journal(self._check)
        except UserError:
            self._parts.close()
            raise
        self.notes = self._parts.notes
        self.begun = bool(self._events)
        self.ended: Callable[[Trial], None] | None = None
        #: hashes of records that openings before this one published; None until somebody asks
        self._told: set[int] | None = None

    def _check(self, events: Sequence[Event]) -> None:
        """Refuse a journal that is gone, or another study's, before anything is changed.

        Raises:
            UserError: trials are there without it, or it says that it is of another study.
        """
        journal = named(self.location, JOURNAL)
        if not events and (count := len(read_trials(self.location))):
            how = "missing" if read_part(self.location, JOURNAL) is None else "empty"
            raise UserError(
                f"{journal} is {how}, but {TRIALS} has {count} trials; restore the journal from a "
                "copy, or start a study in another place"
            )
        studies = {event.get("study") for event in events if event.get("event") == "opened"}
        if studies - {None} - self.header.identities:
            raise UserError(
                f"{journal} belongs to another study; restore this one's from a copy, "
                "or start a study in another place"
            )

    @classmethod
    def create(cls, location: Location, header: Header) -> "Store":
        """Begin a study, or go on with it if it is the same one that is there.

        Raises:
            UserError: also if there is another study, or if a directory has other files; nothing
                is changed then.
        """
        bring_up_to_date(location)
        if read_part(location, STUDY) is None:
            _begin(location, header)
        found = read_header(location)
        if found.identity != header.identity:
            changed = differences(found, header, LATER)
            go_on = "choose another place with --out, or undo the change"
            if found.differs_in_trials_alone(header):
                wanted = header.config["trials"]
                go_on = (
                    f"extend it with archloom resume {argument(location)} --trials {wanted}, or "
                    "choose another place with --out"
                )
            raise UserError(f"{location} holds a study with another config ({changed}); {go_on}")
        return cls(location)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write."""
        self._parts.close()

    def extend(self, trials: int) -> None:
        """Let the study have so many trials in all; see :class:`.history.History` for what follows.

        Raises:
            UserError: more designs than that were proposed already; nothing is changed then.
        """
        before = self.header.config["trials"]
        if trials == before:
            return
        if trials < (there := self._proposed()):
            raise UserError(
                f"--trials {trials} is below the {there} designs that {self.location} has proposed "
                f"already; say at least {there}"
            )
        header = self.header.extended(trials)
        self._parts.put(STUDY, study_text(header).encode())
        self.header = header
        self.notes.append(f"the study has {trials} trials in all from now on, {before} before")
        tell("extended", trials=trials, trials_before=before)

    def _proposed(self) -> int:
        """Return how many designs were proposed; the last word on each batch counts."""
        try:
            asked = [event for event in self._events if event["event"] == "asked"]
            return sum({event["batch"]: len(event["points"]) for event in asked}.values())
        except (KeyError, TypeError):
            raise UserError(
                f"{named(self.location, JOURNAL)} has an event that archloom did not write; "
                "restore it from a copy, or begin a study in another place"
            ) from None

    def take_events(self) -> list[Event]:
        """Return every event before this opening, oldest first; they are not kept here."""
        events, self._events = self._events, []
        return events

    def append(self, event: Event) -> None:
        """Add an event; it is safe when this returns."""
        self._parts.append(event)

    def publish(self, trials: Sequence[Trial]) -> None:
        """Add the trials of a finished batch to those that ended.

        A study that goes on publishes its old batches again: what is there already is left
        alone, what a kill cut short or somebody changed is put right.
        """
        lines = [record_line(trial) for trial in trials]
        new = self._new(trials, lines) if heard_by_somebody() or self.ended else []
        for trial in new:
            done: dict[str, Any] = {"rounds": trial.rounds, "evaluations": trial.evaluations}
            tell("trial_ended", trial=trial.number, state=trial.state, edp_js=trial.edp_js, **done)
        self._parts.publish(lines)
        if self.ended is not None:
            for trial in new:
                self.ended(trial)

    def _new(self, trials: Sequence[Trial], lines: Sequence[bytes]) -> list[Trial]:
        """Return the trials that ended now, not in an opening before this one."""
        if self._told is None:
            before = self._parts.read(TRIALS) or b""
            self._told = {hash(line) for line in before.splitlines(keepends=True)}
        told = zip(trials, lines, strict=True)
        return [trial for trial, line in told if hash(line) not in self._told]

    def settle(self) -> None:
        """Take lines out of the trials that nothing in the journal stands for.

        Called once all that the journal has is published; what is taken out is kept beside it.
        """
        self._parts.settle()

    def publish_validation(self, trials: Sequence[HeldOutTrial]) -> None:
        """Write what the designs of the front do on held-out networks."""
        self._parts.put(VALIDATION, b"".join(map(record_line, trials)))

    def publish_certificate(self, proof: Certificate) -> str:
        """Keep what bounds prove of the front so far; return a digest of it."""
        self._parts.put(CERTIFICATE, json.dumps(proof.to_dict()).encode() + b"\n")
        return self.certificate_digest()

    def certificate_digest(self) -> str:
        """Return a digest of what is kept of the certificate; empty for nothing, and for one of an
        older version, which says less than today's."""
        data = self._parts.read(CERTIFICATE)
        return "" if data is None or _NEWEST not in data else sha256(data).hexdigest()

    def publish_baseline(self, baseline: Trial) -> None:
        """Write the record of the baseline."""
        self._parts.put(BASELINE_FILE, record_line(baseline))

    def publish_learned(self, content: dict[str, Any]) -> str:
        """Keep a snapshot of what was learned so far; return a digest of it."""
        data = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
        self._parts.put(LEARNED, data)
        return sha256(data).hexdigest()

    def learned(self, digest: str) -> dict[str, Any] | None:
        """Return the snapshot with a digest; None if it is not there, or no longer."""
        data = self._parts.read(LEARNED)
        if data is None or sha256(data).hexdigest() != digest:
            return None
        expander = zlib.decompressobj()
        try:
            plain = expander.decompress(data, MOST_LEARNED_BYTES)
            large = bool(expander.unconsumed_tail)
            content = None if large else bounded_json(plain, MOST_LEARNED_VALUES)
        except (ValueError, RecursionError, zlib.error):
            return None
        return content if isinstance(content, dict) else None

    def write_live(self, content: dict[str, Any]) -> None:
        """Tell other processes what the study does; whether that can be written counts nothing."""
        self._parts.tell(json.dumps(content).encode() + b"\n")

    def end_live(self) -> None:
        """Say that the study does nothing any more."""
        self._parts.tell(None)


def _opened(location: Location) -> Parts:
    if isinstance(location, Path):
        return Files(location)
    from .database import SharedParts

    return SharedParts(location)


def check_place(location: Location) -> None:
    """Refuse a directory that neither holds a study nor can get one; nothing is changed.

    Raises:
        UserError: it is such a directory.
    """
    if isinstance(location, Path) and read_part(location, STUDY) is None:
        refuse_place(location)


def _begin(location: Location, header: Header) -> None:
    parts = header_parts(header)
    if isinstance(location, Path):
        begin_directory(location, parts)
        return
    from .database import add_study

    add_study(location, parts)
