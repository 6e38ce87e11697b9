"""Parts of a study: their names, and what writes them wherever the study is kept.

=====================  ===========================================================================
``study.yaml``         format, version, identity and the resolved config; written once
``space/NAME.yaml``    the hardware template as it was when the study began
``networks/N.json``    workload N, counted from 0, as it was then, if it comes from a file
``start.json``         what the study began with, if it began with something
``journal.jsonl``      every event in order; the truth, from which a study goes on
``journal.jsonl.cut``  what a kill, or a full disk, left of events that it cut short
``trials.beyond``      lines of ``trials.jsonl`` that the journal knows nothing of
``trials.jsonl``       one final record per trial, in order; depends on config and seed alone
``certificate.json``   what lower bounds prove of the front so far
``baseline.json``      record of the baseline, once it is evaluated
``learned.z``          compressed JSON: a snapshot of what bounds were worked out
``live.json``          what is done right now, while something is
``validation.jsonl``   one record per design of the front, once held-out networks are searched
=====================  ===========================================================================

They are files of a directory, or rows of a database with the same bytes. The journal is written
first; everything below it in the table can be made again from it. One process writes at a time;
any number may read.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from .journal import Event

STUDY, SPACE, NETWORKS, START = "study.yaml", "space", "networks", "start.json"
JOURNAL, BEYOND = "journal.jsonl", "trials.beyond"
TRIALS, BASELINE_FILE = "trials.jsonl", "baseline.json"
CERTIFICATE, VALIDATION = "certificate.json", "validation.jsonl"
LEARNED, LIVE = "learned.z", "live.json"

#: says what a study of kind stack is, in its directory, which has a journal and other files
STACK = "stack.json"

#: parts that grow line by line
GROWING: Final = (JOURNAL, TRIALS, BEYOND)

#: bytes of a part that does not grow line by line; snapshots of 100,000 boxes have some MB
MOST_BYTES: Final = 256 * 2**20


class Parts(Protocol):
    """The parts of one study, opened by the one process that may write them.

    Its methods raise :class:`archloom.studies.errors.TroubleError` if a part cannot be written, or
    if another process has taken the study over.
    """

    @property
    def notes(self) -> list[str]:
        """What was mended on opening, for people."""

    def open_journal(self, check: Callable[[Sequence["Event"]], None]) -> list["Event"]:
        """Return every event so far, after ``check`` has not refused them.

        Raises:
            UserError: the journal is damaged; nothing was changed.
        """

    def append(self, event: "Event") -> None:
        """Add an event to the journal; it is safe when this returns."""

    def publish(self, lines: Sequence[bytes]) -> None:
        """Let these be the next lines of the trials; what stands there already stays."""

    def settle(self) -> None:
        """Move lines of the trials behind all that was published to where they are kept."""

    def read(self, name: str) -> bytes | None:
        """Return a part; None if there is none."""

    def put(self, name: str, data: bytes) -> None:
        """Write a part as a whole."""

    def tell(self, data: bytes | None) -> None:
        """Write what is done right now, or that nothing is; it may fail without a word."""

    def close(self) -> None:
        """Let another process write."""
