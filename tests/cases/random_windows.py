"""Random groups of convolutions with depthwise windows, and random loop nests around them."""

import numpy as np

from archloom.evaluators.fusion.nest import windowless
from archloom.search.fusion.nest import nestable, skips_words
from archloom.space.workload import Network
from archloom.space.workload.layer_builders import avg_pool2d, conv2d, max_pool2d
from archloom.space.workload.network_builder import Builder

from .random_nests import NestCase, random_members, random_nest


class WindowBlocks:
    """A network that grows by blocks over one map; channels are up to ``most``, sides up to 7."""

    def __init__(self, rng: np.random.Generator, most: int) -> None:
        self.rng, self.most, self.count = rng, most, 0
        sides = self.size(1, 7), self.size(1, 7)
        self.builder = Builder((self.size(1, most), *sides))
        self.last = "input"

    def size(self, low: int, high: int) -> int:
        """Return a number between two, both of them included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """Return whether something happens that does so often."""
        return bool(self.rng.random() < share)

    def name(self, kind: str) -> str:
        """Return a name that is new."""
        self.count += 1
        return f"{kind}{self.count}"

    def pointwise(self, channels: int) -> None:
        """Add a 1x1 convolution."""
        name = self.name("point")
        self.last = self.builder.conv(name, self.last, channels)

    def window(self) -> tuple[int, int, int, int] | None:
        """Return kernel, stride, padding and dilation of one axis at random, for both of them if
        they fit the map; None if they do not."""
        kernel, dilation = self.size(1, 5), 1 + self.chance(0.2)
        stride = int(self.rng.choice([1, 1, 2, 3]))
        spread = (kernel - 1) * dilation
        padding = spread // 2 if self.chance(0.6) else self.size(0, spread)
        sides = self.builder.shape(self.last)[1:]
        # of a window that lies in the padding alone nothing is read
        fits = all(side + 2 * padding > spread for side in sides) and min(sides) > padding
        return (kernel, stride, padding, dilation) if fits else None

    def depthwise(self) -> None:
        """Add a depthwise or a grouped convolution, with one result for each channel or several."""
        channels, window = self.builder.channels(self.last), self.window() or (1, 1, 0, 1)
        groups = channels
        if self.chance(0.2):
            groups = int(self.rng.choice([g for g in range(1, channels + 1) if channels % g == 0]))
        times = self.size(2, 3) if self.chance(0.2) else 1
        sides = self.builder.shape(self.last)[1:]
        kernel, stride, padding, dilation = window
        layer = conv2d(
            self.name("window"),
            channels,
            channels * times,
            sides,
            kernel,
            stride,
            padding,
            dilation,
            groups,
        )
        self.last = self.builder.append(layer, self.last)

    def pool(self) -> None:
        """Add a pool, if some window fits."""
        channels, *sides = self.builder.shape(self.last)
        window = self.window()
        if window is None or window[3] > 1 or window[2] > window[0] // 2:
            return
        make = max_pool2d if self.chance(0.5) else avg_pool2d
        layer = make(self.name("pool"), channels, (sides[0], sides[1]), *window[:3])
        self.last = self.builder.append(layer, self.last)

    def excite(self) -> None:
        """Add factors of channels that are found from their means (Hu et al., CVPR 2018)."""
        before = self.last
        self.last = self.builder.global_avgpool(self.name("mean"), before)
        if self.chance(0.7):
            self.pointwise(self.size(1, self.most))
        self.pointwise(self.builder.channels(before))
        self.last = self.builder.scale(self.name("scale"), before, self.last)

    def block(self) -> None:
        """Add an inverted residual (Sandler et al., CVPR 2018), or parts of one."""
        before = self.last
        if self.chance(0.7):
            self.pointwise(self.size(1, self.most))
        for _ in range(1 + self.chance(0.3)):
            self.pool() if self.chance(0.15) else self.depthwise()
        if self.chance(0.2):
            self.excite()
        if self.chance(0.85):
            keeps = self.chance(0.7)
            self.pointwise(self.builder.channels(before) if keeps else self.size(1, self.most))
        same = self.builder.shape(before) == self.builder.shape(self.last)
        if same and before != self.last and self.chance(0.7):
            self.last = self.builder.add(self.name("add"), before, self.last)


def windowed_network(rng: np.random.Generator, most: int = 9) -> Network:
    """Return a network of one or two blocks with windows, of up to ``most`` channels."""
    blocks = WindowBlocks(rng, most)
    for _ in range(1 + blocks.chance(0.3)):
        blocks.block()
    if not blocks.count:
        blocks.pointwise(2)
    return blocks.builder.network("windowed").with_batch(blocks.size(1, 2))


def small_windows(rng: np.random.Generator, *, skipping: bool = False) -> Network:
    """Return a network of one block, two to five layers, with a depthwise layer or a pool; those of
    which windows leave out rows or columns between them are for ``skipping``."""
    while True:
        blocks = WindowBlocks(rng, 5)
        blocks.block()
        network = blocks.builder.network("block")
        layers = tuple(range(len(network.layers)))
        if len(layers) > 5 or nestable(network, layers) is None:
            continue
        windows = any(layer.g > 1 and not windowless(layer) for layer in network.layers)
        if windows and skips_words(network, layers) == skipping:
            return network.with_batch(blocks.size(1, 2))


def windowed_case(rng: np.random.Generator, most: int = 9, *, dealt: bool = False) -> NestCase:
    """Return a group with a window and a nest around it that obeys the rules; one that cores share
    out if it is ``dealt``."""
    while True:
        network = windowed_network(rng, most)
        members = random_members(rng, network)
        layers = [network.layers[i] for i in members]
        if all(map(windowless, layers)):
            continue
        found = random_nest(rng, network, members, dealt=dealt)
        if found is not None:
            return NestCase(network, members, *found)
