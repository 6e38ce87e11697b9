"""Which nests a layer's mapping is searched in: exact factors, padded bounds, or edge tiles."""

from dataclasses import replace
from math import exp, inf, log
from typing import Final

from archloom.evaluators import Floats
from archloom.evaluators.bounds import least_costs
from archloom.evaluators.loopnest import LayerCost, MappingProblem, padded_bounds

from .objectives import ln_scores

#: ``exact``: factors multiply to the loop bounds. ``padded``: they multiply to padded bounds, and
#: all of that runs (FAST section 5.1). ``imperfect``: either, and only the true bounds run.
FACTORS: Final = ("exact", "padded", "imperfect")


def nests(problem: MappingProblem, factors: str) -> tuple[MappingProblem, ...]:
    """Return the problems that are searched for the best mapping of one, the exact one first."""
    if factors == "exact":
        return (problem,)
    bounds = padded_bounds(problem)
    if bounds == problem.bounds:
        return (problem,)
    if factors == "padded":
        return (replace(problem, bounds=bounds),)
    return (problem, replace(problem, loop_bounds=bounds))


def nest_of(problem: MappingProblem, covered: tuple[int, ...], factors: str) -> MappingProblem:
    """Return the problem that prices a mapping which was found for ``problem``.

    Args:
        problem: with the layer's own bounds.
        covered: what the mapping's factors multiply to.
        factors: as it was searched.
    """
    if factors == "padded":
        return replace(problem, bounds=covered)
    if factors == "imperfect":
        return replace(problem, loop_bounds=covered)
    return problem


def shares(evaluations: int, nests: int) -> list[int]:
    """Return the mappings to try in each nest: equal parts, the first ones taking what is left."""
    each, rest = divmod(evaluations, nests)
    return [each + (i < rest) for i in range(nests)]


def objective(problem: MappingProblem, cost: LayerCost) -> float:
    """Return what the search minimises: energy and latency to the powers of the setup."""
    setup, cycles = problem.setup, cost.latency_cycles
    energy = cost.dynamic_pj + setup.leakage_pj * cycles
    return float(energy ** setup.weights[0] * cycles ** setup.weights[1])


def least_score(problem: MappingProblem, weights: Floats | None = None) -> float:
    """Return a score (ln of the objective) that no mapping is below, whatever its factors cover.

    docs/explanation/bounds.md proves it for tiles that are cut at the bounds, and no nest of which
    more runs costs less. Minus infinity where something with a weight may cost nothing. ``weights``
    are exponents of energy and latency, None for the problem's own.
    """
    (energy_pj, cycles), setup = least_costs(problem), problem.setup
    exponents = setup.weights if weights is None else weights
    return float(ln_scores(exponents, energy_pj + setup.leakage_pj * cycles, cycles))


def gap_percent(problem: MappingProblem, cost: LayerCost) -> float:
    """Return how far a cost is at most above that of any mapping, whatever its factors cover."""
    value, least = objective(problem, cost), least_score(problem)
    if value <= 0:
        return 0.0
    return inf if least == -inf else max(0.0, 100.0 * (exp(log(value) - least) - 1.0))
