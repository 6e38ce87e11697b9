"""Which nests a layer's mapping is searched in: exact factors, padded bounds, or edge tiles."""

from dataclasses import replace
from typing import Final

from ..evaluators.layer_cost import LayerCost
from ..evaluators.padding import padded_bounds
from ..evaluators.problem import MappingProblem

#: ``exact``: factors multiply to the loop bounds. ``padded``: they multiply to padded bounds, and
#: all of that runs (FAST section 5.1). ``clipped``: either, and only the true bounds run.
FACTORS: Final = ("exact", "padded", "clipped")


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
    if factors == "clipped":
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
