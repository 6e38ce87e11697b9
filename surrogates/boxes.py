"""The region that a front dominates, cut into boxes.

All objectives are minimised. The method is that of Lacour, Klamroth and Fonseca, "A box
decomposition algorithm to compute the hypervolume indicator" (2017): one box for each local
upper bound of the front, found by adding the members one by one. For three objectives and n
members there are at most 2n + 1 boxes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Disjoint boxes that fill the dominated region below a reference.

    Attributes:
        low, high: [k, m] corners; every box has a volume.
    """

    low: Array
    high: Array


@dataclass(frozen=True, slots=True)
class _Corners:
    """Local upper bounds [k, m], and their defining points [k, m, m].

    Point ``j`` of a bound has the bound's own value in objective ``j``.
    """

    bounds: Array
    defining: Array

    def cut(self, member: Array) -> "_Corners":
        """Return the corners after a member was added (Lacour et al., algorithm 2)."""
        m = len(member)
        inside = (member < self.bounds).all(axis=1)
        bounds, defining = [self.bounds[~inside]], [self.defining[~inside]]
        above, points = self.bounds[inside], self.defining[inside]
        for j in range(m):
            others = np.delete(points[:, :, j], j, axis=1)
            valid = (others <= member[j]).all(axis=1)
            moved, by = above[valid].copy(), points[valid].copy()
            moved[:, j] = member[j]
            by[:, j, :] = member
            bounds.append(moved)
            defining.append(by)
        return _Corners(np.concatenate(bounds), np.concatenate(defining))


def dominated_boxes(front: Array, reference: Array) -> Boxes:
    """Return the boxes of what ``front`` [n, m] dominates below ``reference`` [m].

    Members that others dominate, and members that are not below the reference in every
    objective, change nothing.
    """
    m = len(reference)
    # point j of the first bound: the reference in objective j, below everything in the others
    start = np.where(np.eye(m, dtype=np.bool_), reference, -np.inf)
    corners = _Corners(reference[None, :].copy(), start[None, :, :])
    for member in front[(front < reference).all(axis=1)]:
        corners = corners.cut(member)
    # Lacour et al., equation 5
    low, high = corners.bounds.copy(), corners.bounds.copy()
    high[:, 0] = reference[0]
    for j in range(1, m):
        low[:, j] = corners.defining[:, :j, j].max(axis=1)
    keep = (low < high).all(axis=1)
    return Boxes(low[keep], high[keep])
