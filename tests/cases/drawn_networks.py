"""Random networks of up to ten layers, and all their valid partitions by exact cover."""

from collections.abc import Iterator

import numpy as np

from archloom.search.fusion.partition import Partition
from archloom.space.fusion.running_order import group_order
from archloom.space.workload.graph import bits, components, positions
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import add, conv2d, max_pool2d
from archloom.space.workload.network import INPUT, Network

from .operator_groups import Drawing

KINDS = ("chain", "branches", "operators")


def drawn_network(rng: np.random.Generator, most: int = 10) -> Network:
    """A chain of convolutions and pools, the same with branches, or operators of every kind."""
    kind = KINDS[int(rng.integers(3))]
    count = int(rng.integers(1, most + 1))
    if kind == "operators":
        drawing = Drawing(rng)
        # all other layers read this one, so that the input has one shape
        drawing.gelu("first", INPUT, *drawing.maps.pop(INPUT))
        for _ in range(20):
            if len(drawing.layers) < count - 1:
                drawing.grow()
        layers, reads = drawing.layers, drawing.reads
    else:
        layers, reads = _convolutions(rng, count, kind == "branches")
    return Network(kind, tuple(layers), tuple(reads)).with_batch(int(rng.integers(1, 4)))


def _convolutions(
    rng: np.random.Generator, count: int, branches: bool
) -> tuple[list[Layer], list[tuple[str, ...]]]:
    maps = {INPUT: (int(rng.integers(1, 9)), *map(int, rng.integers(4, 25, 2)))}
    layers: list[Layer] = []
    reads: list[tuple[str, ...]] = []
    while len(layers) < count:
        name, names = f"l{len(layers)}", list(maps)
        source = str(rng.choice(names[-3:])) if branches else names[-1]
        channels, *size = maps[source]
        alike = [m for m in names if maps[m] == maps[source] and m != source]
        wide = [m for m in names if maps[m][1:] == maps[source][1:] and m != source]
        roll = float(rng.random())
        if branches and alike and roll < 0.5:
            layer, from_maps = add(name, channels, tuple(size)), (source, str(rng.choice(alike)))
        elif branches and wide and roll < 0.7:
            other = str(rng.choice(wide))
            parts = (channels, maps[other][0])
            layer, from_maps = _conv(rng, name, sum(parts), size, parts), (source, other)
        elif roll > 0.9 and min(size) > 1:
            layer, from_maps = max_pool2d(name, channels, tuple(size), 2), (source,)
        else:
            layer, from_maps = _conv(rng, name, channels, size), (source,)
        layers.append(layer)
        reads.append(from_maps)
        maps[name] = layer.map_shape
    return layers, reads


def _conv(
    rng: np.random.Generator, name: str, channels: int, size: list[int], parts: tuple[int, ...] = ()
) -> Layer:
    kernel = int(rng.choice([1, 1, 3, 3, 5]))
    # rather no stride, so that maps stay alike
    stride = 1 if min(size) < 3 else int(rng.choice([1, 1, 1, 2]))
    depthwise = not parts and rng.random() < 0.25
    out = channels if depthwise or rng.random() < 0.5 else int(rng.integers(1, 13))
    layer = conv2d(
        name,
        channels,
        out,
        (size[0], size[1]),
        kernel,
        stride,
        kernel // 2,
        groups=channels if depthwise else 1,
        bias=False,
    )
    if not parts:
        return layer
    fields = {f: getattr(layer, f) for f in layer.__dataclass_fields__}
    return Layer(**(fields | {"parts": parts, "operands": 2}))


def partitions(network: Network, groups: list[int]) -> Iterator[Partition]:
    """Every valid partition into some of ``groups`` (sets of layers, in bits)."""
    everything = (1 << len(network.layers)) - 1
    by_first: dict[int, list[int]] = {}
    for group in groups:
        by_first.setdefault((group & -group).bit_length() - 1, []).append(group)

    def cover(used: int, chosen: list[int]) -> Iterator[Partition]:
        if used == everything:
            found = tuple(positions(g) for g in chosen)
            if group_order(network, found) is not None:
                yield found
            return
        first = (~used & (used + 1)).bit_length() - 1
        for group in by_first.get(first, ()):
            if not group & used:
                yield from cover(used | group, [*chosen, group])

    yield from cover(0, [])


def all_groups(network: Network) -> list[int]:
    """Every set of layers that share data and that no path leaves and enters again, in bits."""
    found = []
    for group in range(1, 1 << len(network.layers)):
        layers = positions(group)
        rest = [(i,) for i in range(len(network.layers)) if not group >> i & 1]
        together = len(components(network, layers)) == 1
        if together and group_order(network, [layers, *rest]) is not None:
            found.append(bits(layers))
    return found
