"""Small networks for trying things."""

from archloom.space.workload import INPUT, Builder, Network

from .cnn import basic_block, inverted_residual


def tiny_cnn() -> Network:
    """A small network for trying things: convolutions, a residual block, pools, a classifier."""
    net = Builder((3, 16, 16))
    x = net.conv("conv1", INPUT, 8, kernel=3, activation="relu")
    x = basic_block(net, "block", x, 8, stride=1)
    x = net.maxpool("maxpool", x, kernel=2, stride=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_cnn")


def tiny_mobile() -> Network:
    """A small network for trying things: strided and residual depthwise blocks."""
    net = Builder((8, 16, 16))
    x = inverted_residual(net, "block1", INPUT, 12, stride=2, expansion=2)
    x = inverted_residual(net, "block2", x, 12, stride=1, expansion=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_mobile")


def tiny_mlp() -> Network:
    """A small network for trying things: three matrix products over sixteen rows."""
    net = Builder((64, 16, 1))
    x = net.gemm("fc1", INPUT, 128, activation="relu")
    x = net.gemm("fc2", x, 64, activation="relu")
    net.gemm("fc3", x, 10)
    return net.network("tiny_mlp")
