"""Models for ImageNet, 224x224 as they are: ResNet-50, MobileNetV2, DenseNet-161, EfficientNet-B0.

DLAS (Gibson et al., ACM TACO 2024, section 4.1) takes them from torchvision. Parameters have
torchvision's names and shapes, so that its weights can be read. Dropout and stochastic depth, which
only change training, are left out.
"""

from typing import TYPE_CHECKING, Final

from archloom.space.networks.cnn import B0_STAGES, V2_STAGES

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from .builder import ModelBuilder

#: inner channels and blocks of each stage of ResNet-50 (He et al., CVPR 2016, Table 1)
_RESNET: Final = ((64, 3), (128, 4), (256, 6), (512, 3))

#: layers of each block of DenseNet-161 (Huang et al., CVPR 2017, Table 1), growth, stem
_DENSENET: Final = (6, 12, 36, 24)
_GROWTH, _STEM = 48, 96


def resnet50(net: "ModelBuilder", classes: int) -> "GraphModule":
    """ResNet-50, strided in its 3x3 convolutions."""
    x = net.norm("bn1", net.conv("conv1", net.image, net.wide(64), kernel=7, stride=2))
    x = net.max_pool(net.activation(x, "relu"), kernel=3, stride=2, pad=1)
    for stage, (inner, blocks) in enumerate(_RESNET, start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _bottleneck(net, f"layer{stage}.{block}", x, net.wide(inner), stride, block == 0)
    return net.classified("fc", net.global_average(x), classes)


def _bottleneck(
    net: "ModelBuilder", name: str, source: "Node", inner: int, stride: int, projected: bool
) -> "Node":
    x = net.norm(f"{name}.bn1", net.conv(f"{name}.conv1", source, inner))
    x = net.conv(f"{name}.conv2", net.activation(x, "relu"), inner, kernel=3, stride=stride)
    x = net.activation(net.norm(f"{name}.bn2", x), "relu")
    x = net.norm(f"{name}.bn3", net.conv(f"{name}.conv3", x, 4 * inner))
    shortcut = source
    if projected:
        shortcut = net.conv(f"{name}.downsample.0", source, 4 * inner, stride=stride)
        shortcut = net.norm(f"{name}.downsample.1", shortcut)
    return net.activation(net.add(x, shortcut), "relu")


def mobilenetv2(net: "ModelBuilder", classes: int) -> "GraphModule":
    """MobileNetV2 with ReLU6."""
    x = _unit(net, "features.0", net.image, net.wide(32), kernel=3, stride=2)
    x, position = net.activation(x, "relu6"), 1
    for expansion, channels, blocks, first in V2_STAGES:
        for block in range(blocks):
            stride = first if block == 0 else 1
            name = f"features.{position}.conv"
            x = _inverted(net, name, x, net.wide(channels), stride, expansion)
            position += 1
    x = net.activation(_unit(net, f"features.{position}", x, net.wide(1280)), "relu6")
    return net.classified("classifier.1", net.global_average(x), classes)


def _inverted(
    net: "ModelBuilder", name: str, source: "Node", channels: int, stride: int, expansion: int
) -> "Node":
    x, part = source, 0
    if expansion > 1:
        wide = net.shape(source)[0] * expansion
        x = net.activation(_unit(net, f"{name}.{part}", x, wide), "relu6")
        part += 1
    x = net.depthwise(f"{name}.{part}.0", x, stride=stride)
    x = net.activation(net.norm(f"{name}.{part}.1", x), "relu6")
    x = net.conv(f"{name}.{part + 1}", x, channels)
    x = net.norm(f"{name}.{part + 2}", x)
    return x if stride > 1 or net.shape(source)[0] != channels else net.add(source, x)


def densenet161(net: "ModelBuilder", classes: int) -> "GraphModule":
    """DenseNet-161: a layer reads all maps of its block side by side."""
    growth = net.wide(_GROWTH)
    x = net.conv("features.conv0", net.image, net.wide(_STEM), kernel=7, stride=2)
    x = net.activation(net.norm("features.norm0", x), "relu")
    maps = [net.max_pool(x, kernel=3, stride=2, pad=1)]
    for block, layers in enumerate(_DENSENET, start=1):
        if block > 1:
            maps = [_transition(net, f"features.transition{block - 1}", net.concat(maps))]
        for layer in range(1, layers + 1):
            name = f"features.denseblock{block}.denselayer{layer}"
            maps.append(_dense_layer(net, name, net.concat(maps), growth))
    x = net.activation(net.norm("features.norm5", net.concat(maps)), "relu")
    return net.classified("classifier", net.global_average(x), classes)


def _dense_layer(net: "ModelBuilder", name: str, source: "Node", growth: int) -> "Node":
    x = net.activation(net.norm(f"{name}.norm1", source), "relu")
    # a bottleneck of four times the growth (Huang et al., section 3)
    x = net.norm(f"{name}.norm2", net.conv(f"{name}.conv1", x, 4 * growth))
    return net.conv(f"{name}.conv2", net.activation(x, "relu"), growth, kernel=3)


def _transition(net: "ModelBuilder", name: str, source: "Node") -> "Node":
    x = net.activation(net.norm(f"{name}.norm", source), "relu")
    x = net.conv(f"{name}.conv", x, net.shape(x)[0] // 2)
    return net.average_pool(x, kernel=2)


def efficientnet_b0(net: "ModelBuilder", classes: int) -> "GraphModule":
    """EfficientNet-B0: MobileNetV2's blocks with squeeze-and-excite, and swish."""
    x = _unit(net, "features.0", net.image, net.wide(32), kernel=3, stride=2)
    x = net.activation(x, "silu")
    for stage, (expansion, kernel, first, channels, blocks) in enumerate(B0_STAGES, start=1):
        for block in range(blocks):
            stride = first if block == 0 else 1
            name = f"features.{stage}.{block}.block"
            x = _excited(net, name, x, (net.wide(channels), kernel, stride, expansion))
    x = net.activation(_unit(net, "features.8", x, net.wide(1280)), "silu")
    return net.classified("classifier.1", net.global_average(x), classes)


def _excited(
    net: "ModelBuilder", name: str, source: "Node", form: tuple[int, int, int, int]
) -> "Node":
    channels, kernel, stride, expansion = form
    before = net.shape(source)[0]
    x, part = source, 0
    if expansion > 1:
        x = net.activation(_unit(net, f"{name}.0", x, before * expansion), "silu")
        part = 1
    x = net.depthwise(f"{name}.{part}.0", x, kernel, stride)
    x = net.activation(net.norm(f"{name}.{part}.1", x), "silu")
    # to a quarter of the block's input channels (reference implementation)
    gates = net.conv(
        f"{name}.{part + 1}.fc1", net.global_average(x), max(1, before // 4), bias=True
    )
    gates = net.activation(gates, "silu")
    gates = net.conv(f"{name}.{part + 1}.fc2", gates, net.shape(x)[0], bias=True)
    x = net.scale(x, net.activation(gates, "sigmoid"))
    x = _unit(net, f"{name}.{part + 2}", x, channels)
    return x if stride > 1 or before != channels else net.add(x, source)


def _unit(
    net: "ModelBuilder",
    name: str,
    source: "Node",
    channels: int,
    *,
    kernel: int = 1,
    stride: int = 1,
) -> "Node":
    """A convolution and its batch norm, numbered as torchvision does."""
    return net.norm(f"{name}.1", net.conv(f"{name}.0", source, channels, kernel, stride))
