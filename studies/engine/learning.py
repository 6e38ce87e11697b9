"""What optimizer and certificate learn from a study's past, once somebody needs them.

A study that goes on has told them everything before. To tell it again takes as long as it did, and
of a study that has ended nobody asks them anything: they hear of the past when the next designs are
to be proposed, or when the certificate is not the one that the journal tells of.
"""

from collections.abc import Callable, Sequence

from archloom.space.design_space import Point
from archloom.studies.storage import History, Store, Trial

from .progress import Stages
from .proposals import Proposals


class Learning:
    """Optimizer and certificate, and what they have not heard of yet.

    Args:
        make: the study's proposals, before any was proposed.
        store: gets the certificate.
        history: knows which certificate there was.
        stages: hears of what takes time.
    """

    def __init__(
        self, make: Callable[[], Proposals], store: Store, history: History, stages: Stages
    ) -> None:
        self._proposals = make()
        self._store = store
        self._history = history
        self._stages = stages
        self._batch = -1
        self._trials = 0
        self._untold: list[tuple[Sequence[Point], Sequence[Trial]]] = []

    def refused(self, points: Sequence[Point]) -> None:
        """Take note of designs that were proposed before, and are not run."""
        if points:
            self._untold.append((points, ()))

    def ended(self, batch: int, trials: Sequence[Trial]) -> None:
        """Take note of the trials of a batch."""
        self._batch = batch
        self._trials += len(trials)
        self._untold.append(((), trials))

    def proposals(self) -> Proposals:
        """Return where designs come from, once it has heard of everything."""
        if self._untold:
            self._stages.begin(f"learning from {self._trials} trials, bounding the others")
            for points, trials in self._untold:
                self._proposals.refuse(points)
                if trials:
                    self._proposals.tell(trials)
            self._untold.clear()
            self._stages.end()
        return self._proposals

    def certified(self) -> float | None:
        """Publish what is proven of the front by now; return the share of the hypervolume.

        None if nothing is. It is the certificate of before if that is still there as it was.
        """
        noted = self._history.certificate(self._batch)
        if noted is not None and noted.digest == self._store.certificate_digest():
            return noted.share
        certificate = self.proposals().certificate()
        if certificate is None:
            return None
        digest = self._store.publish_certificate(certificate)
        self._history.certified(self._batch, digest, certificate.share)
        return certificate.share
