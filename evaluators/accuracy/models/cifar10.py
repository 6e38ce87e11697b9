"""Models for small images, 32x32 as they are: ResNet-18, MobileNetV1 and V2, VGG-16.

They are those of DLAS (Gibson et al., ACM TACO 2024, section 4.1), which takes them from a library
after K. Liu's pytorch-cifar. Parameters have the names of that library.
"""

from typing import TYPE_CHECKING, Final

from archloom.space.networks.cnn import V1_BLOCKS, V2_STAGES

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from .builder import ModelBuilder

#: channels of the stages of ResNet-18 (He et al., CVPR 2016, Table 1), two blocks each
_RESNET: Final = (64, 128, 256, 512)

#: channels of each convolution, 0 for a pool (Simonyan and Zisserman, ICLR 2015, Table 1, column D)
_VGG: Final = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)


def resnet18(net: "ModelBuilder", classes: int) -> "GraphModule":
    """ResNet-18 with a 3x3 stem, without stride and pool."""
    x = _unit(net, "conv1", "bn1", net.image, net.wide(64), kernel=3)
    x = net.activation(x, "relu")
    for stage, channels in enumerate(_RESNET, start=1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _basic_block(net, f"layer{stage}.{block}", x, net.wide(channels), stride)
    return net.classified("linear", net.global_average(x), classes)


def _basic_block(
    net: "ModelBuilder", name: str, source: "Node", channels: int, stride: int
) -> "Node":
    x = _unit(net, f"{name}.conv1", f"{name}.bn1", source, channels, kernel=3, stride=stride)
    x = net.activation(x, "relu")
    x = _unit(net, f"{name}.conv2", f"{name}.bn2", x, channels, kernel=3)
    shortcut = source
    if stride > 1 or net.shape(source)[0] != channels:
        shortcut = _unit(
            net, f"{name}.shortcut.0", f"{name}.shortcut.1", source, channels, stride=stride
        )
    return net.activation(net.add(x, shortcut), "relu")


def mobilenetv1(net: "ModelBuilder", classes: int) -> "GraphModule":
    """MobileNetV1 with a stem without stride."""
    x = _unit(net, "conv1", "bn1", net.image, net.wide(32), kernel=3)
    x = net.activation(x, "relu")
    for block, (channels, stride) in enumerate(V1_BLOCKS):
        name = f"layers.{block}"
        x = net.depthwise(f"{name}.conv1", x, stride=stride)
        x = net.activation(net.norm(f"{name}.bn1", x), "relu")
        x = _unit(net, f"{name}.conv2", f"{name}.bn2", x, net.wide(channels))
        x = net.activation(x, "relu")
    return net.classified("linear", net.global_average(x), classes)


def mobilenetv2(net: "ModelBuilder", classes: int) -> "GraphModule":
    """MobileNetV2 with ReLU, stem and second stage without stride."""
    x = _unit(net, "conv1", "bn1", net.image, net.wide(32), kernel=3)
    x = net.activation(x, "relu")
    position = 0
    for stage, (expansion, channels, blocks, first) in enumerate(V2_STAGES, start=1):
        for block in range(blocks):
            # as pytorch-cifar, for maps of 32x32
            stride = first if block == 0 and stage > 2 else 1
            name = f"layers.{position}"
            x = _inverted(net, name, x, net.wide(channels), stride, expansion)
            position += 1
    x = _unit(net, "conv2", "bn2", x, net.wide(1280))
    return net.classified("linear", net.global_average(net.activation(x, "relu")), classes)


def _inverted(
    net: "ModelBuilder", name: str, source: "Node", channels: int, stride: int, expansion: int
) -> "Node":
    wide = net.shape(source)[0] * expansion
    x = net.activation(_unit(net, f"{name}.conv1", f"{name}.bn1", source, wide), "relu")
    x = net.norm(f"{name}.bn2", net.depthwise(f"{name}.conv2", x, stride=stride))
    x = _unit(net, f"{name}.conv3", f"{name}.bn3", net.activation(x, "relu"), channels)
    if stride > 1:
        return x
    shortcut = source
    if net.shape(source)[0] != channels:
        shortcut = _unit(net, f"{name}.shortcut.0", f"{name}.shortcut.1", source, channels)
    return net.add(x, shortcut)


def vgg16(net: "ModelBuilder", classes: int) -> "GraphModule":
    """VGG-16 with batch norm after the biased convolutions, and one classifying layer.

    The last pool takes what is left of the map.
    """
    x, position = net.image, 0
    for channels in _VGG[:-1]:
        if channels:
            x = net.conv(f"features.{position}", x, net.wide(channels), kernel=3, bias=True)
            x = net.activation(net.norm(f"features.{position + 1}", x), "relu")
        else:
            x = net.max_pool(x, kernel=2, stride=2)
        position += 3 if channels else 1
    return net.classified("classifier", net.global_max(x), classes)


def _unit(
    net: "ModelBuilder",
    conv: str,
    norm: str,
    source: "Node",
    channels: int,
    *,
    kernel: int = 1,
    stride: int = 1,
) -> "Node":
    return net.norm(norm, net.conv(conv, source, channels, kernel, stride))
