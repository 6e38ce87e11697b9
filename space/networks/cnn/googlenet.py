"""GoogLeNet (Szegedy et al., "Going deeper with convolutions", CVPR 2015), for 224x224 ImageNet.

Auxiliary classifiers, which only training needs, are left out. Pools are as in Table 1's output
sizes and in the authors' release: their last windows reach beyond the map.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from archloom.space.workload import INPUT, Builder, Network, Source

#: channels of each inception module (Szegedy et al., Table 1): of the 1x1 branch; before and
#: after the 3x3; before and after the 5x5; after the pool
_MODULES: Final = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def googlenet() -> Network:
    """GoogLeNet as published: biases, no batch norm (Szegedy et al., Table 1).

    Its two local response normalisations are left out (they have no parameters).
    """
    return _googlenet("googlenet", batch_norm=False, widest=5, last_pool=3)


def googlenet_bn() -> Network:
    """GoogLeNet as torchvision has it: batch norm, and 3x3 kernels in place of the 5x5.

    Its fourth pool is 2x2.
    """
    return _googlenet("googlenet_bn", batch_norm=True, widest=3, last_pool=2)


def _googlenet(name: str, *, batch_norm: bool, widest: int, last_pool: int) -> Network:
    net = Builder((3, 224, 224))
    conv = partial(net.conv, batch_norm=batch_norm, activation="relu")
    pool = partial(net.maxpool, stride=2, ceil=True)
    x: Source = conv("conv1", INPUT, 64, kernel=7, stride=2)
    x = pool("pool1", x, kernel=3)
    x = conv("conv2.reduce", x, 64)
    x = conv("conv2", x, 192, kernel=3)
    x = pool("pool2", x, kernel=3)
    for module, channels in _MODULES.items():
        if module in ("4a", "5a"):
            before = int(module[0]) - 1
            x = pool(f"pool{before}", x, kernel=3 if module == "4a" else last_pool)
        x = _module(net, conv, f"inception{module}", x, channels, widest)
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network(name)


def _module(
    net: Builder,
    conv: Callable[..., str],
    name: str,
    source: Source,
    channels: tuple[int, ...],
    widest: int,
) -> Source:
    one, three_in, three, five_in, five, pooled = channels
    return (
        conv(f"{name}.1x1", source, one),
        conv(f"{name}.3x3", conv(f"{name}.3x3_reduce", source, three_in), three, kernel=3),
        conv(f"{name}.5x5", conv(f"{name}.5x5_reduce", source, five_in), five, kernel=widest),
        conv(
            f"{name}.pool_proj",
            net.maxpool(f"{name}.pool", source, kernel=3, stride=1, pad=1),
            pooled,
        ),
    )
