"""Receptive fields and halos, held to the sweep and to walks position by position."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tiling.receptive_field import needs
from archloom.evaluators.fusion.tiling.sweep import axis_sweep
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    activation,
    add,
    conv2d,
    conv_transpose2d,
    global_pool,
    linear,
    matmul,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.slice import Slice

from ....cases.groups import any_tile, drawn
from ....cases.sweeps import sweep
from ....oracles.receptive_fields import AxisField, receptive_fields
from ....oracles.tile_simulator import owned, span, window_span

CASES = sweep([(s, kind) for s in range(40) for kind in ("any", "dense", "operators")], 48)


def walked(shape, layers, axis, wanted):
    """Positions of each map, gathered one by one."""
    found = [
        span(set(range(*wanted[u]))) if u in wanted else set() for u in range(len(shape.sizes))
    ]
    for u in [*reversed(range(shape.members)), *shape.externals]:
        for edge in shape.edges:
            if edge.source == u:
                read = window_span(
                    layers[edge.reader], axis, found[edge.reader], shape.sizes[u][axis], edge
                )
                found[u] = span(found[u] | read)
    return found


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_needs_are_those_of_a_walk_over_positions(seed, kind):
    shape, layers, rng = drawn(seed, kind)
    for axis in (0, 1):
        wanted = {}
        for u in shape.exported:
            ends = sorted(rng.integers(0, shape.sizes[u][axis] + 1, 2))
            if ends[0] < ends[1] and rng.random() < 0.7:
                wanted[u] = tuple(map(int, ends))
        found = [
            set(range(*part)) if part else set() for part in needs(shape, layers, axis, wanted)
        ]
        assert found == walked(shape, layers, axis, wanted)


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_needs_of_tiles_are_those_of_the_sweep(seed, kind):
    shape, layers, rng = drawn(seed, kind)
    for axis, tile in enumerate(any_tile(shape, rng)):
        sweep = axis_sweep(shape, list(layers), axis, tile, keep=False)
        length = shape.sizes[shape.anchor][axis]
        for i in range(sweep.tiles):
            cut = (i * tile, min((i + 1) * tile, length))
            shares = {u: owned(shape.sizes[u][axis], length, cut) for u in shape.exported}
            wanted = {u: (min(part), max(part) + 1) for u, part in shares.items() if part}
            lengths = [b - a for a, b in (p or (0, 0) for p in needs(shape, layers, axis, wanted))]
            assert lengths == sweep.need[:, i].tolist()


def long_group(rng):
    """Return a group over long maps: windows, interleaves, sums and boxes; one result."""
    sizes, layers, reads = {INPUT: int(rng.integers(600, 800))}, [], []
    patches = 1
    while len(layers) < 7:
        source = str(rng.choice(list(sizes)[-3:]))
        length, name, kind = sizes[source], f"l{len(layers)}", rng.random()
        same = [m for m, size in sizes.items() if size == length and m != source]
        sources = (source, str(rng.choice(same))) if kind < 0.3 and same else (source,)
        if len(sources) == 2:
            layer = add(name, 2, (length, 1))
        elif kind < 0.5 and patches < 4:
            patch, kernel = int(rng.integers(2, 4)), int(rng.integers(1, 5))
            pad = min(int(rng.integers(0, 2)), kernel - 1)
            layer = conv_transpose2d(name, 2, 2, (length, 1), (kernel, 1), (patch, 1), (pad, 0))
        elif kind < 0.6:
            box = Slice((0, int(rng.integers(1, 9)), 0), (2, length - 9, 1), (2, length, 1))
            layer = replace(activation(name, "relu", 2, (length - 9, 1)), slices=(box,))
        else:
            kernel, stride, dilation = (int(rng.integers(1, most)) for most in (5, 3, 3))
            windows = (kernel, 1), (stride, 1), (int(rng.integers(0, kernel)), 0), (dilation, 1)
            layer = conv2d(name, 2, 2, (length, 1), *windows)
        if 150 <= layer.map_shape[1] <= 900:
            layers.append(layer)
            reads.append(sources)
            sizes[name] = layer.map_shape[1]
            patches *= layer.interleave.rows if layer.interleave else 1
    # what the last layer does not depend on is left out, so that it is the only result
    used, kept = {f"l{len(layers) - 1}"}, []
    for layer, sources in reversed(list(zip(layers, reads, strict=True))):
        if layer.name in used:
            kept.append((layer, sources))
            used.update(sources)
    members, sources = zip(*reversed(kept), strict=True)
    net = Network("long", members, sources)
    return group_shape(net, tuple(range(len(members)))), members, patches


@pytest.mark.parametrize("seed", sweep(range(60), 25))
def test_fields_are_what_inner_tiles_need(seed):
    rng = np.random.default_rng(seed)
    shape, layers, patches = long_group(rng)
    tile, sizes = int(rng.integers(1, 4)), [rows for rows, _ in shape.sizes]
    ends = range(tile, sizes[shape.anchor], tile)
    tiles = [needs(shape, layers, 0, {shape.anchor: (end - tile, end)}) for end in ends]
    # so far inside no window is cut at a border of a map or of a box, nor is the next tile's
    pairs = [
        (here, there)
        for here, there in pairwise(tiles)
        if all(
            a > 12 and b < size - 12
            for found in (here, there)
            for (a, b), size in zip(found, sizes, strict=True)
        )
    ]
    # tiles take turns in as many ways as the patches of interleaves have positions
    assert len(pairs) > 2 * patches
    first, last = pairs[0], pairs[patches]
    for u, (rows, columns) in enumerate(receptive_fields(shape, layers, (tile, 1))):
        assert columns == AxisField(1, 0, Fraction(1))
        extents = [b - a for a, b in (here[u] for here, _ in pairs)]
        if rows.jump is None:
            assert max(extents) <= rows.extent == rows.halo == sizes[u]
            continue
        assert rows.extent == max(extents)
        assert rows.halo == max(0, *(here[u][1] - there[u][0] for here, there in pairs))
        assert rows.jump * tile * patches == last[0][u][0] - first[0][u][0]


def test_most_random_groups_move_evenly():
    """Of those above, so that what is held to them is more than a bound."""
    groups = [long_group(np.random.default_rng(seed))[:2] for seed in range(60)]
    jumps = [rows.jump for group in groups for rows, _ in receptive_fields(*group)]
    assert sum(jump is None for jump in jumps) < len(jumps) / 5
    assert any(jump is not None and jump.denominator > 1 for jump in jumps)


def fields_of(layers, *reads):
    net = Network("net", layers, reads)
    shape = group_shape(net, tuple(range(len(layers))))
    return receptive_fields(shape, layers, (2, 2))


@pytest.mark.parametrize(
    ("name", "last", "field", "jump"),
    [
        # Araujo et al., "Computing receptive fields of convolutional neural networks", Distill
        # 2019, table of AlexNet: 195 and 32. The others by its equation 2:
        # 1 + sum of (kernel - 1) x strides before. ResNet-18: 7x7, a pool, then four 3x3 in each
        # stage at jumps 4, 8, 16, 32, of which the first has the jump before
        ("alexnet_original", "pool5", 195, 32),
        (
            "resnet18",
            "stage4.1.add",
            1 + 6 + 2 * 2 + 2 * 4 * 4 + 2 * (4 + 24 + 8 + 48 + 16 + 96),
            32,
        ),
        # a 3x3, then depthwise ones, as many at jumps 2, 4, 8, 16 and 32
        ("mobilenetv2", "conv_last", 1 + 2 + 2 * (2 + 2 + 4 * 2 + 8 * 3 + 16 * 7 + 32 * 3), 32),
    ],
)
def test_fields_of_known_networks(name, last, field, jump):
    net = network(name)
    layers = net.layers[: net.index(last) + 1]
    front = Network("front", layers, net.reads[: len(layers)])
    shape = group_shape(front, tuple(range(len(layers))))
    rows, columns = receptive_fields(shape, layers)[-1]
    assert rows == columns == AxisField(field, field - jump, Fraction(jump))


def test_a_map_that_is_needed_whole_does_not_move():
    """Squeeze and excite: the factors need all of the map, whatever tile they scale."""
    layers = (
        conv2d("wide", 2, 3, 8, 3, 1, 1),
        global_pool("squeeze", 3, 8),
        linear("excite", 3, 3),
        mul("scale", 3, 8, broadcast=True),
    )
    found = fields_of(layers, (INPUT,), ("wide",), ("squeeze",), ("wide", "excite"))
    still = [AxisField(n, n, Fraction()) for n in (8, 1, 1, 8)]
    moving = AxisField(2, 0, Fraction(1))
    assert [rows for rows, _ in found] == [*still[:3], moving, still[3]]
    queries = linear("q", 2, 4, 9), linear("k", 2, 4, 9), matmul("scores", 1, 9, 4, 9)
    rows = [rows for rows, _ in fields_of(queries, (INPUT,), (INPUT,), ("q", "k"))]
    assert rows == [moving, AxisField(9, 9, Fraction()), moving, AxisField(9, 9, Fraction())]


def test_readers_at_different_pace_bound_by_the_whole_map():
    """Four rows of seven by strides, and by a kernel of four without: jumps of 2 and of 1."""
    layers = conv2d("strided", 2, 2, 7, 1, 2), conv2d("dense", 2, 2, 7, 4), add("add", 2, 4)
    found = fields_of(layers, (INPUT,), (INPUT,), ("strided", "dense"))
    assert found[3] == (AxisField(7, 7, None),) * 2
    assert found[0] == (AxisField(2, 0, Fraction(1)),) * 2
    # what is made of such a map moves unevenly, too
    before = max_pool2d("before", 2, 9, 3, 1)
    reads = ((INPUT,), ("before",), ("before",), ("strided", "dense"))
    assert fields_of((before, *layers), *reads)[4] == (AxisField(9, 9, None),) * 2


def test_rows_and_columns_are_their_own():
    layers = (
        conv2d("a", 1, 1, (20, 30), (3, 1), (2, 1)),
        Layer("b", "relu", p=9, q=30, input_size=(9, 30)),
    )
    rows, columns = fields_of(layers, (INPUT,), ("a",))[2]
    assert rows == AxisField(5, 1, Fraction(2))
    assert columns == AxisField(2, 0, Fraction(1))


def test_what_the_anchor_does_not_need_is_no_part_of_its_field():
    layers = (conv2d("a", 1, 1, 9, 1), conv2d("b", 1, 1, 9, 5), conv2d("c", 1, 1, 9, 2))
    found = fields_of(layers, (INPUT,), ("a",), ("a",))
    assert found[1] == (AxisField(0, 0, Fraction()),) * 2
    assert found[0] == (AxisField(3, 1, Fraction(1)),) * 2


def test_branches_whose_tiles_take_turns_in_different_ways():
    """Twelve positions by two, up again by two, and by three: 2 (x // 2) and 3 (x // 3)."""
    layers = (
        conv2d("halves", 2, 2, 12, 1, 2),
        conv2d("thirds", 2, 2, 12, 1, 3),
        conv_transpose2d("by_two", 2, 2, 6, 2, 2),
        conv_transpose2d("by_three", 2, 2, 4, 3, 3),
        add("add", 2, 12),
    )
    reads = ((INPUT,), (INPUT,), ("halves",), ("thirds",), ("by_two", "by_three"))
    net = Network("turns", layers, reads)
    rows = [rows for rows, _ in receptive_fields(group_shape(net, (0, 1, 2, 3, 4)), layers)]
    # position 2 needs 2 and 0 of the input; 4 and 5 both need 4 and 3
    assert rows[5] == AxisField(3, 2, Fraction(1))
    assert rows[:2] == [AxisField(1, 1, Fraction(1, 2)), AxisField(1, 1, Fraction(1, 3))]
