"""Weavers that search whole schedules, with proofs."""

from archloom.evaluators.weaving import Ticks

from .certify import EFFORT, certified, narrow_beam
from .plan import planned
from .result import Stream, Woven, stream_limits


class Beam:
    """The rules, and one beam; streams repeat a plan that it weaves.

    Args:
        width: states of a level that go on.
    """

    def __init__(self, *, width: int = 4) -> None:
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        self._width = width

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the best of the rules and of the beam, and its bound."""
        return narrow_beam(work, self._width, seed)

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream that repeats a plan."""
        return planned(work, stream_limits(work), (self._width,), seed)


class Exact:
    """Beams and relaxed diagrams until bound and schedule meet.

    Args:
        effort: states and comparisons after which it gives up, and returns the gap that is left.
    """

    def __init__(self, *, effort: int = EFFORT) -> None:
        if effort < 1:
            raise ValueError(f"effort must be at least 1, got {effort}")
        self._effort = effort

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the best schedule that is found, and its bound."""
        return certified(work, seed, self._effort)

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream that repeats a plan, woven until it is near its bound."""
        return planned(work, stream_limits(work), (4, 32), seed)
