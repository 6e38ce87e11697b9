"""Iterations that cores take in turn, against lists of them."""

from collections import Counter
from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.fusion.nest.iterations.loops import turns, turns_in_order
from archloom.evaluators.fusion.nest.iterations.side_by_side import shares_in_turn
from archloom.evaluators.fusion.nest.iterations.when_used import masked_pair

from .....cases.random_nests import masked_in_turn
from .....cases.sweeps import sweep


@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 20))
def test_cores_take_every_nth_iteration(size: int, tile: int, cores: int) -> None:
    tiles = [min(tile, size - begin) for begin in range(0, size, tile)]
    found = turns_in_order(size, tile, cores)
    working = sum(part.cores for part in found)
    # as many as take turns of iterations that follow one another
    assert working == sum(part.cores for part in turns(size, tile, cores))
    assert working <= cores
    mine = [tuple(tiles[core::working]) for core in range(working)]
    expected = Counter((len(some), sum(some)) for some in mine)
    assert Counter({(p.loop.count, p.size): p.cores for p in found}) == expected
    assert max(len(some) for some in mine) == ceil(len(tiles) / cores)
    first = found[0]
    assert first.loop.count == max(part.loop.count for part in found)
    for part in found:
        np.testing.assert_array_equal(part.loop.index, first.loop.index)
        own = part.loop.index < part.loop.count
        assert int(part.loop.times[own].sum()) == part.loop.count
        assert int((part.loop.times * part.loop.tile)[own].sum()) == part.size


@pytest.mark.parametrize("seed", sweep(range(200), sample=12))
def test_tiles_of_cores_are_those_that_the_mask_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, cores = masked_in_turn(rng), int(rng.integers(2, 7))
    shares = shares_in_turn(case.group, case.nest, cores)
    pair = masked_pair(case.group)
    if pair is None or case.nest.loops[0].rank != pair[0] or shares[0].masked is None:
        # nothing is dropped, or the same tiles on all cores
        assert all(share.cells is None for share in shares)
        return
    cells = [share.cells for share in shares]
    for share, found in zip(shares, cells, strict=True):
        assert found is not None
        assert found.live is not None
        assert share.masked is not None
        np.testing.assert_array_equal(found.times, cells[0].times if cells[0] else None)
        live = share.masked.grid.live
        # in order, and none that the mask drops
        rows, keys = (found.index[at][found.live] for at in share.masked.places)
        assert live[rows, keys].all()
        others = [len(x) for k, x in enumerate(found.index) if k not in share.masked.places]
        if not others:
            # all tiles, those that stand for others as often as these are
            assert int(found.times[found.live].sum()) == int(live.sum())
            assert list(zip(rows, keys, strict=True)) == sorted(zip(rows, keys, strict=True))
    assert sum(s.cores * s.size for s in shares) == case.group.ranks.sizes[pair[0]]
