"""Protocol of weaving schedulers."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from archloom.evaluators.weaving import Ticks

from .result import Stream, Woven


class Weaver(Protocol):
    """Decides in which order the layers of several chains run.

    Results depend on the arguments alone: limits are counts, never times.
    """

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return a schedule of one query of each chain, with bounds on all of them."""
        ...

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return a schedule of endless queries, with the bound on their throughput."""
        ...


WeaverFactory: TypeAlias = Callable[..., Weaver]
