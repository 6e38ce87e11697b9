import numpy as np
import pytest
import torch

from archloom.surrogates.botorch_partitioning import cell_partitioning
from archloom.surrogates.gp_fit import single_threaded_torch


@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("members", [0, 1, 12])
def test_the_cells_are_botorchs(objectives: int, members: int) -> None:
    rng = np.random.default_rng(members)
    reference, found = torch.zeros(objectives), torch.from_numpy(rng.random((members, objectives)))
    with single_threaded_torch():
        from botorch.utils.multi_objective.box_decompositions.non_dominated import (
            FastNondominatedPartitioning,
        )

        ours, theirs = (
            kind(ref_point=reference.double(), Y=found).get_hypercell_bounds().numpy()
            for kind in (cell_partitioning(), FastNondominatedPartitioning)
        )
    # as rows of corners, in one order
    rows = [np.concatenate([*cells], axis=1) for cells in (ours, theirs)]
    rows = [np.array(sorted(map(tuple, some))) for some in rows]
    np.testing.assert_array_equal(*rows)
