"""A score that mappings need not be told apart above: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import ln_objective

from ....arrays import Floats
from ...rounding import ROUNDING

_score = helper(ln_objective)


class Limit(NamedTuple):
    """A score that others need not be told apart above.

    Attributes:
        weights: float64[2], exponents of energy and cycles.
        leakage_pj: of the chip, in a cycle.
        score: ln of the objective; infinite where everything is asked for.
    """

    weights: Floats
    leakage_pj: float
    score: float


#: asks for everything
NO_LIMIT: Final = Limit(np.ones(2), 0.0, np.inf)


@helper
def limit_pj(limit: Limit, cycles: float) -> float:
    """Return the energy, without leakage, from which on mappings of so many cycles or more have
    the score of a limit at least."""
    if limit.score == np.inf or limit.weights[0] <= 0.0:
        return np.inf
    rest = limit.score - limit.weights[1] * np.log(cycles)
    return float(max(0.0, np.exp(rest / limit.weights[0]) - limit.leakage_pj * cycles))


@helper
def least_score(limit: Limit, energy: float, cycles: float) -> float:
    """Return a score that no mapping is below which takes so much or more."""
    least = (1 - ROUNDING) * energy, np.ceil((1 - ROUNDING) * cycles)
    return float(_score(limit.weights, limit.leakage_pj, *least))


@helper
def below(limit: Limit, energy: float, cycles: float) -> bool:
    """Whether the score of a mapping that takes so much or more may be below the limit."""
    return least_score(limit, energy, cycles) < limit.score
