"""A study's directory: the only memory of a study.

====================  ==========================================================================
``study.yaml``        format, version, identity and the resolved config; written once
``space/NAME.yaml``   the hardware template as it was when the study began
``networks/N.json``   workload N, counted from 0, as it was then, if it comes from a file
``start.json``        what the study began with, if it began with something
``journal.jsonl``     every event in order; the truth, from which a study goes on
``journal.jsonl.cut`` what a kill, or a full disk, left of events that it cut short
``trials.beyond``     lines of ``trials.jsonl`` that the journal knows nothing of
``trials.jsonl``      one final record per trial, in order; depends on config and seed alone
``certificate.json``  what lower bounds prove of the front so far
``baseline.json``     record of the baseline, once it is evaluated
``live.json``         what is done right now, while something is
``validation.jsonl``  one record per design of the front, once held-out networks are searched
====================  ==========================================================================

The journal is written first; everything below it in the table can be made again from it. One
process writes at a time; any number may read.
"""

import fcntl
import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from archloom.search.hardware.certify import Certificate

from ..errors import UserError, writing
from .differences import differences
from .event_log import tell
from .header import (
    LATER,
    NETWORKS,
    SPACE,
    START,
    STUDY,
    Header,
    network_file,
    read_header,
    study_text,
)
from .journal import Event, Journal, copy_of, write_at
from .records import (
    BASELINE_FILE,
    CERTIFICATE,
    TRIALS,
    VALIDATION,
    read_trials,
    record_line,
    write_whole,
)
from .trial import HeldOutTrial, Trial

JOURNAL, LOCK, BEYOND = "journal.jsonl", ".lock", "trials.beyond"


class Store:
    """A study's directory, opened for writing; locked until it is closed.

    Attributes:
        folder: the directory.
        header: what the study is.
        begun: whether it held events when it was opened.
        notes: what was mended on opening, for people.

    Raises:
        UserError: the directory is no study, is of another format, is damaged, or another
            process writes to it; nothing in it was changed.
        TroubleError: it cannot be written; so do all methods that write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.header = read_header(folder)
        self.notes: list[str] = []
        self._lock = _lock(folder)
        try:
            self._open()
        except UserError:
            os.close(self._lock)
            raise

    def _open(self) -> None:
        self._journal = Journal(self.folder / JOURNAL, self._check)
        if size := self._journal.cut_short:
            kept = copy_of(self.folder / JOURNAL)
            self.notes.append(
                f"the last event of the journal was cut short; its {size} bytes are in {kept}, "
                "and what it told of is done again"
            )
        self.begun = bool(self._journal.found)
        with writing(self.folder / TRIALS):
            self._trials = os.open(self.folder / TRIALS, os.O_RDWR | os.O_CREAT, 0o644)
        self._published = 0

    def _check(self, events: Sequence[Event]) -> None:
        """Refuse a journal that is gone, or another study's, before anything is changed.

        Raises:
            UserError: trials are there without it, or it says that it is of another study.
        """
        path, trials = self.folder / JOURNAL, self.folder / TRIALS
        if not events and trials.exists() and (count := len(read_trials(self.folder))):
            raise UserError(
                f"{path} is {'empty' if path.exists() else 'missing'}, but {TRIALS} has {count} "
                "trials; restore the journal from a copy, or begin a study in another directory"
            )
        studies = {event.get("study") for event in events if event.get("event") == "opened"}
        if studies - {None, self.header.identity}:
            raise UserError(
                f"{path} belongs to another study; restore this one's from a copy, "
                "or begin a study in another directory"
            )

    @classmethod
    def create(cls, folder: Path, header: Header) -> "Store":
        """Begin a study, or go on with it if the directory holds the same one.

        Raises:
            UserError: also if the directory holds another study, or other files; nothing in it
                is changed then.
        """
        if (folder / STUDY).exists():
            found = read_header(folder)
            if found.identity != header.identity:
                changed = differences(found, header, LATER)
                raise UserError(
                    f"{folder} holds a study with another config ({changed}); "
                    "say --out DIR for another directory, or undo the change"
                )
            return cls(folder)
        _check_vacant(folder)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder)
        try:
            if not (folder / STUDY).exists():
                with writing(folder):
                    _write_header(folder, header)
        finally:
            os.close(lock)
        return cls(folder)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the lock."""
        self._journal.close()
        os.close(self._trials)
        os.close(self._lock)

    def take_events(self) -> list[Event]:
        """Return every event before this opening, oldest first; they are not kept here."""
        events, self._journal.found = self._journal.found, []
        return events

    def append(self, event: Event) -> None:
        """Add an event; it is on the disk when this returns."""
        self._journal.append(event)

    def publish(self, trials: Sequence[Trial]) -> None:
        """Add the trials of a finished batch to ``trials.jsonl``.

        A study that goes on publishes its old batches again: what is there already is left
        alone, what a kill cut short or somebody changed is put right.
        """
        data = b"".join(map(record_line, trials))
        with writing(self.folder / TRIALS):
            there = os.pread(self._trials, len(data), self._published)
            if there != data:
                os.ftruncate(self._trials, self._published)
                write_at(self._trials, data, self._published)
                os.fsync(self._trials)
                for trial in trials:
                    _told(trial)
        self._published += len(data)

    def settle(self) -> None:
        """Take lines out of ``trials.jsonl`` that nothing in the journal stands for.

        Called once all that the journal has is published; lines that are taken out are kept in a
        file beside it.
        """
        with writing(self.folder / TRIALS):
            beyond = os.pread(self._trials, os.fstat(self._trials).st_size, self._published)
            if not beyond:
                return
            with (self.folder / BEYOND).open("ab") as file:
                file.write(beyond)
                file.flush()
                os.fsync(file.fileno())
            os.ftruncate(self._trials, self._published)
            os.fsync(self._trials)

    def publish_validation(self, trials: Sequence[HeldOutTrial]) -> None:
        """Write what the designs of the front do on held-out networks."""
        self._write(VALIDATION, b"".join(map(record_line, trials)).decode())

    def publish_certificate(self, proof: Certificate) -> str:
        """Keep what bounds prove of the front so far; return a digest of it."""
        self._write(CERTIFICATE, json.dumps(proof.to_dict()) + "\n")
        return self.certificate_digest()

    def certificate_digest(self) -> str:
        """Return a digest of what is kept of the certificate; empty for nothing."""
        path = self.folder / CERTIFICATE
        return sha256(path.read_bytes()).hexdigest() if path.exists() else ""

    def publish_baseline(self, baseline: Trial) -> None:
        """Write the record of the baseline."""
        self._write(BASELINE_FILE, record_line(baseline).decode())

    def _write(self, name: str, text: str) -> None:
        with writing(self.folder / name):
            write_whole(self.folder / name, text)


def _told(trial: Trial) -> None:
    done: dict[str, Any] = {"rounds": trial.rounds, "evaluations": trial.evaluations}
    tell("trial_ended", trial=trial.number, state=trial.state, edp_js=trial.edp_js, **done)


def _write_header(folder: Path, header: Header) -> None:
    (folder / SPACE).mkdir(exist_ok=True)
    write_whole(folder / header.space_file, header.space_text)
    for i, text in header.networks.items():
        (folder / NETWORKS).mkdir(exist_ok=True)
        write_whole(folder / network_file(i), text)
    if header.start is not None:
        write_whole(folder / START, header.start)
    # Last, since this file is what makes the directory a study.
    write_whole(folder / STUDY, study_text(header))


def _lock(folder: Path) -> int:
    """Return a descriptor that holds the lock; a killed process lets go of it by itself."""
    with writing(folder / LOCK):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise UserError(
            f"{folder}: process {owner or 'unknown'} is writing to this study; wait for it, or "
            "stop it; 'archloom pareto' works meanwhile"
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _check_vacant(folder: Path) -> None:
    """Refuse a directory that holds what no unfinished beginning of a study left there."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; say --out DIR for another directory")
    ours = {LOCK, SPACE, NETWORKS, START, f".{STUDY}.part", f".{START}.part"}
    foreign = (
        sorted(p.name for p in folder.iterdir() if p.name not in ours) if folder.exists() else []
    )
    if foreign:
        raise UserError(
            f"{folder} is not empty ({', '.join(foreign[:3])}) and no study; nothing was changed; "
            "say --out DIR for another directory"
        )
