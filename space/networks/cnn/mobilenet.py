"""MobileNets: depthwise convolutions between pointwise ones."""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: channels and stride of each block (Howard et al., Table 1, where the last stride of 2 is a slip:
#: maps stay 7x7)
V1_BLOCKS: Final = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)

#: expansion, channels, blocks, first stride of each stage (Sandler et al., CVPR 2018, Table 2)
V2_STAGES: Final = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def separable_blocks(net: Builder, source: str) -> str:
    """Add the thirteen blocks of MobileNetV1: a depthwise, then a 1x1 convolution."""
    x = source
    for block, (channels, stride) in enumerate(V1_BLOCKS, start=1):
        x = net.depthwise(f"block{block}.depthwise", x, stride=stride, activation="relu")
        x = net.conv(f"block{block}.pointwise", x, channels, activation="relu")
    return x


def mobilenetv1() -> Network:
    """MobileNetV1, width 1.0, for 224x224 ImageNet (Howard et al., arXiv:1704.04861, Table 1)."""
    net = Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 32, kernel=3, stride=2, activation="relu")
    net.gemm("fc", net.global_avgpool("avgpool", separable_blocks(net, x)), 1000)
    return net.network("mobilenetv1")


def inverted_residual(
    net: Builder, name: str, source: str, channels: int, stride: int, expansion: int
) -> str:
    """Expand, depthwise, project; the sum only where shapes agree (Sandler et al., Table 1)."""
    x = source
    if expansion > 1:
        wide = net.channels(source) * expansion
        x = net.conv(f"{name}.expand", x, wide, activation="relu6")
    x = net.depthwise(f"{name}.depthwise", x, stride=stride, activation="relu6")
    x = net.conv(f"{name}.project", x, channels)
    if stride > 1 or net.channels(source) != channels:
        return x
    return net.add(f"{name}.add", x, source)


def mobilenetv2() -> Network:
    """MobileNetV2, width 1.0, for 224x224 ImageNet (Sandler et al., CVPR 2018, Table 2)."""
    net = Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 32, kernel=3, stride=2, activation="relu6")
    for stage, (expansion, channels, blocks, first) in enumerate(V2_STAGES, start=1):
        for block in range(blocks):
            stride = first if block == 0 else 1
            x = inverted_residual(net, f"stage{stage}.{block}", x, channels, stride, expansion)
    x = net.conv("conv_last", x, 1280, activation="relu6")
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("mobilenetv2")
