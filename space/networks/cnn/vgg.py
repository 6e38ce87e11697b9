"""VGG-16 (Simonyan and Zisserman, ICLR 2015)."""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: channels and convolutions of each stage (Simonyan and Zisserman, Table 1, column D)
_STAGES: Final = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def features(net: Builder, *, batch_norm: bool) -> str:
    """Add the convolutions and pools; convolutions have a bias, with or without batch norm."""
    x = INPUT
    for stage, (channels, convolutions) in enumerate(_STAGES, start=1):
        for i in range(1, convolutions + 1):
            x = net.conv(
                f"conv{stage}_{i}",
                x,
                channels,
                kernel=3,
                bias=True,
                batch_norm=batch_norm,
                activation="relu",
            )
        x = net.maxpool(f"pool{stage}", x, kernel=2, stride=2)
    return x


def vgg16() -> Network:
    """VGG-16 for 224x224 ImageNet (Simonyan and Zisserman, ICLR 2015, Table 1, column D)."""
    net = Builder((3, 224, 224))
    x = net.flatten("fc6", features(net, batch_norm=False), 4096, activation="relu")
    x = net.gemm("fc7", x, 4096, activation="relu")
    net.gemm("fc8", x, 1000)
    return net.network("vgg16")
