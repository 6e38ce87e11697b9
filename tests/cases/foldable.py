"""Random small networks with layers that can be folded, and some that cannot."""

import numpy as np

from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    activation,
    add,
    avg_pool2d,
    conv2d,
    global_pool,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import INPUT, Network

CHANNELS, SIZE = 4, 8
KINDS = "conv", "depthwise", "add", "scale", "relu", "pool", "overlap", "global"


def random_foldable(rng: np.random.Generator, most: int = 10) -> Network:
    """Return a network of up to ``most`` layers on maps of ``CHANNELS`` channels."""
    layers: list[Layer] = []
    reads: list[tuple[str, ...]] = []
    sizes = {INPUT: SIZE}

    def drawn(size: int) -> str:
        return str(rng.choice([name for name, has in sizes.items() if has == size]))

    for i in range(int(rng.integers(2, most + 1))):
        # mostly what was made last, so that chains arise
        source = list(sizes)[-1] if rng.random() < 0.7 else str(rng.choice(list(sizes)))
        size, name = sizes[source], f"layer{i}"
        match rng.choice(
            ["conv", "depthwise", "add", "scale", "relu", "pool", "overlap", "global"]
        ):
            case "conv":
                made, other = conv2d(name, CHANNELS, CHANNELS, size, 1), ()
            case "depthwise":
                made = conv2d(name, CHANNELS, CHANNELS, size, 3, padding=1, groups=CHANNELS)
                other = ()
            case "add":
                made, other = add(name, CHANNELS, size), (drawn(size),)
            case "scale" if 1 in sizes.values():
                made, other = mul(name, CHANNELS, size, broadcast=True), (drawn(1),)
            case "relu":
                made, other = activation(name, "relu", CHANNELS, size), ()
            case "pool" if size > 1:
                made, other = max_pool2d(name, CHANNELS, size, 2), ()
            case "overlap" if size > 2:
                made, other = avg_pool2d(name, CHANNELS, size, 3, 1, 1), ()
            case _:
                made, other = global_pool(name, CHANNELS, size), ()
        layers.append(made)
        reads.append((source, *other))
        sizes[name] = made.p
    return Network("foldable", tuple(layers), tuple(reads))
