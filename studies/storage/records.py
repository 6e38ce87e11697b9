"""Parts of a study that hold results: one record on each line, all made from the journal."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeVar

from archloom.search.hardware.certify import Certificate
from archloom.search.software import NetworkResult
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
    return _records(location, TRIALS, published_trial)


def read_baseline(location: Location) -> Trial | None:
    """Return the baseline; None if it is not evaluated yet, or not wanted."""
    return next(iter(_records(location, BASELINE_FILE, published_trial)), None)


def read_validation(location: Location) -> list[HeldOutTrial]:
    """Return what designs do on held-out networks; nothing before that was searched."""
    return _records(location, VALIDATION, lambda line: HeldOutTrial.from_dict(bounded_json(line)))


def published_trial(line: bytes) -> Trial:
    """Return the trial of a line. The software of its networks, which most of the line is, is read
    when somebody asks for it: a front of thousands of trials needs that of a few.
    """
    head, networks, rest = line.partition(_NETWORKS)
    software, curve, tail = rest.rpartition(_CURVE)
    # quotes inside texts are escaped, so no text looks like a key; what opens here ends there
    if not (networks and curve and software.endswith(b"}")):
        return Trial.from_dict(bounded_json(line))
    found = Trial.from_dict(bounded_json(head + b',"networks":{}' + curve + tail))
    return replace(found, networks=KeptNetworks(software))


#: where the software of networks begins in a line, and what follows it
_NETWORKS: Final = b',"networks":'
_CURVE: Final = b',"curve":'


class KeptNetworks(Mapping[str, NetworkResult]):
    """Software by network, read from JSON at the first look."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    @cached_property
    def _found(self) -> dict[str, NetworkResult]:
        try:
            data = bounded_json(self._text)
            return {name: NetworkResult.from_dict(found) for name, found in data.items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise UserError(
                f"the software of a trial in {TRIALS} is damaged; the journal has what it held, "
                "and 'archloom resume' writes it again"
            ) from None

    def __getitem__(self, name: str) -> NetworkResult:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _records(location: Location, name: str, of: Callable[[bytes], Found]) -> list[Found]:
    """Return the records of a part with one on each line; what is still being written is none."""
    lines = (read_part(location, name) or b"").splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        try:
            found.append(of(line))
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
