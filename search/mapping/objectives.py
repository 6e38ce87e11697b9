"""The logarithm of the mapping objective, and the slack of its rounding."""

from math import inf, log
from typing import Any, Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import KernelInputs, ln_objective

#: error of scores, and relative error of energies and cycles that are worked out of scores:
#: logarithms and exponentials lose more than sums do
SCORE_ROUNDING: Final = 1e-9

#: as a part of kernels; unlike :func:`score_of`, both weights take their logarithms
score_in_batch = helper(ln_objective)


def lowered(setup: KernelInputs, energy_pj: Any, cycles: Any, leakage_pj: Any) -> Any:
    """Scores of bounds, numbers or arrays, below what rounding can do to them.

    ``leakage_pj`` is that of instances in use, in a cycle.
    """
    least = 1 - ROUNDING
    # steps are whole numbers; what ports need is a quotient
    exact = least if np.isfinite(setup.bandwidth).any() else 1.0
    leaked = leakage_pj + setup.leakage_pj
    return ln_scores(setup.weights, least * (energy_pj + leaked * cycles), exact * cycles)


@helper
def score_of(setup: KernelInputs, energy: float, cycles: float, leakage: float) -> float:
    """Ln of the objective."""
    score = 0.0
    if setup.weights[0] > 0:
        score += setup.weights[0] * np.log(energy + leakage * cycles)
    if setup.weights[1] > 0:
        score += setup.weights[1] * np.log(cycles)
    return score


def ln_score(weights: tuple[float, float], energy_pj: float, cycles: float) -> float:
    """Ln of one objective, as :func:`ln_scores`, in a tenth of the time."""
    pairs = zip(weights, (energy_pj, cycles), strict=True)
    return sum(weight * (log(value) if value > 0 else -inf) for weight, value in pairs if weight)


def ln_scores(weights: Floats, energy_pj: Any, cycles: Any) -> Any:
    """Ln of objectives, of numbers or arrays: minus infinity where what has a weight is nothing."""
    pairs = zip(weights, (energy_pj, cycles), strict=True)
    with np.errstate(divide="ignore"):
        return sum(weight * np.log(value) for weight, value in pairs if weight)
