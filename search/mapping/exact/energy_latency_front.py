"""All best compromises between the energy and the latency of one layer, each proven."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from archloom.evaluators import Flags
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.loopnest import MappingProblem

from ..protocol import Found, Progress, Watch
from .branch_and_bound import WARM_UP, Search
from .proof import covered


@dataclass(frozen=True)
class Front:
    """Mappings of which none is beaten in energy and in latency at once.

    Attributes:
        points: by descending cycles and ascending energy, leakage included.
        proven: whether they are all there is. If not, the budget ran out, the search was stopped
            or the problem is not covered, and faster ones may be missing.
        evaluations: as of :class:`archloom.search.mapping.exact.search.Proof`, in all.
    """

    points: tuple[Found, ...]
    proven: bool
    evaluations: int


def front(
    problem: MappingProblem,
    budget: int,
    seed: int = 0,
    stop: Flags | None = None,
    watch: Watch | None = None,
) -> Front:
    """Return the front of energy against latency.

    From the least energy on, the next point is the least energy in fewer cycles. Arguments and
    errors are those of :func:`archloom.search.mapping.exact.search.prove`; ``watch`` is told of the
    point that is looked for (ln of its energy).
    """
    setup = problem.setup._replace(weights=np.array([1.0, 0.0]))
    points: list[Found] = []
    most, spent, choices = inf, 0, None
    while covered(problem):
        warm_up = WARM_UP if most == inf else 0
        told = None if watch is None else _later(watch, spent)
        search = Search(setup, budget - spent, seed, warm_up, stop, told)
        search.most_cycles = most
        search.choices = choices
        found = search.run(True)
        choices = search.choices
        spent += found.evaluations
        if not found.proven:
            break
        if found.best is None:
            return Front(tuple(points), True, spent)
        # as little energy in fewer cycles, but for rounding, is better than the point before
        if points and found.best.score <= points[-1].score + ROUNDING:
            points.pop()
        points.append(found.best)
        most = found.best.cycles - 1
    return Front(tuple(points), False, spent)


def _later(watch: Watch, spent: int) -> Watch:
    """Count what was spent before."""

    def told(progress: Progress) -> None:
        watch(replace(progress, evaluations=progress.evaluations + spent))

    return told
