"""What optimizer and certificate learn from a study's past, once somebody needs them.

A study that goes on has told them everything before. To tell it again takes as long as it did, and
of a study that has ended nobody asks them anything: they hear of the past when the next designs are
to be proposed, or when the certificate is not the one that the journal tells of. Most of it is
working bounds out, and what came of that is kept in snapshots: whoever goes on from one gets
exactly what learning everything again would give.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Final

from archloom.space.design_space import Point
from archloom.studies.storage import Asked, Trial

from .proposals import Proposals

if TYPE_CHECKING:
    from archloom.search.hardware.certify import Certificate, LastEffort

#: CPU seconds of learning after which a snapshot is worth its writing.
WORTH_KEEPING_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was learned before a proposal.

    Attributes:
        asked: proposals before it.
        state: of :meth:`Proposals.state`.
    """

    asked: int
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Proposed:
    """What came of a proposal.

    Attributes:
        asked: what was proposed.
        certificate: what was proven before it was; None if nobody asked, or nothing is.
        snapshot: what was learned before; None if the last one is as good.
        seconds, cpu_seconds: that the proposal took, without learning.
        learning_cpu_seconds: that it took to learn from what had ended since the one before.
    """

    asked: Asked
    certificate: "Certificate | None"
    snapshot: Snapshot | None
    seconds: float
    cpu_seconds: float
    learning_cpu_seconds: float


@dataclass(frozen=True, slots=True)
class _Past:
    """A proposal of before: the trials that had ended since the one before it, and what it was."""

    ended: Sequence[Trial]
    n: int
    pending: Sequence[Point]
    asked: Asked


class Learning:
    """Optimizer and certificate, and what they have not heard of yet.

    Trials that ended between two proposals are told at once, in the order of their numbers.

    Args:
        make: the study's proposals, before any was proposed.
        newest: returns the newest snapshot of a process before this one, if there is one.

    Attributes:
        asked: proposals so far.
        trials: that ended.
    """

    def __init__(
        self, make: Callable[[], Proposals], newest: Callable[[], Snapshot | None] = lambda: None
    ) -> None:
        self._make = make
        self._proposals = make()
        self._newest_snapshot = newest
        self._past: list[_Past] = []
        self._since: list[Trial] = []
        self._newest = -1
        self._unkept_s = 0.0
        self.asked = 0
        self.trials = 0

    @property
    def certificate_number(self) -> int:
        """Number of the certificate that knows all trials that ended: that of the last proposal
        before the last of them ended. Below 0 before one has."""
        return self.asked - 1 if self._since else self._newest

    def ended(self, trials: Sequence[Trial]) -> None:
        """Take note of trials that ended."""
        self.trials += len(trials)
        self._since += map(self._proposals.needed, trials)

    def asked_before(self, n: int, pending: Sequence[Point], asked: Asked) -> None:
        """Take note that designs were proposed before; see :meth:`propose`."""
        self._past.append(_Past(self._group(), n, pending, asked))
        self.asked += 1

    def propose(
        self, n: int, first: Sequence[Point], pending: Sequence[Point], certify: bool
    ) -> Proposed:
        """Return up to ``n`` designs to run, once everything is learned; this takes its time.

        Args:
            n: how many.
            first: designs that somebody wants to run, whatever bounds say.
            pending: designs that were proposed and have not ended.
            certify: whether a certificate is wanted as well.
        """
        told = thread_time()
        self._tell()
        certificate = self._proposals.certificate() if certify else None
        snapshot = self._snapshot()
        self.asked += 1
        began, cpu_began = perf_counter(), thread_time()
        asked = self._proposals.next(n, first, pending)
        _give_memory_back()
        taken = (perf_counter() - began, thread_time() - cpu_began, cpu_began - told)
        return Proposed(asked, certificate, snapshot, *taken)

    def certificate(
        self, effort: "LastEffort", told: Callable[[int], None] = lambda _: None
    ) -> "Certificate | None":
        """Return what is proven in the end, once everything is learned; None if nothing is.

        ``told`` hears of steps of the work that the effort asks for.
        """
        self._tell()
        return self._proposals.last_certificate(effort, told)

    def _snapshot(self) -> Snapshot | None:
        if self._unkept_s < WORTH_KEEPING_S:
            return None
        self._unkept_s = 0.0
        return Snapshot(self.asked, self._proposals.state())

    def _group(self) -> list[Trial]:
        self._newest = self.certificate_number
        group, self._since = sorted(self._since, key=lambda trial: trial.number), []
        return group

    def _tell(self) -> None:
        began = thread_time()
        newest = self._remember() if self._past else False
        if group := self._group():
            self._proposals.tell(group)
        if newest:
            self._proposals.catch_up()
        self._unkept_s += thread_time() - began

    def _remember(self) -> bool:
        """Tell the past, from the newest snapshot on; return whether that knows what ended since
        as well: the proposal that it was made before is to be made again."""
        snapshot, proposals = self._restored(), len(self._past)
        for number, past in enumerate(self._past):
            if past.ended:
                self._proposals.tell(past.ended)
            if number == snapshot:
                self._proposals.catch_up()
            self._proposals.again(past.n, past.pending, past.asked)
        self._past.clear()
        return snapshot == proposals

    def _restored(self) -> int | None:
        """Take up the newest snapshot; return how many proposals were before it, if it is one."""
        found = self._newest_snapshot()
        if found is None or not 0 <= found.asked <= len(self._past):
            return None
        try:
            self._proposals.restore(found.state)
        except (KeyError, ValueError, TypeError, IndexError):
            # not as archloom wrote it: everything is learned again
            self._proposals = self._make()
            return None
        return found.asked


def _give_memory_back() -> None:
    """Give the system back what was needed for a moment: glibc keeps it, scattered over its heaps,
    and a study of thousands of trials would seem to grow by it."""
    libc = ctypes.CDLL(None)
    # other systems have other libraries
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
