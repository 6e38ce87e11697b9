"""Protocol of hardware optimizers: designs are proposed, and observations told."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

from archloom.space.design_space import Point

if TYPE_CHECKING:
    from .problem import DesignProblem


@dataclass(frozen=True, slots=True)
class Observation:
    """What one finished trial taught.

    Attributes:
        point: the hardware point.
        values: best cost found for each objective of the study (:mod:`archloom.search.objectives`);
            None if the trial ended without them (infeasible, or it crashed).
        evaluations: fusion plans that were priced for it; a trial that was stopped early has
            fewer than the others, and costs that more search would have lowered.
        failure: name of the rule that no software could keep; None if there was none.
        excess: ln(cost / limit) for each limit of the study, above 0 where it is not kept; empty
            without ``values``.
        others: costs of other software of the design, each of which keeps every limit; where there
            are none, ``values`` are all that was found.
    """

    point: Point
    values: tuple[float, ...] | None
    evaluations: int
    failure: str | None = None
    excess: tuple[float, ...] = ()
    others: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.values is not None and not all(isfinite(v) and v > 0 for v in self.values):
            raise ValueError(f"values are {self.values}, must be positive and finite, or None")
        if not all(map(isfinite, self.excess)):
            raise ValueError(f"excess is {self.excess}, must be finite")

    @property
    def kept(self) -> bool:
        """Whether there are values, and every limit is kept."""
        return self.values is not None and all(e <= 0 for e in self.excess)


class HardwareOptimizer(Protocol):
    """Proposes hardware points; is told what became of them.

    ``ask`` is a pure function of what was told before, of ``pending`` and of the seed that
    the optimizer was made with; so replaying a log rebuilds the optimizer exactly.
    """

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points, none told before or pending, none twice.

        Fewer (perhaps none) means that the space has no more feasible points, or that the optimizer
        knows none that bounds do not exclude.
        """
        ...

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials, in the order in which they were asked."""
        ...


class OptimizerFactory(Protocol):
    """Makes an optimizer; what is registered as one."""

    def __call__(self, problem: "DesignProblem", seed: int, /, **options: Any) -> HardwareOptimizer:
        """Return an optimizer of a problem; equal seeds and options give equal ones."""
        ...
