"""Parts of a study that hold results: one record on each line, all made from the journal."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from archloom.search.hardware.certify import Certificate
from archloom.space import bounded_json
from archloom.studies.config import Location, argument, named

from ..errors import UserError
from .parts import BASELINE_FILE, CERTIFICATE, TRIALS, VALIDATION
from .reading import read_part
from .trial import HeldOutTrial, Trial

Found = TypeVar("Found")


def read_trials(location: Location) -> list[Trial]:
    """Return the finished trials, also while another process adds to them.

    Raises:
        UserError: a line is damaged; so do the readers of the other records.
    """
    return _records(location, TRIALS, Trial.from_dict)


def read_baseline(location: Location) -> Trial | None:
    """Return the baseline; None if it is not evaluated yet, or not wanted."""
    return next(iter(_records(location, BASELINE_FILE, Trial.from_dict)), None)


def read_validation(location: Location) -> list[HeldOutTrial]:
    """Return what designs do on held-out networks; nothing before that was searched."""
    return _records(location, VALIDATION, HeldOutTrial.from_dict)


def _records(
    location: Location, name: str, from_dict: Callable[[dict[str, Any]], Found]
) -> list[Found]:
    """Return the records of a part with one on each line; what is still being written is none."""
    lines = (read_part(location, name) or b"").splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        try:
            found.append(from_dict(bounded_json(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError(
                f"{named(location, name)}: line {number} is damaged; the journal has what it held, "
                f"and 'archloom resume {argument(location)}' writes it anew"
            ) from None
    return found


def read_certificate(location: Location) -> Certificate | None:
    """Return what bounds prove of the front so far; None if the space is not followed."""
    data = read_part(location, CERTIFICATE)
    if data is None:
        return None
    try:
        return Certificate.from_dict(bounded_json(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"{named(location, CERTIFICATE)} is damaged; 'archloom resume {argument(location)}' "
            "writes it anew"
        ) from None


def record_line(trial: Trial | HeldOutTrial) -> bytes:
    """Return the line of a record."""
    return json.dumps(trial.to_dict(), separators=(",", ":"), allow_nan=False).encode() + b"\n"
