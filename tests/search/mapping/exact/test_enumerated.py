"""The exact mapping search on problems drawn widely, against lists made without its code."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from archloom.search.mapping.exact.spatial.unrollings import touched

from ....cases.sweeps import sweep
from ....cases.wide_problems import kinds, packed_problem, wide_problem
from ....oracles.enumerated_mappings import shared_out
from ....oracles.examined import differences

BLOCK = 6


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("block", sweep(range(8), 2))
def test_nothing_differs_from_what_all_mappings_say(block: int, rough: bool) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        assert list(differences(number, wide_problem(number, rough))) == [], number


@pytest.mark.parametrize("block", sweep(range(8), 1))
def test_packed_weights_make_no_difference_to_that(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        assert list(differences(number, packed_problem(number))) == [], number


def test_problems_are_of_every_kind() -> None:
    found = Counter(kind for n in range(48, 120) for kind in kinds(wide_problem(n)))
    assert {f"{n} levels" for n in range(1, 6)} <= set(found)
    assert {kind for kind, count in found.items() if count < 2} == set()
    assert len(found) == 27


def test_factors_are_shared_out_in_every_way() -> None:
    assert shared_out(7, 3) == [(1, 1, 7), (1, 7, 1), (7, 1, 1)]
    assert len(shared_out(12, 2)) == 6
    assert len(shared_out(2**31 - 1, 9)) == 9


def test_rows_that_a_layer_touches_are_counted_without_listing_them() -> None:
    rng = Random(1)
    # of a setup only what is set here counts
    setup = wide_problem(0).problem.setup
    for _ in range(200):
        for axis in range(2):
            out, kernel = rng.randint(1, 9), rng.randint(1, 9)
            stride, dilation, pad, size = (rng.randint(1, 7) for _ in range(4))
            setup.bounds[[4 + axis, 6 + axis]] = out, kernel
            setup.window[axis] = stride, dilation, pad, 4 * size
            rows = np.arange(out)[:, None] * stride + np.arange(kernel) * dilation - pad
            real = np.unique(rows[(rows >= 0) & (rows < 4 * size)])
            assert touched(setup)[axis] == len(real)
    # a hundred million rows of results take no memory
    setup.bounds[[4, 6]] = 10**8, 3
    setup.window[0] = 2, 1, 1, 2 * 10**8
    assert touched(setup)[0] == 2 * 10**8
