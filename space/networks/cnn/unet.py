"""U-Net (Ronneberger et al., MICCAI 2015)."""

from functools import partial

from archloom.space.workload import INPUT, Builder, Network, Source


def unet() -> Network:
    """U-Net as published: 572x572 in, 388x388 out (Ronneberger et al., Figure 1).

    Convolutions are not padded. On the way up, the first convolution of each step reads the middle
    of the map that the way down left at that depth beside what the 2x2 up-convolution made. All
    convolutions have a bias; dropout is for training.
    """
    net = Builder((1, 572, 572))
    x, left = INPUT, []
    for depth, channels in enumerate((64, 128, 256, 512)):
        left.append(_convolutions(net, f"down{depth}", x, channels))
        x = net.maxpool(f"down{depth}.pool", left[-1], kernel=2, stride=2)
    x = _convolutions(net, "bottom", x, 1024)
    for depth in (3, 2, 1, 0):
        name, channels = f"up{depth}", net.channels(left[depth])
        x = net.up_conv(f"{name}.up", x, channels, kernel=2, stride=2)
        middle = net.crop(left[depth], *net.shape(x)[1:])
        x = _convolutions(net, name, (middle, x), channels)
    net.conv("classes", x, 2, batch_norm=False)
    return net.network("unet")


def _convolutions(net: Builder, name: str, source: Source, channels: int) -> str:
    conv = partial(net.conv, kernel=3, padding=0, batch_norm=False, activation="relu")
    return conv(f"{name}.conv2", conv(f"{name}.conv1", source, channels), channels)
