"""Networks for CIFAR-10, 32x32 and ten classes, as DLAS uses them.

DLAS (Gibson et al., ACM TACO 2024, section 4.1) takes them from a library after K. Liu's
pytorch-cifar, the variants in common use: stems and early stages are not strided, no pool follows
the stem, and one layer classifies. So are these. Assumption: DLAS prints rounded counts alone
(Table 2). Its parameters are met; its MACs lie 0.2 to 8 percent above these, as if batch norms and
activations were counted too.
"""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network

from . import mobilenet, resnet, vgg

_INPUT: Final = (3, 32, 32)
_CLASSES: Final = 10


def resnet18_cifar10() -> Network:
    """ResNet-18 for CIFAR-10: a 3x3 stem without stride and pool."""
    net = Builder(_INPUT)
    x = net.conv("conv1", INPUT, 64, kernel=3, activation="relu")
    return _classified(net, resnet.basic_stages(net, x), "resnet18_cifar10")


def mobilenetv1_cifar10() -> Network:
    """MobileNetV1 for CIFAR-10: a stem without stride."""
    net = Builder(_INPUT)
    x = net.conv("conv1", INPUT, 32, kernel=3, activation="relu")
    return _classified(net, mobilenet.separable_blocks(net, x), "mobilenetv1_cifar10")


def mobilenetv2_cifar10() -> Network:
    """MobileNetV2 for CIFAR-10: stem and second stage without stride, ReLU.

    Unlike for ImageNet the first block expands too, to as many channels, and blocks that keep the
    map's size but not its channels project their shortcut.
    """
    net = Builder(_INPUT)
    x = net.conv("conv1", INPUT, 32, kernel=3, activation="relu")
    for stage, (expansion, channels, blocks, first) in enumerate(mobilenet.V2_STAGES, start=1):
        for block in range(blocks):
            stride = first if block == 0 and stage > 2 else 1
            x = _projected(net, f"stage{stage}.{block}", x, channels, stride, expansion)
    x = net.conv("conv_last", x, 1280, activation="relu")
    return _classified(net, x, "mobilenetv2_cifar10")


def _projected(
    net: Builder, name: str, source: str, channels: int, stride: int, expansion: int
) -> str:
    x = net.conv(f"{name}.expand", source, net.channels(source) * expansion, activation="relu")
    x = net.depthwise(f"{name}.depthwise", x, stride=stride, activation="relu")
    x = net.conv(f"{name}.project", x, channels)
    if stride > 1:
        return x
    shortcut = source
    if net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", source, channels)
    return net.add(f"{name}.add", x, shortcut)


def vgg16_cifar10() -> Network:
    """VGG-16 for CIFAR-10: batch norm after the biased convolutions, one classifying layer."""
    net = Builder(_INPUT)
    net.gemm("fc", vgg.features(net, batch_norm=True), _CLASSES)
    return net.network("vgg16_cifar10")


def _classified(net: Builder, source: str, name: str) -> Network:
    net.gemm("fc", net.global_avgpool("avgpool", source), _CLASSES)
    return net.network(name)
