"""Iterations of nests against a simulator that walks all of them and moves coordinates."""

from collections import Counter
from functools import reduce

import numpy as np
import pytest

from archloom.evaluators.fusion.nest import NestGroup, NestWalk

from ....cases.random_nests import random_case
from ....cases.sweeps import sweep
from ....oracles.nest_simulator import Iteration, simulate


def place_of(walk: NestWalk, index: tuple[int, ...]) -> tuple[int, ...]:
    """Return which of the iterations that are looked at stands for one."""
    places = (
        np.flatnonzero(loop.index <= i)[-1] for loop, i in zip(walk.loops, index, strict=True)
    )
    return tuple(map(int, places))


def bounds_at(group: NestGroup, walk: NestWalk, m: int) -> np.ndarray:
    """Return the tile of a member in each iteration: an axis for N, G, K, C, P and Q, the last."""
    sides = [
        np.broadcast_to(reduce(np.multiply, map(walk.tile, ranks), np.int64(1)), walk.shape)
        for ranks in group.ranks.dims[m]
    ]
    return np.stack(sides, axis=-1)


def compare_iteration(group: NestGroup, walk: NestWalk, now: Iteration) -> None:
    at, operands = place_of(walk, now.index), range(len(group.operands))
    assert now.runs == [m for m in range(len(group.layers)) if walk.runs(m)[at]], now.index
    for when, moved in ((walk.comes, now.coming), (walk.leaves, now.leaving)):
        words = {t: int(walk.tile_words(t)[at]) for t in operands if when(t)[at]}
        assert words == {t: words for t, words in moved.items() if words}, (now.index, when)
    assert int(walk.fetched[at]) == now.coming.total(), now.index
    assert int(walk.stored[at]) == now.leaving.total(), now.index
    assert walk.occupancy[(slice(None), *at)].tolist() == now.held, now.index


def compare_totals(group: NestGroup, walk: NestWalk, run) -> None:
    assert walk.count == len(run.iterations) == int(walk.times.sum())
    for moved, words in (
        (walk.fetched, run.fetched.total() + run.returned.total()),
        (walk.stored, run.left.total() + run.spilled.total()),
    ):
        assert int((moved * walk.times).sum()) == words
    for m, work in enumerate(run.work):
        tiles = Counter[tuple[int, ...]]()
        bounds = bounds_at(group, walk, m)
        for at in zip(*np.nonzero(walk.runs(m)), strict=True):
            tiles[tuple(bounds[at].tolist())] += int(walk.times[at])
        assert tiles == work.tiles, m
        made = walk.tile_words(group.made[m])
        passes = walk.passes(m)
        assert int((passes * made * walk.times).sum()) == work.passed, m
        assert int(((walk.adds(m) & ~passes) * made * walk.times).sum()) == work.reread, m
        rescaled = walk.rescales(m)
        assert int((rescaled * made * walk.times).sum()) == work.rescaled, m
        rows = made // walk.columns(m)
        assert int((rescaled * rows * walk.times).sum()) == work.rows, m


def compare(seed: int) -> None:
    case = random_case(np.random.default_rng(seed))
    group, nest = case.group, case.nest
    held = {0} if seed % 4 == 0 and group.operands[0].kind == "read" else set()
    walk, run = NestWalk(group, nest, frozenset(held)), simulate(group, nest, held)
    for now in run.iterations:
        compare_iteration(group, walk, now)
    compare_totals(group, walk, run)


@pytest.mark.parametrize("seed", sweep(range(2000), sample=50))
def test_what_runs_and_moves_is_what_a_simulator_finds(seed: int) -> None:
    compare(seed)
