"""What optimizer and certificate learn from a study's past, once somebody needs them.

A study that goes on has told them everything before. To tell it again takes as long as it did, and
of a study that has ended nobody asks them anything: they hear of the past when the next designs are
to be proposed, or when the certificate is not the one that the journal tells of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from archloom.space.design_space import Point
from archloom.studies.storage import Trial

from .proposals import Proposals

if TYPE_CHECKING:
    from archloom.search.hardware.certify import Certificate


@dataclass(frozen=True, slots=True)
class Proposed:
    """Designs that were proposed.

    Attributes:
        points: to be run.
        refused: not to be run.
        certificate: what was proven before they were proposed; None if nobody asked, or nothing is.
        seconds, cpu_seconds: that the proposal took, without learning.
        learning_seconds: that it took to learn from what had ended since the one before.
    """

    points: list[Point]
    refused: list[Point]
    certificate: "Certificate | None"
    seconds: float
    cpu_seconds: float
    learning_seconds: float


class Learning:
    """Optimizer and certificate, and what they have not heard of yet.

    Trials that ended between two proposals are told at once, in the order of their numbers.

    Args:
        make: the study's proposals, before any was proposed.

    Attributes:
        asked: proposals so far.
        trials: that ended.
    """

    def __init__(self, make: Callable[[], Proposals]) -> None:
        self._proposals = make()
        self._untold: list[tuple[Sequence[Trial], Sequence[Point]]] = []
        self._since: list[Trial] = []
        self._newest = -1
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
        self._since += trials

    def asked_before(self, refused: Sequence[Point]) -> None:
        """Take note that designs were proposed before, by what was not to be run of them."""
        self._untold.append((self._group(), refused))
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
        told = perf_counter()
        self._tell()
        certificate = self._proposals.certificate() if certify else None
        self.asked += 1
        began, cpu_began = perf_counter(), thread_time()
        points, refused = self._proposals.next(n, first, pending)
        taken = (perf_counter() - began, thread_time() - cpu_began, began - told)
        return Proposed(points, refused, certificate, *taken)

    def certificate(self) -> "Certificate | None":
        """Return what is proven, once everything is learned; None if nothing is."""
        self._tell()
        return self._proposals.certificate()

    def _group(self) -> list[Trial]:
        self._newest = self.certificate_number
        group, self._since = sorted(self._since, key=lambda trial: trial.number), []
        return group

    def _tell(self) -> None:
        for trials, refused in [*self._untold, (self._group(), ())]:
            if trials:
                self._proposals.tell(trials)
            self._proposals.refuse(refused)
        self._untold.clear()
