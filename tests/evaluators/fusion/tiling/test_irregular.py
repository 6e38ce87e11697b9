"""Anchor maps that are cut into rectangles: against grids, and against coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tiling.irregular import face_tiles
from archloom.space.errors import Infeasible
from archloom.space.fusion.irregular_tiles import TileRect, anchor_layer
from archloom.space.fusion.plan import FusionGroup

from ....cases.designs import edge
from ....cases.groups import drawn, macs
from ....cases.mappers import BufferMapper
from ....cases.partitions import guillotine, regular
from ....cases.sweeps import sweep
from ....oracles.group_account import account
from ....oracles.tile_simulator import simulate_faces
from ..test_group import account_case
from .test_sweep import two_convolutions

KINDS = ("any", "dense", "operators", "wild")


@pytest.mark.parametrize("block", sweep(range(12), 4))
def test_rectangles_hold_what_the_run_over_coordinates_has(block):
    for seed in range(block * 10, block * 10 + 10):
        check_rectangles(seed)


def check_rectangles(seed):
    shape, layers, rng = drawn(seed, KINDS[seed % 4])
    layers = tuple(layer.with_batch(1 + seed % 2) for layer in layers)
    faces = guillotine(rng, *shape.sizes[shape.anchor])
    tiles = face_tiles(shape, layers, faces)
    run = simulate_faces(shape, layers, faces)
    assert tiles.fetched.ravel().tolist() == run.fetched
    assert tiles.stored.ravel().tolist() == run.written
    assert {u: int(tiles.made(u).sum()) for u in run.made} == run.made
    assert macs(tiles) == run.macs
    assert tiles.activations[:, 0].T.tolist() == run.steps
    assert tiles.in_flight[0].tolist() == moving(run, tiles.images)


def moving(run, images):
    """Words of the next rectangle's inputs and the last one's outputs."""
    ahead = [*run.fetched[1:], run.fetched[0] if images > 1 else 0]
    behind = [run.written[-1] if images > 1 else 0, *run.written[:-1]]
    return [a + b for a, b in zip(ahead, behind, strict=True)]


def with_faces(group, faces):
    return replace(group, tile=None, halo="recompute", faces=tuple(faces))


def anchor_size(network, group):
    shape = group_shape(network, group.layers)
    return shape.sizes[shape.anchor]


@pytest.mark.parametrize("block", sweep(range(6), 2))
def test_a_group_in_rectangles_costs_what_they_cost_one_by_one(block):
    for seed in range(block * 10, block * 10 + 10):
        network, group, hardware, mapper = account_case(
            seed, ("any", "operators", "wild")[seed % 3]
        )
        rng = np.random.default_rng(seed)
        group = with_faces(group, guillotine(rng, *anchor_size(network, group)))
        cost = group_cost(network, group, hardware, mapper)
        if isinstance(cost, Infeasible):
            assert cost.reason == "glb_overflow"
            continue
        slow = account(network, group, hardware, mapper)
        assert (cost.dram_reads, cost.dram_writes) == (slow.reads, slow.writes)
        assert (cost.peak_words, cost.prefetch) == (slow.peak, slow.prefetch)
        assert cost.latency_cycles == slow.latency
        assert cost.dynamic_pj == pytest.approx(slow.energy_pj, abs=0.1)


def same(one, other):
    """Whether two prices agree in every figure."""
    if isinstance(one, Infeasible) or isinstance(other, Infeasible):
        # tiles of a grid have a row and a column where rectangles are counted
        return (one.reason, one.needed, one.available) == (
            other.reason,
            other.needed,
            other.available,
        )
    figures = ("wait_cycles", "dram_reads", "dram_writes", "peak_words", "tiles", "prefetch")
    return all(getattr(one, f) == getattr(other, f) for f in figures) and all(
        (a.layer, a.compute_pj, a.latency_cycles, a.operations)
        == (b.layer, b.compute_pj, b.latency_cycles, b.operations)
        and np.array_equal(a.words, b.words)
        and np.array_equal(a.energy_pj, b.energy_pj)
        and [(n, c.dynamic_pj) for n, c in a.evaluations]
        == [(n, c.dynamic_pj) for n, c in b.evaluations]
        for a, b in zip(one.layers, other.layers, strict=True)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("any", "operators", "wild")))
def test_a_grid_costs_what_its_rectangles_cost(seed, kind):
    network, group, hardware, mapper = account_case(seed, kind)
    group = replace(group, halo="recompute")
    faces = with_faces(group, regular(anchor_size(network, group), group.tile))
    assert same(
        group_cost(network, group, hardware, mapper), group_cost(network, faces, hardware, mapper)
    )


@pytest.mark.parametrize("kind", ["any", "operators", "wild"])
def test_cuts_are_made_on_the_map_that_tiles_are_cut_on(kind):
    for seed in range(100):
        network, group, _, _ = account_case(seed, kind)
        shape = group_shape(network, group.layers)
        assert anchor_layer(network, group.layers) == group.layers[shape.anchor]


def test_the_whole_map_is_one_rectangle():
    network = two_convolutions()
    group = FusionGroup((0, 1))
    cost, whole = (
        group_cost(network, g, edge(1 << 16), BufferMapper())
        for g in (group, with_faces(group, [TileRect(0, 0, 8, 8)]))
    )
    assert isinstance(cost, GroupCost)
    assert same(cost, whole)


def test_rectangles_fetch_their_own_halos():
    """Two 3x3 convolutions on 8x8 in three rectangles, counted by hand."""
    network = two_convolutions()
    faces = [TileRect(0, 0, 6, 8), TileRect(6, 0, 2, 2), TileRect(6, 2, 2, 6)]
    cost = group_cost(
        network, with_faces(FusionGroup((0, 1)), faces), edge(1 << 16), BufferMapper()
    )
    assert isinstance(cost, GroupCost)
    # inputs: rows 0-7 of all columns; rows 4-7 of columns 0-3; rows 4-7 of columns 0-7
    assert cost.dram_writes == 4 * 64
    weights = 3 * 288
    assert cost.dram_reads == 4 * (64 + 16 + 32) + weights


@pytest.mark.parametrize(
    ("faces", "where", "covered"),
    [
        ([TileRect(0, 0, 8, 7)], "rows 0-7 and columns 7-7 are in no face", 56),
        (
            [TileRect(0, 0, 8, 8), TileRect(3, 2, 1, 2)],
            "rows 3-3 and columns 2-3 are in 2 faces",
            62,
        ),
        ([TileRect(0, 0, 9, 8)], "rows 8-8 and columns 0-7 are outside the map", 64),
        (
            [TileRect(0, 0, 4, 8), TileRect(5, 0, 3, 8)],
            "rows 4-4 and columns 0-7 are in no face",
            56,
        ),
    ],
)
def test_faces_that_do_not_cut_the_map_exactly_say_where(faces, where, covered):
    network = two_convolutions()
    group = with_faces(FusionGroup((0, 1)), faces)
    found = group_cost(network, group, edge(1 << 16), BufferMapper())
    assert isinstance(found, Infeasible)
    assert (found.reason, found.needed, found.available) == ("bad_cuts", 64, covered)
    assert found.where.endswith(where)
