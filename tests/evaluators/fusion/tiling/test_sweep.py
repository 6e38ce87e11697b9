"""Geometry of fused groups: golden counts, and what every tiling must obey."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tiling.geometry import group_tiles
from archloom.evaluators.fusion.tiling.sweep import axis_sweep
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    conv2d,
    conv_transpose2d,
    linear,
    matmul,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice

from ....cases.groups import POLICIES, any_tile, drawn, macs, random_group
from ....cases.sweeps import sweep

SEEDS = range(60)


def made(tiles):
    """Words made or fetched of each map."""
    return [int(tiles.made(u).sum()) for u in range(len(tiles.shape.channels))]


def conv(name, k, c, out, size, kernel, stride=1, pad=0):
    extent = {"p": out, "q": out, "r": kernel, "s": kernel}
    window = {"stride": (stride, stride), "padding": (pad, pad), "input_size": (size, size)}
    return Layer(name, "conv", k=k, c=c, **extent, **window)


def two_convolutions():
    """Two 3x3 convolutions over an 8x8 map of four channels."""
    layers = (conv("a", 4, 4, 8, 8, 3, pad=1), conv("b", 4, 4, 8, 8, 3, pad=1))
    return Network("two", layers, (("input",), ("a",)))


def residual_block():
    """A strided block with a projected shortcut: 8 maps of 16x16 to 16 maps of 8x8."""
    layers = (
        conv("first", 16, 8, 8, 16, 3, stride=2, pad=1),
        conv("second", 16, 16, 8, 8, 3, pad=1),
        conv("shortcut", 16, 8, 8, 16, 1, stride=2),
        Layer("add", "add", g=16, p=8, q=8, input_size=(8, 8), operands=2),
    )
    reads = (("input",), ("first",), ("input",), ("second", "shortcut"))
    return Network("residual", layers, reads)


# Golden numbers were derived by hand for two small groups (macs, words fetched, words written,
# peak words of maps without prefetch); an add counts one operation for each word of its output
GOLDEN = [
    (two_convolutions, (4, 4), "recompute", (23616, 576, 256, 244)),
    (two_convolutions, (4, 4), "keep_inner", (20736, 384, 256, 244)),
    (two_convolutions, (4, 4), "keep_all", (18432, 256, 256, 252)),
    *((two_convolutions, (8, 8), policy, (18432, 256, 256, 512)) for policy in POLICIES),
    (residual_block, (2, 4), "recompute", (317952, 5208, 1024, 1240)),
    (residual_block, (2, 4), "keep_inner", (285696, 3968, 1024, 1168)),
    (residual_block, (2, 4), "keep_all", (230400, 2048, 1024, 1152)),
]


@pytest.mark.parametrize(("build", "tile", "policy", "expected"), GOLDEN)
def test_golden_groups(build, tile, policy, expected):
    network = build()
    shape = group_shape(network, tuple(range(len(network.layers))))
    tiles = group_tiles(shape, network.layers, tile, policy)
    adds = sum(
        int(tiles.made(m).sum()) for m, layer in enumerate(network.layers) if not layer.uses_macs
    )
    found = (
        macs(tiles) + adds,
        int(tiles.fetched.sum()),
        int(tiles.stored.sum()),
        int(tiles.activations.max()),
    )
    assert found == expected


def test_who_reads_whom_in_a_residual_block():
    network = residual_block()
    shape = group_shape(network, (0, 1, 2, 3))
    assert shape.channels == (16, 16, 16, 16, 8)
    assert [(e.source, e.reader, e.full) for e in shape.edges] == [
        (4, 0, False),
        (0, 1, False),
        (4, 2, False),
        (1, 3, False),
        (2, 3, False),
    ]
    assert (shape.exported, shape.anchor) == ((3,), 3)
    # without the add, both maps leave; the later of two equals is cut
    open_block = group_shape(network, (0, 1, 2))
    assert (open_block.exported, open_block.anchor) == ((1, 2), 2)


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_a_map_leaves_if_anyone_outside_reads_it_or_nobody_does(seed):
    network, members = random_group(np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    some = tuple(sorted(rng.choice(members, int(rng.integers(1, len(members) + 1)), replace=False)))
    shape = group_shape(network, tuple(int(i) for i in some))
    readers = {
        m: [r for r, sources in enumerate(network.reads) if network.layers[i].name in sources]
        for m, i in enumerate(some)
    }
    leaves = [m for m, found in readers.items() if not found or not set(found) <= set(some)]
    assert shape.exported == tuple(leaves)
    inside = {(e.source, e.reader) for e in shape.edges if e.source < shape.members}
    assert inside == {
        (m, some.index(r)) for m, found in readers.items() for r in found if r in some
    }
    outside = {name for i in some for name in network.reads[i]}
    outside -= {network.layers[i].name for i in some}
    assert len(shape.externals) == len(outside)


def test_a_flattened_map_is_needed_whole():
    pool = Layer("pool", "maxpool", g=2, p=4, q=4, input_size=(4, 4))
    dense = Layer("dense", "gemm", k=3, c=2 * 4 * 4, input_size=(1, 1))
    network = Network("flat", (pool, dense), (("input",), ("pool",)))
    shape = group_shape(network, (0, 1))
    assert [e.full for e in shape.edges] == [False, True]
    tiles = group_tiles(shape, network.layers, (1, 1), "recompute")
    assert made(tiles) == [2 * 16, 3, 2 * 16]


def test_the_second_map_of_a_product_is_needed_whole():
    """Even where it is as large as the first: scores of a sequence with itself."""
    layers = (linear("query", 6, 4, 5), linear("key", 6, 4, 5), matmul("scores", 1, 5, 4, 5))
    network = Network("self", layers, (("input",), ("input",), ("query", "key")))
    shape = group_shape(network, (0, 1, 2))
    assert [(e.source, e.reader, e.full) for e in shape.edges][2:] == [
        (0, 2, False),
        (1, 2, True),
    ]
    tiles = group_tiles(shape, layers, (1, 1), "recompute")
    assert made(tiles) == [4 * 5, 5 * 4 * 5, 5 * 5, 5 * 6 * 5]
    twice = Network("twice", (layers[0], layers[2]), (("input",), ("query", "query")))
    assert [e.full for e in group_shape(twice, (0, 1)).edges] == [False, True]


def test_a_broadcast_value_is_needed_whole():
    scale = mul("scale", 3, 1, broadcast=True)
    network = Network("scale", (scale,), (("input", "input:factors"),))
    assert [e.full for e in group_shape(network, (0,)).edges] == [False, True]


def test_an_interleaved_map_is_read_by_patches():
    """Four taps at stride 2 without the first and last row: patches -1..0, 1..2, and so on."""
    up = conv_transpose2d("up", 3, 2, 4, 4, 2, 1)
    network = Network("up", (up, max_pool2d("pool", 2, 8, 1, 1)), (("input",), ("up",)))
    shape = group_shape(network, (0, 1))
    edge = shape.edges[1]
    assert (edge.source, edge.full, edge.patch, edge.start) == (0, False, (2, 2), (1, 1))
    assert (shape.channels, shape.sizes) == ((8, 2, 3), ((5, 5), (8, 8), (4, 4)))
    rows = group_tiles(shape, network.layers, (2, 8), "recompute").rows
    assert rows.new[0].tolist() == [2, 2, 2, 2]
    assert rows.have[0].tolist() == [2, 3, 4, 5]
    outside = group_shape(network, (1,))
    assert (outside.channels, outside.sizes) == ((2, 8), ((8, 8), (5, 5)))


@pytest.mark.parametrize("kind", ["any", "operators"])
@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_with_one_tile_the_policies_agree(seed, kind):
    shape, layers, _ = drawn(seed, kind)
    whole = [group_tiles(shape, layers, None, policy) for policy in POLICIES]
    assert {t.count for t in whole} == {1}
    for t in whole[1:]:
        assert made(t) == made(whole[0])
        assert t.activations.tolist() == whole[0].activations.tolist()
        assert t.in_flight.tolist() == whole[0].in_flight.tolist()


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_keeping_everything_makes_the_work_independent_of_the_cuts(seed):
    shape, layers, rng = drawn(seed)
    whole = made(group_tiles(shape, layers, None, "keep_all"))
    for _ in range(3):
        assert made(group_tiles(shape, layers, any_tile(shape, rng), "keep_all")) == whole


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_keeping_more_never_makes_more_where_windows_have_no_holes(seed):
    shape, layers, rng = drawn(seed, "dense")
    tile = any_tile(shape, rng)
    work = [made(group_tiles(shape, layers, tile, policy)) for policy in POLICIES]
    assert np.all(np.array(work[0]) >= work[1])
    assert np.all(np.array(work[1]) >= work[2])


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_every_exported_word_is_written_once(seed):
    shape, layers, rng = drawn(seed)
    tile = any_tile(shape, rng)
    for policy in POLICIES:
        tiles = group_tiles(shape, layers, tile, policy)
        for u in shape.exported:
            rows, columns = shape.sizes[u]
            assert tiles.written(u).sum() == shape.channels[u] * rows * columns
        inside = set(range(len(shape.channels))) - set(shape.exported)
        assert all(tiles.rows.share[u].sum() == 0 for u in inside)


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_coarser_cuts_recompute_no_more_and_finer_cuts_hold_no_more(seed):
    shape, layers, rng = drawn(seed, "dense")
    fine = any_tile(shape, rng)
    coarse = fine[0] * int(rng.integers(1, 4)), fine[1] * int(rng.integers(1, 4))
    small, large = (group_tiles(shape, layers, tile, "recompute") for tile in (fine, coarse))
    assert np.all(np.array(made(large)) <= made(small))
    assert small.activations.max() <= large.activations.max()


def transposed(layer):
    def swap(pair):
        return (pair[1], pair[0])

    return replace(
        layer,
        p=layer.q,
        q=layer.p,
        r=layer.s,
        s=layer.r,
        stride=swap(layer.stride),
        dilation=swap(layer.dilation),
        padding=swap(layer.padding),
        input_size=swap(layer.input_size),
    )


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_transposing_maps_and_cuts_changes_no_count(seed):
    shape, layers, rng = drawn(seed)
    turned = replace(shape, sizes=tuple((w, h) for h, w in shape.sizes))
    tile = any_tile(shape, rng)
    for policy in ("recompute", "keep_all"):
        tiles = group_tiles(shape, layers, tile, policy)
        other = group_tiles(turned, tuple(map(transposed, layers)), tile[::-1], policy)
        for u in range(len(shape.channels)):
            assert tiles.made(u).tolist() == other.made(u).T.tolist()
        assert tiles.stored.tolist() == other.stored.T.tolist()


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_words_and_occupancy_grow_with_channels(seed):
    shape, layers, rng = drawn(seed)
    tile = any_tile(shape, rng)
    deep = replace(shape, channels=tuple(5 * c for c in shape.channels))
    for policy in POLICIES:
        one, five = (group_tiles(s, layers, tile, policy) for s in (shape, deep))
        assert (5 * one.activations).tolist() == five.activations.tolist()
        assert (5 * one.in_flight).tolist() == five.in_flight.tolist()
        assert (5 * one.stored).tolist() == five.stored.tolist()


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_chains_of_pointwise_layers_have_no_halo(seed):
    shape, layers, rng = drawn(seed, "pointwise")
    shape = replace(shape, exported=(shape.members - 1,), anchor=shape.members - 1)
    tile = any_tile(shape, rng)
    found = []
    for policy in POLICIES:
        tiles = group_tiles(shape, layers, tile, policy)
        found.append((made(tiles), tiles.activations.max(axis=(1, 2)).tolist()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_a_batch_repeats_the_tiles_of_one_image(seed):
    shape, layers, rng = drawn(seed)
    tile = any_tile(shape, rng)
    for policy in POLICIES:
        one = group_tiles(shape, layers, tile, policy)
        four = group_tiles(shape, tuple(layer.with_batch(4) for layer in layers), tile, policy)
        assert (one.images, four.images) == (1, 4)
        assert made(one) == made(four)
        assert one.activations.tolist() == four.activations.tolist()


def test_a_box_of_a_map_moves_the_rows_that_its_reader_needs():
    """The reader's rows 0 to 3 are rows 5 to 8 of the map; its window reaches one row around."""
    box = Slice((0, 5, 0), (2, 4, 6), (2, 12, 6))
    made = conv2d("made", 1, 2, (12, 6), 1)
    reader = replace(conv2d("reader", 2, 1, (4, 6), 3, padding=1), slices=(box,))
    net = Network("crop", (made, reader), (("input",), ("made",)))
    shape = group_shape(net, (0, 1))
    assert [(e.full, e.start) for e in shape.edges] == [(False, (0, 0)), (False, (5, 0))]
    sweep = axis_sweep(shape, list(net.layers), 0, 2, keep=False)
    # rows -1..2 and 1..4 of the box, cut at its borders: 5..7 and 6..8 of the map
    assert sweep.need[0].tolist() == [3, 3]
    kept = axis_sweep(shape, list(net.layers), 0, 2, keep=True)
    # a kept map grows from the first row that is read, on the chip as from outside
    assert kept.new[0].tolist() == [3, 1]
    assert kept.kept[0].tolist() == [2, 0]
    # from outside only the box is fetched
    alone = group_shape(net, (1,))
    assert (alone.channels, alone.sizes) == ((1, 2), ((4, 6), (4, 6)))
    assert axis_sweep(alone, [reader], 0, 2, keep=True).new[1].tolist() == [3, 1]
