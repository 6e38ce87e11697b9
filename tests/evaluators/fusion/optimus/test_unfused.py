"""Words of a layer that runs alone: the five formulas against their loop nests."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from archloom.evaluators.fusion.optimus.unfused import REUSES, layer_words, reuse_words
from archloom.space.workload.layer import Layer

from ....cases.sweeps import sweep
from ....oracles.reuse_nests import all_runs


def tiny_layer(rng: np.random.Generator) -> Layer:
    """A random small convolution, some of them strided, dilated, padded, or with gaps."""
    k, s, d, pad, size, out = [], [], [], [], [], []
    for _ in range(2):
        kernel, stride, dilation = (int(rng.integers(1, n)) for n in (4, 4, 3))
        reach = (kernel - 1) * dilation + 1
        padding = int(rng.integers(0, reach))
        length = int(rng.integers(max(1, reach - padding), 8))
        most = (length - 1 + padding) // stride + 1
        fair = max(1, (length + 2 * padding - reach) // stride + 1)
        for values, value in zip(
            (k, s, d, pad, size, out),
            (kernel, stride, dilation, padding, length, min(most, fair, 5)),
            strict=True,
        ):
            values.append(value)
    return Layer(
        "tiny",
        "conv",
        n=int(rng.integers(1, 4)),
        k=int(rng.integers(1, 4)),
        c=int(rng.integers(1, 4)),
        p=out[0],
        q=min(out[1], 3),
        r=k[0],
        s=k[1],
        stride=tuple(s),
        dilation=tuple(d),
        padding=tuple(pad),
        input_size=tuple(size),
    )


@pytest.mark.parametrize("seed", sweep(range(24), 10))
def test_formulas_count_what_loop_nests_move(seed: int) -> None:
    """At every capacity each reuse moves what the best run that fits in it moves."""
    layer = tiny_layer(np.random.default_rng(seed))
    for holds_weights in (True, False):
        runs = all_runs(layer, holds_weights)
        most = max(peak for found in runs.values() for _, peak in found)
        for capacity in range(most + 2):
            found = reuse_words(layer, capacity, holds_weights)
            for reuse in REUSES:
                fitting = [moved for moved, peak in runs[reuse] if peak <= capacity]
                assert found[reuse] == min(fitting, default=inf), (reuse, capacity, holds_weights)


@pytest.mark.parametrize("seed", range(40))
def test_more_room_never_costs_words(seed: int) -> None:
    layer = tiny_layer(np.random.default_rng(100 + seed))
    once = layer.weight_words + layer.read_words + layer.output_words
    words = [layer_words(layer, capacity)[1] for capacity in range(once + 10)]
    assert all(b <= a for a, b in pairwise(words))
    assert words[0] == inf
    assert words[-1] <= once


def test_groups_run_one_after_another() -> None:
    """A depthwise convolution moves what its channels move alone, in the room of one of them."""
    shape = {"p": 4, "q": 4, "r": 3, "s": 3, "padding": (1, 1), "input_size": (4, 4)}
    one, many = Layer("one", "conv", **shape), Layer("many", "conv", g=6, **shape)
    for capacity in range(60):
        each = {reuse: 6 * words for reuse, words in reuse_words(one, capacity).items()}
        assert reuse_words(many, capacity) == each


def test_heads_of_a_product_have_second_maps_of_their_own() -> None:
    """Scores of attention: 2 images x 3 heads, each with a second map of 8 x 5 words."""
    layer = Layer("scores", "matmul", n=2, g=3, k=5, c=8, p=7, operands=2, input_size=(7, 1))
    reuse, words = layer_words(layer, 10_000)
    assert words == 2 * 3 * (7 * 8 + 8 * 5 + 7 * 5)
    assert reuse == "psums"
    assert layer_words(layer, 0)[1] == inf
