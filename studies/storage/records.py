"""Files of a study that hold results: one record on each line, all made from the journal."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from archloom.search.hardware.certify import Certificate

from ..errors import UserError
from .trial import HeldOutTrial, Trial

TRIALS, BASELINE_FILE = "trials.jsonl", "baseline.json"
CERTIFICATE, VALIDATION = "certificate.json", "validation.jsonl"

Found = TypeVar("Found")


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
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError(
                f"{path}: line {number} is damaged; the journal has what it held, and "
                f"'archloom resume {path.parent}' writes the file anew"
            ) from None
    return found


def read_certificate(folder: Path) -> Certificate | None:
    """Return what bounds prove of the front so far; None if the space is not followed."""
    path = folder / CERTIFICATE
    if not path.exists():
        return None
    try:
        return Certificate.from_dict(json.loads(path.read_text()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path} is damaged; 'archloom resume {folder}' writes it anew") from None


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


def record_line(trial: Trial | HeldOutTrial) -> bytes:
    """Return the line of a record."""
    return json.dumps(trial.to_dict(), separators=(",", ":"), allow_nan=False).encode() + b"\n"
