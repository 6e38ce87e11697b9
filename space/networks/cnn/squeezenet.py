"""SqueezeNets (Iandola et al., arXiv:1602.07360), for 224x224 ImageNet.

Pools are as in the authors' release and in torchvision: their last windows reach beyond the map.
Squeezed maps are expanded by 1x1 and 3x3 convolutions whose results lie side by side.
"""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network, Source

#: squeezed channels, and channels of each of both expansions, of fire modules 2 to 9 (Table 1)
_FIRES: Final = (
    (16, 64),
    (16, 64),
    (32, 128),
    (32, 128),
    (48, 192),
    (48, 192),
    (64, 256),
    (64, 256),
)


def squeezenet1_0() -> Network:
    """SqueezeNet 1.0: pools before fire modules 2, 5 and 9 (Iandola et al., Table 1)."""
    return _squeezenet("squeezenet1_0", channels=96, kernel=7, pooled=(2, 5, 9))


def squeezenet1_1() -> Network:
    """SqueezeNet 1.1, the authors' later release: a smaller stem, pools before 2, 4 and 6."""
    return _squeezenet("squeezenet1_1", channels=64, kernel=3, pooled=(2, 4, 6))


def _squeezenet(name: str, *, channels: int, kernel: int, pooled: tuple[int, ...]) -> Network:
    net = Builder((3, 224, 224))
    x: Source = net.conv(
        "conv1",
        INPUT,
        channels,
        kernel=kernel,
        stride=2,
        padding=0,
        batch_norm=False,
        activation="relu",
    )
    for module, (squeezed, expanded) in enumerate(_FIRES, start=2):
        if module in pooled:
            x = net.maxpool(f"pool{module - 1}", x, kernel=3, stride=2, ceil=True)
        x = _fire(net, f"fire{module}", x, squeezed, expanded)
    x = net.conv("conv10", x, 1000, batch_norm=False, activation="relu")
    net.global_avgpool("avgpool", x)
    return net.network(name)


def _fire(net: Builder, name: str, source: Source, squeezed: int, expanded: int) -> Source:
    x = net.conv(f"{name}.squeeze", source, squeezed, batch_norm=False, activation="relu")
    return tuple(
        net.conv(
            f"{name}.expand{kernel}x{kernel}",
            x,
            expanded,
            kernel=kernel,
            batch_norm=False,
            activation="relu",
        )
        for kernel in (1, 3)
    )
