"""Partitioning of the non-dominated region into cells for BoTorch's acquisition functions."""

from functools import cache
from typing import Any

import numpy as np

from .box_decomposition import DominatedRegion


@cache
def cell_partitioning() -> type[Any]:
    """Return a partitioning that takes the place of BoTorch's own, with the same cells.

    That one loops over a front for seconds where it has a hundred members. The cells are those of
    two runs of the algorithm in :mod:`.box_decomposition`, as Yang et al. do it, "Efficient
    computation of expected hypervolume improvement using box decomposition algorithms" (2019): what
    the local upper bounds of the front dominate when objectives are turned round is what the front
    does not dominate. BoTorch maximises objectives.
    """
    import torch
    from botorch.utils.multi_objective.box_decompositions.non_dominated import (
        FastNondominatedPartitioning,
    )

    class Cells(FastNondominatedPartitioning):
        def _partition_space(self) -> None:
            front, reference = self._neg_pareto_Y.numpy(), -self.ref_point.numpy()
            beyond = np.full(len(reference), np.inf)
            boxes = DominatedRegion.of(-DominatedRegion.of(front, reference).bounds, beyond).boxes()
            self.hypercell_bounds = torch.from_numpy(np.stack([boxes.low, boxes.high]))

    return Cells
