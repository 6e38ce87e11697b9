"""The generator of SRGAN (Ledig et al., CVPR 2017)."""

from functools import partial
from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: residual blocks, and times that the map is doubled (Ledig et al., Figure 4)
_BLOCKS, _DOUBLINGS = 16, 2
_CHANNELS: Final = 64


def srgan(*, rows: int = 96) -> Network:
    """SRGAN's generator, which makes 4 x ``rows`` square of ``rows`` square (Figure 4).

    Every convolution has a bias and every PReLU one slope for each channel, of which the paper
    says nothing; so have common implementations (assumption). It fits any size; 96 is ours.

    Raises:
        ValueError: ``rows`` is no size.
    """
    if rows < 1:
        raise ValueError(f"network srgan: rows is {rows}, must be at least 1")
    net = Builder((3, rows, rows))
    conv = partial(net.conv, kernel=3, bias=True)
    x = first = net.conv("conv1", INPUT, _CHANNELS, kernel=9, batch_norm=False, activation="prelu")
    for block in range(1, _BLOCKS + 1):
        y = conv(f"block{block}.conv1", x, _CHANNELS, activation="prelu")
        y = conv(f"block{block}.conv2", y, _CHANNELS)
        x = net.add(f"block{block}.add", y, x)
    x = net.add("add", conv("conv2", x, _CHANNELS), first)
    for i in range(1, _DOUBLINGS + 1):
        x = conv(f"up{i}", x, 4 * _CHANNELS, batch_norm=False, shuffle=2, activation="prelu")
    net.conv("conv3", x, 3, kernel=9, batch_norm=False)
    return net.network("srgan")
