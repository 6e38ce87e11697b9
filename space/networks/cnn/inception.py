"""Inception-v3 (Szegedy et al., "Rethinking the Inception architecture", CVPR 2016)."""

from collections.abc import Iterable
from typing import Final

from archloom.space.workload import INPUT, Builder, Network, Size, Source

#: channels after the pool of the three modules of 35x35 (as released; the paper gives none)
_POOLED: Final = (32, 64, 64)

#: channels between the factors of a 7x7 in the four modules of 17x17 (as released)
_BETWEEN: Final = (128, 160, 160, 192)

#: (channels, kernel) of one convolution after another
_Chain = tuple[tuple[int, Size], ...]


def inception_v3() -> Network:
    """Inception-v3 for 299x299 ImageNet (Szegedy et al., CVPR 2016, Table 1, Figures 5 to 7).

    As torchvision has it, whose channels are those of the authors' release; without the auxiliary
    classifier, which only training needs.
    """
    net = Builder((3, 299, 299))
    x = _stem(net)
    for module, pooled in zip("bcd", _POOLED, strict=True):
        chains: tuple[_Chain, ...] = (
            ((64, 1),),
            ((48, 1), (64, 5)),
            ((64, 1), (96, 3), (96, 3)),
        )
        x = _module(net, f"mixed5{module}", x, chains, pooled)
    x = _reduction(net, "mixed6a", x, (((384, 3),), ((64, 1), (96, 3), (96, 3))))
    for module, wide in zip("bcde", _BETWEEN, strict=True):
        seven = ((wide, (7, 1)), (wide, (1, 7)), (wide, (7, 1)))
        chains = (
            ((192, 1),),
            ((wide, 1), (wide, (1, 7)), (192, (7, 1))),
            ((wide, 1), *seven, (192, (1, 7))),
        )
        x = _module(net, f"mixed6{module}", x, chains, 192)
    seven_last = ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3))
    x = _reduction(net, "mixed7a", x, (((192, 1), (320, 3)), seven_last))
    for module in "bc":
        x = _widest(net, f"mixed7{module}", x)
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("inception_v3")


def _stem(net: Builder) -> Source:
    x = net.conv("conv1a", INPUT, 32, kernel=3, stride=2, padding=0, activation="relu")
    x = net.conv("conv2a", x, 32, kernel=3, padding=0, activation="relu")
    x = net.conv("conv2b", x, 64, kernel=3, activation="relu")
    x = net.maxpool("pool1", x, kernel=3, stride=2)
    x = net.conv("conv3b", x, 80, activation="relu")
    x = net.conv("conv4a", x, 192, kernel=3, padding=0, activation="relu")
    return net.maxpool("pool2", x, kernel=3, stride=2)


def _chain(net: Builder, name: str, source: Source, chain: _Chain, *, halved: bool = False) -> str:
    """Add convolutions one after another; the last may halve the map, which is not padded then."""
    *before, (channels, kernel) = chain
    x = source
    for i, (between, size) in enumerate(before, start=1):
        x = net.conv(f"{name}_{i}", x, between, kernel=size, activation="relu")
    return net.conv(
        f"{name}_{len(chain)}",
        x,
        channels,
        kernel=kernel,
        stride=2 if halved else 1,
        padding=0 if halved else None,
        activation="relu",
    )


def _chains(net: Builder, name: str, source: Source, chains: Iterable[_Chain]) -> tuple[str, ...]:
    return tuple(_chain(net, f"{name}.{i}", source, c) for i, c in enumerate(chains, start=1))


def _pooled(net: Builder, name: str, source: Source, channels: int) -> str:
    mean = net.avgpool(f"{name}.pool", source, kernel=3, stride=1, pad=1)
    return net.conv(f"{name}.pool_proj", mean, channels, activation="relu")


def _module(
    net: Builder, name: str, source: Source, chains: Iterable[_Chain], pooled: int
) -> Source:
    return (*_chains(net, name, source, chains), _pooled(net, name, source, pooled))


def _reduction(net: Builder, name: str, source: Source, chains: Iterable[_Chain]) -> Source:
    """Halve the map by convolutions and a pool side by side (Figure 10)."""
    halves = [
        _chain(net, f"{name}.{i}", source, chain, halved=True)
        for i, chain in enumerate(chains, start=1)
    ]
    return (*halves, net.maxpool(f"{name}.pool", source, kernel=3, stride=2))


def _widest(net: Builder, name: str, source: Source) -> Source:
    """Add a module of 8x8, whose 3x3 kernels end in a 1x3 beside a 3x1 (Figure 7)."""
    first = _chain(net, f"{name}.1", source, ((320, 1),))
    second = _spread(net, f"{name}.2", source, ((384, 1),))
    third = _spread(net, f"{name}.3", source, ((448, 1), (384, 3)))
    return (first, *second, *third, _pooled(net, name, source, 192))


def _spread(net: Builder, name: str, source: Source, chain: _Chain) -> tuple[str, ...]:
    x = _chain(net, name, source, chain)
    return tuple(
        net.conv(f"{name}_{r}x{s}", x, 384, kernel=(r, s), activation="relu")
        for r, s in ((1, 3), (3, 1))
    )
