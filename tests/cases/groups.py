"""Random groups of layers to tile, and how much work a tiling does."""

import numpy as np

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

from .operator_groups import random_operators
from .wild_networks import wild_group

POLICIES = ("recompute", "keep_inner", "keep_all")


def drawn(seed, kind="any"):
    """Return shape, layers and random generator of a random group."""
    rng = np.random.default_rng(seed)
    network, members = random_group(rng, kind)
    return group_shape(network, members), tuple(network.layers[i] for i in members), rng


def any_tile(shape, rng):
    rows, columns = shape.sizes[shape.anchor]
    return int(rng.integers(1, rows + 1)), int(rng.integers(1, columns + 1))


def macs(tiles):
    """Multiply-accumulates of one image, repeated ones included."""
    return sum(
        int(tiles.made(m).sum()) * layer.c * layer.r * layer.s
        for m, layer in enumerate(tiles.layers)
        if layer.uses_macs
    )


def random_group(rng: np.random.Generator, kind="any"):
    """Return (network, members): a random DAG of convolutions, pools, adds and flattened gemms.

    Some layers after the members read maps of the group, so that maps leave from its middle.
    ``kind`` is ``any``, ``dense`` (windows at least as large as their strides, undilated, so
    that no word between them stays unread), ``pointwise`` (1x1 chains at stride 1),
    ``operators`` (products of maps, interleaved and concatenated maps, broadcasts) or ``wild``
    (boxes of maps, shared weights and more; the members are any of the layers).
    """
    if kind == "wild":
        return wild_group(rng)
    if kind == "operators":
        return random_operators(rng)
    layers: list[Layer] = []
    reads: list[tuple[str, ...]] = []
    maps = {"input": (int(rng.integers(1, 4)), *map(int, rng.integers(4, 13, 2)))}
    count = int(rng.integers(1, 6))
    while len(layers) < count:
        source = str(rng.choice(list(maps)[-3:])) if kind != "pointwise" else list(maps)[-1]
        made = _random_layer(rng, f"l{len(layers)}", source, maps, kind)
        layers.append(made[0])
        reads.append(made[1])
        maps[made[0].name] = (made[0].output_channels, made[0].p, made[0].q)
    for name in list(maps)[1:]:
        if rng.random() < 0.25:
            channels, p, q = maps[name]
            layer = Layer(f"out_{name}", "conv", k=1, c=channels, p=p, q=q, input_size=(p, q))
            layers.append(layer)
            reads.append((name,))
    return Network("random", tuple(layers), tuple(reads)), tuple(range(count))


def _random_layer(rng, name, source, maps, kind):
    channels, height, width = maps[source]
    same = [m for m, shape in maps.items() if shape == maps[source] and m != source]
    roll = rng.random()
    if kind != "pointwise" and same and roll < 0.5:
        other = str(rng.choice(same))
        add = Layer(
            name, "add", g=channels, p=height, q=width, input_size=(height, width), operands=2
        )
        return add, (source, other)
    if kind == "any" and roll > 0.95:
        words = channels * height * width
        return Layer(name, "gemm", k=2, c=words, input_size=(1, 1)), (source,)
    stride, dilation, kernel, padding, out = [], [], [], [], []
    for size in (height, width):
        k = int(rng.integers(1, 6)) if kind != "pointwise" else 1
        s = int(rng.integers(1, min(3, k + 1) if kind == "dense" else 3)) if k * size > 1 else 1
        d = int(rng.integers(1, 4)) if kind == "any" and rng.random() < 0.3 else 1
        pad = int(rng.integers(0, (k - 1) * d + 1))
        if rng.random() < 0.5:
            pad = (k - 1) * d // 2
        most = (size - 1 + pad) // s + 1
        fair = max(1, (size + 2 * pad - (k - 1) * d - 1) // s + 1)
        p = min(most, fair) if rng.random() < 0.7 else int(rng.integers(1, most + 1))
        if kind == "pointwise":
            s, p = 1, size
        for values, value in zip(
            (stride, dilation, kernel, padding, out), (s, d, k, pad, p), strict=True
        ):
            values.append(value)
    window = {
        "stride": tuple(stride),
        "dilation": tuple(dilation),
        "padding": tuple(padding),
        "input_size": (height, width),
    }
    pool = kind != "pointwise" and 0.5 < roll < 0.6
    depths = {"g": channels} if pool else {"k": int(rng.integers(1, 4)), "c": channels}
    operator = "maxpool" if pool else "conv"
    extents = {"p": out[0], "q": out[1], "r": kernel[0], "s": kernel[1]}
    return Layer(name, operator, **depths, **extents, **window), (source,)
