"""Copies of studies, between any two places where they can be kept.

A study that is being worked on can be copied: what its journal tells is written before anything
that is made of it, and it is read last, so that a copy is the study as it was at one moment.
"""

from dataclasses import dataclass
from pathlib import Path

from archloom.studies.config import Location, named

from ..errors import TroubleError, UserError
from .directory import fill_directory
from .header import header_parts, read_header
from .journal import lines_in, parse_events
from .parts import BASELINE_FILE, CERTIFICATE, JOURNAL, LEARNED, TRIALS, VALIDATION
from .reading import bring_up_to_date, read_part
from .records import read_trials


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds: events of the journal, and trials that ended."""

    events: int
    trials: int


def copy_study(source: Location, target: Location) -> Copied:
    """Copy a study, and compare the copy with what was copied, byte by byte.

    Its identity and all results are copied, so that it can be gone on with; not what was set aside
    of damaged parts, nor its reports.

    Raises:
        UserError: there is no study or it is damaged, or there is something at the target; nothing
            was changed.
        TroubleError: something cannot be written, or was not written as it should be.
    """
    parts, copied = _read(source)
    if isinstance(target, Path):
        fill_directory(target, parts)
    else:
        from .database import add_study

        bring_up_to_date(target)
        if not add_study(target, parts):
            raise UserError(f"{target} is there already; nothing was changed; choose another name")
    for name, data in parts.items():
        if read_part(target, name) != data:
            raise TroubleError(
                f"{named(target, name)} differs from what was copied; delete the copy"
            )
    return copied


def _read(source: Location) -> tuple[dict[str, bytes], Copied]:
    """Return the sound parts of a study, the last of which makes a directory one."""
    trials = read_trials(source)
    names = list(header_parts(read_header(source)))
    results = (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION, LEARNED)
    found = {name: read_part(source, name) for name in (*results, JOURNAL, *names)}
    parts = {name: data for name, data in found.items() if data is not None}
    if TRIALS in parts:
        # without a line that is still being written
        parts[TRIALS] = parts[TRIALS][: parts[TRIALS].rfind(b"\n") + 1]
    events, end = parse_events(lines_in(parts.get(JOURNAL, b"")), named(source, JOURNAL))
    if trials and not events:
        raise UserError(f"{named(source, JOURNAL)} is missing or empty, but there are trials")
    if events:
        parts[JOURNAL] = parts[JOURNAL][:end]
    return parts, Copied(len(events), parts.get(TRIALS, b"").count(b"\n"))
