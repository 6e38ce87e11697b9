"""AlexNet (Krizhevsky et al., NeurIPS 2012)."""

from functools import partial

from archloom.space.workload import INPUT, Builder, Network


def alexnet() -> Network:
    """AlexNet in a single tower, for 224x224 ImageNet.

    As torchvision has it, after Krizhevsky ("One weird trick for parallelizing convolutional
    neural networks", arXiv:1404.5997): fewer channels than in two towers, no groups, no local
    response normalisation. The fourth convolution has 256 channels there, 384 in the paper.
    """
    net = Builder((3, 224, 224))
    conv = partial(net.conv, batch_norm=False, activation="relu")
    x = conv("conv1", INPUT, 64, kernel=11, stride=4, padding=2)
    x = net.maxpool("pool1", x, kernel=3, stride=2)
    x = conv("conv2", x, 192, kernel=5)
    x = net.maxpool("pool2", x, kernel=3, stride=2)
    x = conv("conv3", x, 384, kernel=3)
    x = conv("conv4", x, 256, kernel=3)
    x = conv("conv5", x, 256, kernel=3)
    return _classified(net, x, "alexnet")


def alexnet_original() -> Network:
    """AlexNet as it was trained, in two towers (Krizhevsky et al., NeurIPS 2012, section 3.5).

    The input is 227x227, from which the sizes that the paper states follow. Its two local
    response normalisations are left out (they have no parameters; Eyeriss counts none either).
    """
    net = Builder((3, 227, 227))
    conv = partial(net.conv, batch_norm=False, activation="relu")
    x = conv("conv1", INPUT, 96, kernel=11, stride=4, padding=0)
    x = net.maxpool("pool1", x, kernel=3, stride=2)
    x = conv("conv2", x, 256, kernel=5, groups=2)
    x = net.maxpool("pool2", x, kernel=3, stride=2)
    x = conv("conv3", x, 384, kernel=3)
    x = conv("conv4", x, 384, kernel=3, groups=2)
    x = conv("conv5", x, 256, kernel=3, groups=2)
    return _classified(net, x, "alexnet_original")


def _classified(net: Builder, source: str, name: str) -> Network:
    x = net.maxpool("pool5", source, kernel=3, stride=2)
    x = net.flatten("fc6", x, 4096, activation="relu")
    x = net.gemm("fc7", x, 4096, activation="relu")
    net.gemm("fc8", x, 1000)
    return net.network(name)
