"""Cases that several tests of the loop-nest kernel go through."""

import pytest

from archloom.evaluators.loopnest.kernel import VALID

from ...cases.mapped_layers import drawn
from ...cases.sweeps import sweep
from ...oracles.compared import closed


@pytest.fixture(scope="session", params=sweep(range(4), 1))
def cases(request):
    """Random cases that are valid."""
    every = (drawn(3, number) for number in range(request.param, 260, 4))
    return [c for c in every if closed(c.problem, c.mapping).status == VALID]
