"""Groups in bands of rows with line buffers: hand counts, and words against the slow oracle."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.optimus.fused import BandCost, band_cost, line_buffers
from archloom.evaluators.fusion.tiling.sweep import axis_sweep
from archloom.space.errors import Infeasible
from archloom.space.workload.layer_builders import add, conv2d, global_pool
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.vector_layer_builders import softmax

from ....cases.groups import random_group
from ....oracles.tile_simulator import simulate


def convolutions(kernels=(3, 3), strides=(1, 1), channels=(4, 4, 4), size=8) -> Network:
    """A chain of padded convolutions over a square map."""
    layers, reads, source = [], [], INPUT
    for i, (kernel, stride) in enumerate(zip(kernels, strides, strict=True)):
        shape = (channels[i], channels[i + 1], (size, size), kernel, stride, kernel // 2)
        layers.append(conv2d(f"c{i}", *shape, bias=False))
        reads.append((source,))
        source, size = f"c{i}", layers[-1].p
    return Network("chain", tuple(layers), tuple(reads))


def cost_of(network: Network, capacity: int, holds_weights: bool = True) -> BandCost:
    found = band_cost(network, tuple(range(len(network.layers))), capacity, holds_weights)
    assert isinstance(found, BandCost)
    return found


def test_rows_go_back_through_kernels_and_strides() -> None:
    """(h - 1) * stride + kernel, cut at the map: of 1 row 3, of those 7, 9 and 13."""
    network = convolutions((5, 3, 3, 3), (1, 1, 2, 2), (1,) * 5, size=64)
    lines = line_buffers(network, (0, 1, 2, 3))
    # members, then the input
    assert lines.heights(1) == [9, 7, 3, 1, 13]
    assert lines.heights(15) == [64, 63, 31, 15, 64]


def test_room_of_two_convolutions_by_hand() -> None:
    """Maps of 8 columns and 4 channels; one row needs 3 of the middle and 5 of the input."""
    network = convolutions()
    lines = line_buffers(network, (0, 1))
    assert lines.heights(1) == [3, 1, 5]
    # middle sliced: input 4 * 5, middle 3 + 3 * 2 kept, output 4 * 1 rows of channels
    # ends sliced: input 5 + 3 * 2 kept, middle 4 * 3, output 1
    assert lines.words(1, 1) == 8 * min(20 + 9 + 4, 11 + 12 + 1)
    # whole maps share no rows with a next band
    assert lines.words(8, 1) == 8 * min(32 + 8 + 32, 8 + 32 + 8)
    assert lines.words(8, 3) == 3 * lines.words(8, 1)


def test_weights_stay_where_they_fit() -> None:
    network = convolutions()
    least, weights = 192, 288
    once = weights + 256 + 256
    assert cost_of(network, least + weights) == BandCost(1, 1, 8, True, 288, 256, 256, least)
    assert cost_of(network, least + weights).words == once
    # one word less: weights come for each band, of which one has room for all rows
    short = cost_of(network, least + weights - 1)
    assert (short.stay, short.rows, short.bands, short.words) == (False, 8, 1, once)
    tight = cost_of(network, least + 1)
    assert (tight.rows, tight.bands, tight.words) == (1, 8, 8 * weights + 512)
    none = band_cost(network, (0, 1), least)
    assert isinstance(none, Infeasible)
    assert (none.reason, none.needed, none.available) == ("line_buffers", least + 1, least)
    assert not cost_of(network, 10_000, holds_weights=False).stay


def test_images_run_together_once_all_rows_do() -> None:
    """Optimus: bands = rows * images / (rows of a band * images of a band)."""
    network = convolutions().with_batch(5)
    whole = line_buffers(network, (0, 1)).words(8, 1)
    for room, images in ((whole, 1), (2 * whole, 2), (3 * whole + 7, 3), (99 * whole, 5)):
        found = cost_of(network, room + 1, holds_weights=False)
        assert (found.rows, found.images, found.bands) == (8, images, -(-5 // images))
    assert cost_of(network, whole, holds_weights=False).bands == 8 * 5 // 5
    assert found.words == 288 + 5 * 512


def test_where_branches_meet_two_neighbours_are_not_both_sliced() -> None:
    """The sum reads its input at depth 0 and a convolution of it at depth 1."""
    layers = (conv2d("a", 4, 4, (8, 8), 3, 1, 1), add("sum", 4, (8, 8)))
    network = Network("skip", layers, ((INPUT,), (INPUT, "a")))
    lines = line_buffers(network, (0, 1))
    # a makes 1 row and needs 3 of the input; the sum is at depth 2, as its input is at 0:
    # ends sliced: input 3 + 3 * 2, a 4, sum held since it reads the sliced input: 4
    # middle sliced: input 4 * 3, a 1, sum 4
    assert lines.words(1, 1) == 8 * min(9 + 4 + 4, 12 + 1 + 4)


def test_what_is_read_whole_or_by_vectors_is_held_whole() -> None:
    """A mean needs all rows of its map, a softmax all channels: neither passes in slices."""
    layers = (conv2d("a", 4, 6, (8, 8), 1), global_pool("mean", 6, (8, 8)))
    lines = line_buffers(Network("mean", layers, ((INPUT,), ("a",))), (0, 1))
    assert lines.heights(1) == [8, 1, 8]
    vectors = replace(softmax("soft", 6, 64), p=8, q=8, input_size=(8, 8))
    network = Network("soft", (layers[0], vectors), ((INPUT,), ("a",)))
    assert line_buffers(network, (0, 1)).sliceable == (False, False, True)


@pytest.mark.parametrize("chunk", range(6))
def test_words_are_what_a_run_with_kept_halos_moves(chunk: int) -> None:
    """Fetched and written words of a run over coordinates, in bands of full width."""
    for seed in range(40 * chunk, 40 * chunk + 40):
        rng = np.random.default_rng(seed)
        kind = str(rng.choice(["any", "dense", "operators", "wild"]))
        network, members = random_group(rng, kind)
        lines = line_buffers(network, members)
        images = network.layers[members[0]].n
        rows, columns = lines.shape.sizes[lines.shape.anchor]
        room = int(rng.integers(lines.least, 2 * lines.words(rows, 1) + 1))
        found = lines.cost(room, stay=False)
        shape = group_shape(network, members)
        layers = tuple(network.layers[i] for i in members)
        run = simulate(shape, layers, (found.rows, columns), "keep_all")
        assert found.inputs == images * sum(run.fetched)
        assert found.outputs == images * sum(run.written)
        if images == 1:
            assert found.bands == len(run.steps)


@pytest.mark.parametrize("seed", range(60))
def test_no_band_of_a_chain_needs_more_rows(seed: int) -> None:
    """Rows of a band bound what any band computed anew needs, borders included."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    kernels = tuple(int(k) for k in rng.choice([1, 3, 5], count))
    strides = tuple(int(s) for s in rng.choice([1, 1, 2], count))
    network = convolutions(kernels, strides, (2,) * (count + 1), size=int(rng.integers(16, 40)))
    lines = line_buffers(network, tuple(range(count)))
    rows = int(rng.integers(1, network.layers[-1].p + 1))
    needed = axis_sweep(lines.shape, list(network.layers), 0, rows, keep=False).need.max(axis=1)
    held = lines.heights(rows)
    assert all(need <= rows for need, rows in zip(needed, held, strict=True))
