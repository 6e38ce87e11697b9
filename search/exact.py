"""The mapping that is provably the best, or the best one found with the gap that is left.

docs/exact_mapping.md has the theorems that this stands on, with proofs.
"""

from dataclasses import replace
from math import inf
from typing import Final

import numpy as np

from ..evaluators.problem import MappingProblem
from ..evaluators.setup import NO_FILL
from .exact_frame import Flags
from .exact_proof import Proof, Watch
from .exact_search import WARM_UP, Search
from .factors import least_score

#: what rounding may do to bounds of layers, relative
SLACK: Final = 1e-9


def covered(problem: MappingProblem) -> bool:
    """Whether the search can prove anything: array fill is not in its closed form."""
    return problem.setup.fill_drain == NO_FILL


def prove(
    problem: MappingProblem,
    budget: int,
    weights: tuple[float, float] | None = None,
    seed: int = 0,
    warm_up: int = WARM_UP,
    stop: Flags | None = None,
    watch: Watch | None = None,
) -> Proof:
    """Search for the mapping with the least objective, and for a proof that there is no better.

    Args:
        problem: what is mapped; factors multiply to its loop bounds exactly. Where
            :func:`covered` is false the whole budget is annealed and nothing is proven.
        budget: evaluations at most (see :class:`Proof`). A larger one never finds worse.
        weights: exponents of energy (leakage included) and of latency in the objective;
            None for the problem's own.
        seed: of the annealing that finds something to beat.
        warm_up: evaluations of that annealing.
        stop: uint8[1]; once another thread or a handler of a signal sets it, the search returns
            within milliseconds what it has found, with a bound that holds.
        watch: told whenever the best mapping or the bound gets better.

    Raises:
        MismatchError: the batch kernel prices a mapping otherwise than the search did.
    """
    setup = problem.setup
    if weights is not None:
        setup = setup._replace(weights=np.array(weights, np.float64))
    search = Search(setup, budget, seed, warm_up, stop, watch)
    found = search.run(covered(problem))
    if found.bound > -inf or not covered(problem):
        return found
    # no choice was looked at
    return replace(found, bound=min(search.score, least_score(problem, setup.weights) - SLACK))
