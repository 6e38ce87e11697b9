"""EfficientNets (Tan and Le, ICML 2019), for ImageNet.

Blocks are MobileNetV2's with squeeze-and-excite (Hu et al., CVPR 2018) between depthwise and
projection, as the reference implementation has them: excitation squeezes to a quarter of the
block's input channels, and its two layers have a bias. Swish, and the sigmoid of the excitation,
are folded into the convolutions before them; pool and scaling are layers.
"""

from math import ceil
from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: expansion, kernel, stride, channels, blocks of each stage of B0 (Tan and Le, Table 1)
B0_STAGES: Final = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
_STEM, _HEAD, _CLASSES = 32, 1280, 1000

#: width, depth and resolution of B0 to B7, in percent and rows (reference implementation)
_SCALES: Final = (
    (100, 100, 224),
    (100, 110, 240),
    (110, 120, 260),
    (120, 140, 300),
    (140, 180, 380),
    (160, 220, 456),
    (180, 260, 528),
    (200, 310, 600),
)


def efficientnet(model: int) -> Network:
    """Return EfficientNet-B0 to B7.

    Raises:
        IndexError: another number than 0 to 7.
    """
    width, depth, rows = _SCALES[model]
    net = Builder((3, rows, rows))
    x = net.conv("stem", INPUT, _wide(_STEM, width), kernel=3, stride=2, activation="silu")
    for stage, (expansion, kernel, first, channels, blocks) in enumerate(B0_STAGES, start=1):
        for block in range(ceil(blocks * depth / 100)):
            stride = first if block == 0 else 1
            name = f"stage{stage}.{block}"
            x = _block(net, name, x, _wide(channels, width), kernel, stride, expansion)
    x = net.conv("head", x, _wide(_HEAD, width), activation="silu")
    net.gemm("fc", net.global_avgpool("avgpool", x), _CLASSES)
    return net.network(f"efficientnet_b{model}")


def _wide(channels: int, percent: int) -> int:
    """Scale channels to the nearest multiple of 8 that is not below nine tenths of them."""
    # in hundredths, for exact halves; the reference implementation's rounding
    exact = channels * percent
    rounded = max(8, (exact + 400) // 800 * 8)
    return rounded + 8 if rounded * 1000 < 9 * exact else rounded


def _block(
    net: Builder, name: str, source: str, channels: int, kernel: int, stride: int, expansion: int
) -> str:
    before = net.channels(source)
    x = source
    if expansion > 1:
        x = net.conv(f"{name}.expand", x, before * expansion, activation="silu")
    x = net.depthwise(f"{name}.depthwise", x, stride=stride, kernel=kernel, activation="silu")
    mean = net.global_avgpool(f"{name}.squeeze", x)
    squeezed = net.conv(
        f"{name}.reduce", mean, max(1, before // 4), batch_norm=False, activation="silu"
    )
    gates = net.conv(
        f"{name}.excite", squeezed, net.channels(x), batch_norm=False, activation="sigmoid"
    )
    x = net.conv(f"{name}.project", net.scale(f"{name}.scale", x, gates), channels)
    if stride > 1 or before != channels:
        return x
    return net.add(f"{name}.add", x, source)
