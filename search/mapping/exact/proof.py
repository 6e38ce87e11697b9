"""What an exact mapping search knows: the best mapping, a bound, and how the two came about."""

from dataclasses import dataclass
from math import exp, inf

from archloom.evaluators.loopnest import DRAM_ROWS, NO_FILL, MappingProblem

from ..protocol import Found


def covered(problem: MappingProblem) -> bool:
    """Whether the search can prove anything: array fill is not in its closed form, nor are rows and
    banks of DRAM.
    """
    setup = problem.setup
    return setup.fill_drain == NO_FILL and not (setup.extras or 0) & DRAM_ROWS


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
