"""Expected hypervolume improvement of designs, in closed form.

All objectives are minimised and independent: each is Gaussian, or exact with a deviation of 0.
Callers pass logarithms, so that an improvement of a tenth is worth the same on a small and on a
large design.

A design at z adds the volume between z and the reference, less what the front dominates of it.
The dominated region is a set of disjoint boxes, so for independent objectives the expectation
is a sum of products of E[max(y - z, 0)], the integrand of expected improvement (Jones et al.,
"Efficient Global Optimization of Expensive Black-Box Functions", 1998, equation 15). No
sampling, and exact. The idea is that of Yang et al., "Efficient computation of expected
hypervolume improvement using box decomposition algorithms" (2019), who cut up the region that
is not dominated.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from archloom.evaluators import Floats

from .box_decomposition import DominatedRegion

#: Numbers in a matrix of designs and edges that are worked on at a time: a few of these fit a cache
#: of the first or second level, and none is memory that the system has to give anew each time.
_MOST_NUMBERS: Final = 2**13

#: Least improvement, as a share of the volume to the reference, that is more than rounding.
ROUNDING = 1e-13


def expected_improvement(dominated: DominatedRegion, mean: Floats, std: Floats) -> Floats:
    """Return the expected hypervolume improvement of each candidate.

    Args:
        dominated: the region that the front dominates, and the reference; candidates at or
            above that count for nothing.
        mean, std: [n, m] of the objectives; std is 0 where one is exact.

    Returns:
        [n] expected volumes, at least 0.
    """
    boxes = dominated.boxes()
    axes = [
        np.unique(np.concatenate([[corner], low, high]), return_inverse=True)
        for corner, low, high in zip(dominated.reference, boxes.low.T, boxes.high.T, strict=True)
    ]
    rows = max(1, _MOST_NUMBERS // max(len(edges) for edges, _ in axes))
    scores = [
        _score(axes, mean[i : i + rows], std[i : i + rows]) for i in range(0, len(mean), rows)
    ]
    return np.concatenate(scores) if scores else np.zeros(0)


def _score(axes: Sequence[tuple[Floats, NDArray[np.intp]]], mean: Floats, std: Floats) -> Floats:
    """Return the expected volumes of some candidates.

    ``axes`` has for each objective the distinct corners of the reference and of all boxes, and the
    place among them of the reference, of each box's lower, and of each box's upper corner.
    """
    whole = np.ones(len(mean))
    covered = np.ones((len(mean), len(axes[0][1]) // 2))
    for j, (edges, place) in enumerate(axes):
        below = _mean_shortfall(edges, mean[:, j], std[:, j])
        whole *= below[:, place[0]]
        low, high = np.split(place[1:], 2)
        covered *= below[:, high] - below[:, low]
    added = whole - covered.sum(axis=1)
    return np.where(added > ROUNDING * whole, added, 0.0)


def _mean_shortfall(edges: Floats, mean: Floats, std: Floats) -> Floats:
    """Return E[max(y - z, 0)] for each candidate and edge: [n, k].

    It is the integral of P(z <= u) over u up to y: (y - mean) Phi(c) + std phi(c) with
    c = (y - mean) / std (Jones et al. 1998, equation 15).
    """
    gap = edges[None, :] - mean[:, None]
    if not std.any():
        return np.asarray(np.maximum(gap, 0.0))
    spread = np.maximum(std, 1e-12)[:, None]
    c = gap / spread
    density = np.exp(-0.5 * c * c) / np.sqrt(2.0 * np.pi)
    return np.asarray(gap * ndtr(c) + spread * density)
