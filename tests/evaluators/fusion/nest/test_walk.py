"""Iterations of nests against a simulator that walks all of them and moves coordinates."""

from collections import Counter
from functools import reduce

import numpy as np
import pytest

from archloom.evaluators.fusion.nest import (
    NestGroup,
    NestWalk,
    Unfolded,
    group_ranks,
    nest_group,
)
from archloom.space.fusion import NestLoop
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder

from ....cases.random_nests import NestCase, masked_case, random_case, random_depths
from ....cases.sweeps import sweep
from ....oracles.nest_simulator import Run, simulate


def place_of(walk: NestWalk, index: tuple[int, ...]) -> tuple[int, ...]:
    """Return which of the iterations that are looked at stands for one."""
    places = (
        np.flatnonzero(loop.index <= i)[-1] for loop, i in zip(walk.loops, index, strict=True)
    )
    return tuple(map(int, places))


def places_of(walk: NestWalk, run: Run) -> list[tuple[int, ...]]:
    """Return which of the iterations that are looked at stands for each, one after another."""
    if walk.masked is None:
        return [place_of(walk, now.index) for now in run.iterations]
    return [(int(cell),) for cell in Unfolded(walk, walk.count).cells(0, walk.count)]


def bounds_at(group: NestGroup, walk: NestWalk, m: int) -> np.ndarray:
    """Return the tile of a member in each iteration: an axis for N, G, K, C, P and Q, the last."""
    sides = [
        np.broadcast_to(reduce(np.multiply, map(walk.tile, ranks), np.int64(1)), walk.shape)
        for ranks in group.ranks.dims[m]
    ]
    return np.stack(sides, axis=-1)


def compare_iterations(group: NestGroup, walk: NestWalk, run: Run) -> None:
    operands, members = range(len(group.operands)), range(len(group.layers))
    runs = [walk.runs(m) for m in members]
    words = [walk.tile_words(t) for t in operands]
    moves = [[when(t) for t in operands] for when in (walk.comes, walk.leaves)]
    for now, at in zip(run.iterations, places_of(walk, run), strict=True):
        assert now.runs == [m for m in members if runs[m][at]], now.index
        for moved, expected in zip(moves, (now.coming, now.leaving), strict=True):
            found = {t: int(words[t][at]) for t in operands if moved[t][at]}
            assert found == {t: count for t, count in expected.items() if count}, now.index
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


def compare(seed: int, case: NestCase) -> NestWalk:
    group, nest = case.group, case.nest
    held = {0} if seed % 4 == 0 and group.operands[0].kind == "read" else set()
    walk = NestWalk(group, nest, frozenset(held))
    run = simulate(group, nest, held, skips=walk.masked is not None)
    compare_iterations(group, walk, run)
    compare_totals(group, walk, run)
    return walk


@pytest.mark.parametrize("seed", sweep(range(2000), sample=50))
def test_what_runs_and_moves_is_what_a_simulator_finds(seed: int) -> None:
    compare(seed, random_case(np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("seed", "most"), sweep([(i, 9 + i % 3 * 10) for i in range(900)], sample=30)
)
def test_tiles_that_a_mask_drops_neither_run_nor_move_anything(seed: int, most: int) -> None:
    compare(seed, masked_case(np.random.default_rng(seed), most))


@pytest.mark.parametrize("window", [0, 5])
@pytest.mark.parametrize(("tile", "tile_keys"), [(2, 2), (4, 2), (2, 3)])
@pytest.mark.parametrize("outer", ["queries", "keys"])
def test_of_many_rows_of_tiles_those_that_differ_are_looked_at(
    outer: str, tile: int, tile_keys: int, window: int
) -> None:
    builder, sees, heads = SequenceBuilder(), Causal(window), Heads(1, 2)
    query, key, value = (builder.input(name, 2, 40) for name in ("query", "key", "value"))
    scores = builder.scores("scores", heads, query, key, sees=sees)
    builder.weigh("weigh", heads, scores, value, sees=sees)
    network, members = builder.network("attention"), (0, 1, 2)
    ranks = group_ranks(network, members)
    assert ranks is not None
    loops = [NestLoop(ranks.dims[0][4][0], tile), NestLoop(ranks.dims[0][2][0], tile_keys)]
    nested = tuple(loops if outer == "queries" else loops[::-1])
    group = nest_group(network, members, frozenset(loop.rank for loop in nested))
    assert group is not None
    rng = np.random.default_rng(tile + window)
    nest = next(filter(None, (random_depths(rng, group, nested) for _ in range(100))))
    walk = compare(1, NestCase(network, members, group, nest))
    assert walk.masked is not None
    # 20 rows of three tiles or more, of one kind but for the first and the last ones
    assert len(walk.times) < walk.count or tile != tile_keys
