"""What an exact mapping search knows: the best mapping, a bound, and how the two came about."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, TypeAlias

import numpy as np

from ..evaluators.words import Float, Int
from ..space.mapping import Mapping
from .exact_frame import Flags


@dataclass(frozen=True)
class Found:
    """A mapping as the kernel reads it, its score (ln), and energy and cycles from it.

    ``across[L, 2, 8]`` are the orders of its unrolled loops.
    """

    loops: Int
    keep: Flags
    across: Int
    score: float
    energy_pj: float
    cycles: float

    @property
    def mapping(self) -> Mapping:
        """The mapping as reports hold it."""
        pairs = zip(self.loops, self.keep, strict=True)
        plain = Mapping.from_rows([[v[0], v[3], v[1], v[2], k] for v, k in pairs])
        return Mapping(
            tuple(
                replace(level, order_x=tuple(x), order_y=tuple(y))
                for level, (x, y) in zip(plain.levels, self.across.tolist(), strict=True)
            )
        )


@dataclass(frozen=True)
class Progress:
    """Where a search stands: reported whenever its best mapping or its bound gets better.

    Attributes:
        evaluations: as of :class:`Proof`, spent so far.
        score, energy_pj, cycles: of the best mapping so far; infinite before there is one.
        bound: no mapping has a lower score; minus infinity if nothing is known.
    """

    evaluations: int
    score: float
    bound: float
    energy_pj: float
    cycles: float


def progress_of(evaluations: int, best: Found | None, bound: float) -> Progress:
    """Return where a search stands."""
    if best is None:
        return Progress(evaluations, inf, bound, inf, inf)
    return Progress(evaluations, best.score, min(bound, best.score), best.energy_pj, best.cycles)


#: what is told of progress, and called between compiled parts of a search
Watch: TypeAlias = Callable[[Progress], None]


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


def ln_score(weights: tuple[float, float], energy_pj: float, cycles: float) -> float:
    """Ln of one objective, as :func:`ln_scores`, in a tenth of the time."""
    pairs = zip(weights, (energy_pj, cycles), strict=True)
    return sum(weight * (log(value) if value > 0 else -inf) for weight, value in pairs if weight)


def ln_scores(weights: Float, energy_pj: Any, cycles: Any) -> Any:
    """Ln of objectives, of numbers or arrays: minus infinity where what has a weight is nothing."""
    pairs = zip(weights, (energy_pj, cycles), strict=True)
    with np.errstate(divide="ignore"):
        return sum(weight * np.log(value) for weight, value in pairs if weight)
