"""Parametric search for the least product of two linear costs, by minimising weighted sums.

Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared
databases" (JACM 1976): each weighted sum finds a vertex of the lower convex hull of the costs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HullVertex(Generic[T]):
    """An answer on the lower convex hull of the costs, and its two costs, both above 0."""

    answer: T
    first: float
    second: float

    @property
    def product(self) -> float:
        """What is minimised."""
        return self.first * self.second


def least_product(
    solve: Callable[[float, float], HullVertex[T]], tolerance: float = 1e-9
) -> HullVertex[T]:
    """Return the answer whose costs have the least product.

    The product of two positive costs is quasi-concave: over any polygon it is least at a corner.
    So the best of finitely many answers lies on the lower convex hull of their costs, where each
    corner minimises some weighted sum. Between two neighbours all answers lie in the triangle
    that they form with the point where their supporting lines meet; where not even that point is
    better than the best known, nothing is looked for.

    Args:
        solve: returns an answer that minimises ``a * first + b * second`` for weights (a, b).
        tolerance: relative difference of sums, and of products, that does not count.
    """
    left, right = solve(0.0, 1.0), solve(1.0, 0.0)
    best = min(left, right, key=lambda hull_vertex: hull_vertex.product)
    # neighbours on the hull, each with the weights whose sum it minimises
    pairs = [(left, (0.0, 1.0), right, (1.0, 0.0))]
    while pairs:
        low, along, high, across = pairs.pop()
        # the sum that both have the same of
        slope = (high.second - low.second, low.first - high.first)
        if min(slope) <= 0:
            continue
        if _meeting(low, along, high, across) >= best.product * (1 - tolerance):
            continue
        found = solve(*slope)
        best = min(best, found, key=lambda hull_vertex: hull_vertex.product)
        reached = slope[0] * low.first + slope[1] * low.second
        if slope[0] * found.first + slope[1] * found.second < reached * (1 - tolerance):
            pairs += [(low, along, found, slope), (found, slope, high, across)]
    return best


def _meeting(
    one: HullVertex[T],
    weights: tuple[float, float],
    other: HullVertex[T],
    others: tuple[float, float],
) -> float:
    """The product at the point where two supporting lines meet."""
    (a, b), (c, d) = weights, others
    p = a * one.first + b * one.second
    q = c * other.first + d * other.second
    determinant = a * d - b * c
    return (p * d - b * q) / determinant * ((a * q - c * p) / determinant)
