"""Ray and its workers, for one study, or for several that run one after the other."""

from types import TracebackType
from typing import Self

from archloom.studies.storage import tell

from .cluster import connect
from .crew import Crew


class RaySession:
    """Ray as an executor needs it; a context manager that ends it.

    Executors that share a session find Ray and its workers started, if they want as many in the
    same place, and leave them to the next. Who made the session ends it.

    Attributes:
        connected: whether there may be processes to end.
        crew: the workers; None until somebody has made them.
    """

    def __init__(self) -> None:
        self.connected = False
        self.crew: Crew | None = None
        self._place: tuple[str | None, int | None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def fits(self, address: str | None, workers: int | None) -> bool:
        """Return whether what is started is what somebody wants."""
        return self.connected and self._place == (address, workers)

    def connect(self, address: str | None, workers: int | None, cores: int, start_s: float) -> None:
        """Start Ray, or join a cluster, instead of what is started and does not fit.

        Args:
            address: of the cluster; None for this machine.
            workers: that are wanted; None for all that there is room for.
            cores: that there is to be room for on this machine.
            start_s: seconds that this may take.

        Raises:
            TroubleError: Ray does not start, or the cluster refuses.
        """
        self.close()
        # from here on there may be processes to end; what is half started fits nobody
        self.connected = True
        connect(address, cores, start_s)
        self._place = (address, workers)
        tell("ray_started", address=address or "local")

    def close(self) -> None:
        """End Ray, or leave the cluster."""
        if not self.connected:
            return
        import ray

        self.connected, self.crew, self._place = False, None, None
        ray.shutdown()
        tell("ray_ended")
