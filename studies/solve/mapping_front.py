"""The best compromises between energy and latency of one mapping problem, for a picture."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, inf
from time import process_time

from archloom.evaluators.loopnest import MappingProblem
from archloom.search.mapping import Found, Progress
from archloom.search.mapping.exact import Front, front

from .deadline import deadline
from .interruptible import stoppable
from .mapping import MappingEffort, MappingProgress

#: cycles and energy (pJ, leakage included)
Point = tuple[float, float]


@dataclass(frozen=True)
class FrontFound:
    """The part of a front that was found.

    Attributes:
        points: by descending cycles.
        seen: mappings that the search came by.
        proven: whether the points are all there is.
        cpu_s: seconds of CPU time.
        interrupted: whether somebody stopped it.
    """

    points: tuple[Point, ...]
    seen: tuple[Point, ...]
    proven: bool
    cpu_s: float
    interrupted: bool

    @property
    def least_edp(self) -> Point | None:
        """The point with the least EDP; None if there are no points."""
        return min(self.points, key=lambda point: point[0] * point[1], default=None)


def find_front(
    problem: MappingProblem,
    effort: MappingEffort,
    tell: Callable[[MappingProgress], None] = lambda _: None,
) -> FrontFound:
    """Find the front within an effort; its search is always the exact one.

    A front that the effort does not suffice for begins with the least energy and ends early.
    """
    leakage = problem.setup.leakage_pj
    seen: list[Point] = []
    stands: list[MappingProgress] = []
    began = process_time()
    with deadline(effort.seconds) as stop:

        def watch(progress: Progress) -> None:
            if progress.cycles < inf:
                seen.append((progress.cycles, progress.energy_pj + leakage * progress.cycles))
            spent = process_time() - began
            bound = exp(progress.bound)
            stands.append(MappingProgress(spent, progress.evaluations, exp(progress.score), bound))

        def work() -> Front:
            plain = replace(problem, weights=(1.0, 1.0))
            return front(plain, effort.evaluations, seed=effort.seed, stop=stop, watch=watch)

        def look() -> None:
            if stands:
                tell(stands[-1])

        found, interrupted = stoppable(work, stop, look)
    points = tuple(_point(point, leakage) for point in found.points)
    others = tuple(sorted(set(seen) - set(points)))
    return FrontFound(points, others, found.proven, process_time() - began, interrupted)


def _point(found: Found, leakage_pj: float) -> Point:
    return found.cycles, found.energy_pj + leakage_pj * found.cycles
