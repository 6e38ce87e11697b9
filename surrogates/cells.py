"""The region that a front does not dominate, as cells for BoTorch's acquisition functions."""

import numpy as np
import torch
from botorch.utils.multi_objective.box_decompositions.non_dominated import (
    FastNondominatedPartitioning,
)

from .boxes import Corners


class Cells(FastNondominatedPartitioning):
    """BoTorch's own partitioning, whose loops over a front take seconds for a hundred members.

    The cells are the same: those of two runs of the algorithm in :mod:`.boxes`, as Yang et al.
    do it, "Efficient computation of expected hypervolume improvement using box decomposition
    algorithms" (2019): what the local upper bounds of the front dominate when objectives are
    turned round is what the front does not dominate. Objectives are maximised here.
    """

    def _partition_space(self) -> None:
        front, reference = self._neg_pareto_Y.numpy(), -self.ref_point.numpy()
        beyond = np.full(len(reference), np.inf)
        boxes = Corners.of(-Corners.of(front, reference).bounds, beyond).boxes()
        self.hypercell_bounds = torch.from_numpy(np.stack([boxes.low, boxes.high]))
