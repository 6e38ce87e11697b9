"""A study's directory: the only memory of a study.

====================  ==========================================================================
``study.yaml``        format, version, identity and the resolved config; written once
``space/NAME.yaml``   the hardware template as it was when the study began
``networks/N.json``   workload N, counted from 0, as it was then, if it comes from a file
``start.json``        what the study began with, if it began with something
``journal.jsonl``     every event in order; the truth, from which a study goes on
``trials.jsonl``      one final record per trial, in order; depends on config and seed alone
``certificate.json``  what lower bounds prove of the front so far
``baseline.json``     record of the baseline, once it is evaluated
``validation.jsonl``  one record per design of the front, once held-out networks are searched
====================  ==========================================================================

The journal is written first; everything below it in the table can be made again from it. One
process writes at a time; any number may read.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from archloom.search import RENAMED, first_name, renamed
from archloom.search.hardware.certify import Certificate
from archloom.studies.config import is_file

from ..errors import UserError
from .differences import differences
from .journal import Event, Journal
from .trial import HeldOutTrial, Trial

FORMAT = 1

STUDY, SPACE, NETWORKS, JOURNAL = "study.yaml", "space", "networks", "journal.jsonl"
TRIALS, BASELINE_FILE, LOCK = "trials.jsonl", "baseline.json", ".lock"
START, CERTIFICATE = "start.json", "certificate.json"
VALIDATION = "validation.jsonl"

#: Keys that came after the first studies, and what those studies did.
LATER: Final[Mapping[str, Any]] = {
    "objectives": ["edp", "area", "tdp"],
    "start_from": [],
    "validation": {"workloads": [], "evaluations": None},
    "mode": "search",
}
_UNSET: Final = object()

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Header:
    """Identity of a study: its resolved config, the template that its space had, and its networks.

    Attributes:
        config: ``StudyConfig.model_dump(mode="json")``, with today's names of values.
        space_text: text of the hardware template.
        archloom: version that began the study.
        networks: JSON of the workloads that come from files, by position among all, those that
            are held out last.
        start: JSON of what ``start_from`` came to; None if it names nothing.
    """

    config: dict[str, Any]
    space_text: str
    archloom: str
    networks: Mapping[int, str] = field(default_factory=dict)
    start: str | None = None

    @classmethod
    def new(
        cls, config: dict[str, Any], space_text: str, networks: Mapping[int, str] | None = None
    ) -> "Header":
        """Return the header of a study that begins now."""
        return cls(config, space_text, version("archloom"), networks or {})

    @property
    def space_file(self) -> Path:
        """Where the template lies in the study's directory; its stem names the designs."""
        return Path(SPACE, f"{Path(self.config['space']).stem}.yaml")

    @property
    def result_settings(self) -> dict[str, Any]:
        """Settings that decide the result: neither executor, pick nor name, nor paths of files.

        What older studies could not choose is left out where it is as they had it.
        """
        free = ("name", "executor", "pick")
        settings = {
            k: v for k, v in self.config.items() if k not in free and LATER.get(k, _UNSET) != v
        }
        workloads = [
            {"sha256": _digest(self.networks[i])} if is_file(workload) else workload
            for i, workload in enumerate(every_workload(self.config))
        ]
        if self.start is not None:
            settings["start_from"] = {"sha256": _digest(self.start)}
        searched = len(self.config["workloads"])
        if "validation" in settings:
            settings["validation"] = settings["validation"] | {"workloads": workloads[searched:]}
        return settings | {
            "workloads": workloads[:searched],
            "space": self.space_file.stem,
            "space_sha256": _digest(self.space_text),
        }

    @property
    def identity(self) -> str:
        """Equal for two studies that have the same result, whatever their values were called."""
        settings = _values_named(self.result_settings, first_name)
        return _digest(json.dumps(settings, sort_keys=True))


class Store:
    """A study's directory, opened for writing; locked until it is closed.

    Attributes:
        folder: the directory.
        header: what the study is.
        begun: whether it held events when it was opened.

    Raises:
        UserError: the directory is no study, is of another format, is damaged, or another
            process writes to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.header = read_header(folder)
        self._lock = _lock(folder)
        try:
            self._journal = Journal(folder / JOURNAL)
            self.begun = bool(self._journal.found)
        except UserError:
            os.close(self._lock)
            raise
        self._trials = os.open(folder / TRIALS, os.O_RDWR | os.O_CREAT, 0o644)
        self._published = 0

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
        folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder)
        try:
            if not (folder / STUDY).exists():
                (folder / SPACE).mkdir(exist_ok=True)
                write_whole(folder / header.space_file, header.space_text)
                for i, text in header.networks.items():
                    (folder / NETWORKS).mkdir(exist_ok=True)
                    write_whole(folder / network_file(i), text)
                if header.start is not None:
                    write_whole(folder / START, header.start)
                # Last, since this file is what makes the directory a study.
                write_whole(folder / STUDY, _study_text(header))
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
        data = b"".join(map(_line, trials))
        there = os.pread(self._trials, len(data), self._published)
        if there != data:
            os.ftruncate(self._trials, self._published)
            os.pwrite(self._trials, data, self._published)
            os.fsync(self._trials)
        self._published += len(data)

    def publish_validation(self, trials: Sequence[HeldOutTrial]) -> None:
        """Write what the designs of the front do on held-out networks."""
        write_whole(self.folder / VALIDATION, b"".join(map(_line, trials)).decode())

    def publish_certificate(self, proof: Certificate | None) -> None:
        """Keep what bounds prove of the front so far, if they prove anything."""
        if proof is not None:
            write_whole(self.folder / CERTIFICATE, json.dumps(proof.to_dict()) + "\n")

    def publish_baseline(self, baseline: Trial) -> None:
        """Write the record of the baseline."""
        write_whole(self.folder / BASELINE_FILE, _line(baseline).decode())


def read_header(folder: Path) -> Header:
    """Return what the study is.

    Raises:
        UserError: the directory is no study, or of another format.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such directory; 'archloom run' makes one")
    try:
        data = yaml.safe_load((folder / STUDY).read_text())
        found = data["format"]
    except (OSError, yaml.YAMLError, TypeError, KeyError):
        raise UserError(f"{folder} is no study: it has no readable {STUDY} with a format") from None
    if found != FORMAT:
        raise UserError(
            f"{folder} is a study of format {found}; this archloom ({version('archloom')}) reads "
            f"format {FORMAT}; use the version that began it: {data.get('archloom', 'unknown')}"
        )
    try:
        bare = Header(_values_named(data["config"], renamed), "", data["archloom"])
        header = replace(
            bare,
            space_text=(folder / bare.space_file).read_text(encoding="utf-8"),
            networks={
                i: (folder / network_file(i)).read_text(encoding="utf-8")
                for i, workload in enumerate(every_workload(bare.config))
                if is_file(workload)
            },
            start=(folder / START).read_text(encoding="utf-8")
            if bare.config.get("start_from")
            else None,
        )
        sound = header.identity == data["identity"]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise UserError(
            f"{folder}: {STUDY}, {START}, the template in {SPACE} or a network in {NETWORKS} was "
            "changed after the study began, so its trials no longer belong to it; undo that, or "
            "begin a study in another directory"
        )
    return header


def _values_named(settings: dict[str, Any], name: Callable[[str, str], str]) -> dict[str, Any]:
    """Return settings with values of ``software`` called what ``name`` says, by key and value."""
    software = dict(settings.get("software", {}))
    software |= {key: name(key, software[key]) for key in RENAMED if key in software}
    return settings | ({"software": software} if software else {})


def every_workload(config: Mapping[str, Any]) -> list[Any]:
    """Return the references of all networks of a study, those held out last."""
    return [*config["workloads"], *config.get("validation", {}).get("workloads", [])]


def network_file(position: int) -> Path:
    """Where a workload that comes from a file lies in the study's directory."""
    return Path(NETWORKS, f"{position}.json")


def read_trials(folder: Path) -> list[Trial]:
    """Return the finished trials, also while another process adds to them.

    Raises:
        UserError: a line is damaged; so do the readers of the other records.
    """
    return _records(folder / TRIALS, Trial.from_dict)


def read_baseline(folder: Path) -> Trial | None:
    """Return the baseline; None if it is not evaluated yet, or not wanted."""
    return next(iter(_records(folder / BASELINE_FILE, Trial.from_dict)), None)


def read_validation(folder: Path) -> list[HeldOutTrial]:
    """Return what designs do on held-out networks; nothing before that was searched."""
    return _records(folder / VALIDATION, HeldOutTrial.from_dict)


def _records(path: Path, from_dict: Callable[[dict[str, Any]], Found]) -> list[Found]:
    """Return the records of a file with one on each line; what is still being written is none."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        try:
            found.append(from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            raise UserError(
                f"{path}: line {number} is damaged; the journal has what it held, and "
                f"'archloom resume {path.parent}' writes the file anew"
            ) from None
    return found


def read_certificate(folder: Path) -> Certificate | None:
    """Return what bounds prove of the front so far; None if the space is not followed."""
    path = folder / CERTIFICATE
    return Certificate.from_dict(json.loads(path.read_text())) if path.exists() else None


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, sees all of it or nothing."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _line(trial: Trial | HeldOutTrial) -> bytes:
    return json.dumps(trial.to_dict(), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _study_text(header: Header) -> str:
    head = {"format": FORMAT, "archloom": header.archloom, "identity": header.identity}
    return yaml.safe_dump(head | {"config": header.config}, sort_keys=False)


def _lock(folder: Path) -> int:
    """Return a descriptor that holds the lock; a killed process lets go of it by itself."""
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
