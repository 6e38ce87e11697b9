"""All choices of kept tensors and unrolled factors, by what their mappings cost at least."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .exact_frame import Flags, Frame
from .exact_hops import first_bounds
from .exact_proof import ln_scores

#: relative error that sums of energies in different orders may make; bounds are lowered by it
ROUNDING: Final = 1e-11


@dataclass(frozen=True)
class Choices:
    """Ways to keep tensors and to unroll loops, by what their mappings cost at least.

    Attributes:
        keeps, spreads: uint8[A, L, 3] and int64[B, L, 8].
        pairs: int64[C, 2], one of each, by ascending bound.
        bounds: float64[C], a score (ln) that no mapping of the pair is below.
    """

    keeps: Flags
    spreads: Int
    pairs: Int
    bounds: Float


@dataclass(frozen=True)
class Ceiling:
    """What a mapping must be below to count: a score (ln), and cycles that it may reach."""

    score: float
    cycles: float


def lowered(setup: Setup, energy_pj: Any, cycles: Any, leakage_pj: Any) -> Any:
    """Scores of bounds, numbers or arrays, below what rounding can do to them.

    ``leakage_pj`` is that of instances in use, in a cycle.
    """
    least = 1 - ROUNDING
    # steps are whole numbers; what ports need is a quotient
    exact = least if np.isfinite(setup.bandwidth).any() else 1.0
    with np.errstate(divide="ignore"):
        leaked = leakage_pj + setup.leakage_pj
        return ln_scores(setup.weights, least * (energy_pj + leaked * cycles), exact * cycles)


def open_choices(
    setup: Setup, frame: Frame, real: Int, keeps: Flags, spreads: Int, below: Ceiling, stop: Flags
) -> Choices:
    """Return all choices whose bounds are below the ceiling.

    ``frame`` is overwritten; once ``stop`` is set, what it returns means nothing.
    """
    bounds = np.empty((len(spreads), 3))
    parts: list[Int] = []
    scores: list[Float] = []
    for i, keep in enumerate(keeps):
        first_bounds(setup, frame, real, keep, spreads, bounds, stop)
        if stop[0]:
            break
        lowest = lowered(setup, *bounds.T)
        (open_ones,) = np.nonzero((lowest < below.score) & (bounds[:, 1] <= below.cycles))
        parts.append(np.stack([np.full(len(open_ones), i), open_ones], axis=1))
        scores.append(lowest[open_ones])
    pairs = np.concatenate([np.empty((0, 2), np.int64), *parts])
    lowest = np.concatenate([np.empty(0), *scores])
    order = np.argsort(lowest, kind="stable")
    return Choices(keeps, spreads, pairs[order], lowest[order])
