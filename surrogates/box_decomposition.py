"""Decomposition of the region that a front dominates into boxes.

All objectives are minimised. The method is that of Lacour, Klamroth and Fonseca, "A box
decomposition algorithm to compute the hypervolume indicator" (2017): one box for each local
upper bound of the front, found by adding the members one by one. For three objectives and n
members there are at most 2n + 1 boxes.
"""

from dataclasses import dataclass

import numpy as np

from archloom.evaluators import Floats


@dataclass(frozen=True, slots=True)
class Boxes:
    """Disjoint boxes that fill the dominated region below a reference.

    Attributes:
        low, high: [k, m] corners; every box has a volume.
    """

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class DominatedRegion:
    """The region that a front dominates below a reference, as it grows.

    Attributes:
        reference: [m].
        bounds: [k, m] local upper bounds.
        defining: [k, m, m] their defining points; point ``j`` of a bound has the bound's own
            value in objective ``j``.
    """

    reference: Floats
    bounds: Floats
    defining: Floats

    @classmethod
    def of(cls, front: Floats, reference: Floats) -> "DominatedRegion":
        """Return the region that ``front`` [n, m] dominates below ``reference`` [m].

        Members that others dominate, and members that are not below the reference in every
        objective, change nothing.
        """
        # point j of the first bound: the reference in objective j, below everything in the others
        start = np.where(np.eye(len(reference), dtype=np.bool_), reference, -np.inf)
        region = cls(reference, reference[None, :].copy(), start[None, :, :])
        for member in front[(front < reference).all(axis=1)]:
            region = region.cut(member)
        return region

    def cut(self, member: Floats) -> "DominatedRegion":
        """Return the region after a member was added (Lacour et al., algorithm 2)."""
        m = len(member)
        inside = (member < self.bounds).all(axis=1)
        bounds, defining = [self.bounds[~inside]], [self.defining[~inside]]
        above, points = self.bounds[inside], self.defining[inside]
        for j in range(m):
            others = points[:, [k for k in range(m) if k != j], j]
            valid = (others <= member[j]).all(axis=1)
            moved, by = above[valid].copy(), points[valid].copy()
            moved[:, j] = member[j]
            by[:, j, :] = member
            bounds.append(moved)
            defining.append(by)
        return DominatedRegion(self.reference, np.concatenate(bounds), np.concatenate(defining))

    def boxes(self) -> Boxes:
        """Return the boxes that fill the region."""
        # Lacour et al., equation 5
        low, high = self.bounds.copy(), self.bounds.copy()
        high[:, 0] = self.reference[0]
        for j in range(1, len(self.reference)):
            low[:, j] = self.defining[:, :j, j].max(axis=1)
        keep = (low < high).all(axis=1)
        return Boxes(low[keep], high[keep])
