"""What an exact mapping search knows: the best mapping, a bound, and how the two came about."""

from dataclasses import dataclass
from math import exp, inf

from archloom.evaluators.loopnest import DRAM_ROWS, NO_FILL, MappingProblem

from ..protocol import Found


def covered(problem: MappingProblem) -> bool:
    """Whether the search can prove anything: rows and banks of DRAM are not in its closed form; and
    where an array fills and words take hops, orders and axes of unrolled loops decide both.
    """
    setup = problem.setup
    if (setup.extras or 0) & DRAM_ROWS:
        return False
    hops = bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any())
    return not (hops and setup.fill_drain != NO_FILL)


@dataclass(frozen=True)
class Proof:
    """What is known of a problem after some search.

    Attributes:
        best: the best mapping found, None if none fits (or nothing was tried).
        bound: no mapping has a lower score (ln of the objective); minus infinity if nothing is
            known.
        proven: whether ``best`` is as good as any mapping, but for rounding.
        evaluations: mappings annealed, choices and tiles bounded and labels tried.
    """

    best: Found | None
    bound: float
    proven: bool
    evaluations: int

    @property
    def gap_percent(self) -> float:
        """How far above the least possible objective the best may be; 0 if proven."""
        if self.proven:
            return 0.0
        return inf if self.best is None else 100.0 * (exp(self.best.score - self.bound) - 1.0)
