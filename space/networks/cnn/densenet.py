"""DenseNet-161 (Huang et al., "Densely connected convolutional networks", CVPR 2017)."""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: layers of each block (Huang et al., Table 1), new channels of a layer, and of the stem
_BLOCKS: Final = (6, 12, 36, 24)
_GROWTH, _STEM = 48, 96


def densenet161() -> Network:
    """DenseNet-161 (growth 48) for 224x224 ImageNet (Huang et al., Table 1, and torchvision).

    A layer reads all maps of its block side by side, through a batch norm and ReLU of its own that
    no convolution before it can take up.
    """
    net = Builder((3, 224, 224))
    x = net.conv("conv0", INPUT, _STEM, kernel=7, stride=2, activation="relu")
    maps: tuple[str, ...] = (net.maxpool("pool0", x, kernel=3, stride=2, pad=1),)
    for block, layers in enumerate(_BLOCKS, start=1):
        if block > 1:
            maps = (_transition(net, f"transition{block - 1}", maps),)
        for layer in range(1, layers + 1):
            maps = (*maps, _layer(net, f"block{block}.{layer}", maps))
    x = net.norm("norm5", maps, activation="relu")
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("densenet161")


def _layer(net: Builder, name: str, maps: tuple[str, ...]) -> str:
    x = net.norm(f"{name}.norm", maps, activation="relu")
    # a bottleneck of four times the growth (Huang et al., section 3)
    x = net.conv(f"{name}.conv1", x, 4 * _GROWTH, activation="relu")
    return net.conv(f"{name}.conv2", x, _GROWTH, kernel=3, batch_norm=False, bias=False)


def _transition(net: Builder, name: str, maps: tuple[str, ...]) -> str:
    x = net.norm(f"{name}.norm", maps, activation="relu")
    x = net.conv(f"{name}.conv", x, net.channels(x) // 2, batch_norm=False, bias=False)
    return net.avgpool(f"{name}.pool", x, kernel=2, stride=2)
