"""Expected hypervolume improvement of designs of which only one objective is uncertain.

All three objectives are minimised. Two of them, area and TDP, are exact functions of the
hardware; the first, EDP, is Gaussian. Callers pass logarithms of all three, so that an
improvement of a tenth is worth the same on a small and on a large design.

For a candidate (a, t) let A(y) be the part of the rectangle from (a, t) to the reference
that no front member with a first objective of at most y dominates. A design at (z, a, t) adds
the volume of A over y from z to the reference. For Gaussian z the expectation is the integral
of A(y) P(z <= y) over y. A is a step function with steps at the members' first objectives, and
P(z <= y) is the integrand of expected improvement (Jones et al., "Efficient Global
Optimization of Expensive Black-Box Functions", 1998, equation 15), so each step has a closed
form. No sampling, and exact.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..evaluators.compiled import compiled

Array = NDArray[np.float64]


def expected_improvement(
    front: Array, reference: Array, exact: Array, mean: Array, std: Array
) -> Array:
    """Return the expected hypervolume improvement of each candidate.

    Args:
        front: [k, 3] designs known so far; they need not be mutually non-dominated.
        reference: [3]; members and candidates at or above it count for nothing.
        exact: [n, 2] known objectives of the candidates.
        mean, std: [n] Gaussian belief in the first objective; std may be 0.

    Returns:
        [n] expected volumes, at least 0.
    """
    inside = front[(front < reference).all(axis=1)]
    members = np.ascontiguousarray(inside[np.argsort(inside[:, 0], kind="stable")])
    areas = _free_areas(members, reference[1:], np.ascontiguousarray(exact))
    edges = np.append(members[:, 0], reference[0])
    below = _mean_shortfall(edges, mean, std)
    steps = np.diff(below, axis=1, prepend=0.0)
    return np.asarray(np.maximum((areas * steps).sum(axis=1), 0.0))


def _mean_shortfall(edges: Array, mean: Array, std: Array) -> Array:
    """Return E[max(y - z, 0)] for each candidate and edge: [n, k].

    It is the integral of P(z <= u) over u up to y: (y - mean) Phi(c) + std phi(c) with
    c = (y - mean) / std (Jones et al. 1998, equation 15).
    """
    gap = edges[None, :] - mean[:, None]
    spread = np.maximum(std, 1e-12)[:, None]
    c = gap / spread
    density = np.exp(-0.5 * c * c) / np.sqrt(2.0 * np.pi)
    return np.asarray(gap * ndtr(c) + spread * density)


@compiled
def _free_areas(members: Array, reference: Array, exact: Array) -> Array:
    """Return A at each step: [n, k + 1], column i with the first i members counted.

    Args:
        members: [k, 3], ascending in the first objective, all below the reference.
        reference: [2].
        exact: [n, 2].
    """
    k, n = len(members), len(exact)
    areas = np.zeros((n, k + 1))
    # The staircase of the members so far: xs ascending, ys descending.
    xs, ys, size = np.empty(k + 1), np.empty(k + 1), 0
    for step in range(k + 1):
        if step > 0:
            size = _insert(xs, ys, size, members[step - 1, 1], members[step - 1, 2])
        for i in range(n):
            a, t = exact[i, 0], exact[i, 1]
            if a >= reference[0] or t >= reference[1]:
                continue
            free = (reference[0] - a) * (reference[1] - t)
            for j in range(size):
                right = xs[j + 1] if j + 1 < size else reference[0]
                width = right - max(xs[j], a)
                if width > 0.0:
                    free -= width * (reference[1] - max(ys[j], t))
            areas[i, step] = max(free, 0.0)
    return areas


@compiled
def _insert(xs: Array, ys: Array, size: int, x: float, y: float) -> int:
    """Put (x, y) into the staircase, drop what it dominates, and return the new size."""
    for j in range(size):
        if xs[j] <= x and ys[j] <= y:
            return size
    kept = 0
    for j in range(size):
        if not (x <= xs[j] and y <= ys[j]):
            xs[kept], ys[kept] = xs[j], ys[j]
            kept += 1
    place = kept
    while place > 0 and xs[place - 1] > x:
        xs[place], ys[place] = xs[place - 1], ys[place - 1]
        place -= 1
    xs[place], ys[place] = x, y
    return kept + 1
