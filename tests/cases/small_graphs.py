"""Small networks of which all plans can be looked at."""

from archloom.space.networks.registry import network
from archloom.space.networks.transformers.transformer import SequenceBuilder
from archloom.space.workload.network import INPUT, Network

from .small_designs import chain, graph


def classified() -> Network:
    """Linear layers over 64 positions, of which the classifier reads one."""
    net = SequenceBuilder((32, 64, 1))
    x = net.linear("mixed", INPUT, 64)
    x = net.linear("expanded", x, 128)
    x = net.linear("contracted", x, 64)
    net.linear("classes", net.position(x, 0), 10)
    return net.network("classified")


SMALL = {
    "chain": chain(5),
    "wide chain": chain(4, size=32, channels=16),
    "residual": network("tiny_cnn"),
    "diamond": graph([(-1,), (0,), (0,), (1, 2)], size=16),
    "two heads": graph([(-1,), (0,), (1,), (0,), (-1, 3)], size=16),
    "one position": classified(),
}
