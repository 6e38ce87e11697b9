"""Folding: layers of the vector unit that run with the layer of the MAC array beside them.

A compiler does element-wise work on values as they leave the array, or on their way to it (FAST,
Zhang et al., ASPLOS 2022, footnote 3). The layers stay in the network; what runs together is a
:class:`Computation`, which a plan has as one group.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from archloom.space.workload import ACTIVATIONS, Layer, Network, remembered

from .running_order import group_order

#: operators that make each value of a result from the values at its place
_ELEMENTWISE: Final = frozenset(("add", "mul", "div", "scale_shift", *ACTIVATIONS))
_POOLS: Final = frozenset(("maxpool", "avgpool"))


@dataclass(frozen=True)
class Computation:
    """Layers that run together: one of the MAC array, or any other by itself.

    Attributes:
        host: position of the layer of the array, or of the layer by itself.
        before: layers that work on the host's input on its way to the array, in running order.
        after: layers that work on its result as it leaves the array, in running order, each on what
            the one before it makes.
        pools: that take in the host's result as it leaves, while others read it too.
    """

    host: int
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    pools: tuple[int, ...] = ()

    @property
    def folded(self) -> tuple[int, ...]:
        """Layers that are folded, in running order."""
        return (*self.before, *self.after, *self.pools)

    @property
    def layers(self) -> tuple[int, ...]:
        """All its layers, by position."""
        return tuple(sorted((self.host, *self.folded)))

    @property
    def results(self) -> tuple[int, ...]:
        """Layers whose results others may read, the main one first."""
        return (self.result, *self.pools)

    @property
    def result(self) -> int:
        """The layer whose result replaces that of the host."""
        return self.after[-1] if self.after else self.host


def fold(network: Network) -> Network:
    """Return the network with its layers of the vector unit folded wherever that is possible."""
    return replace(network, folded=True)


@remembered
def computations(network: Network) -> tuple[Computation, ...]:
    """Return what runs together in a network, in running order.

    Of a network that is not folded, that is each layer by itself. Of one that is,

    - an element-wise layer, or a pool whose windows do not overlap, is folded into the layer of
      the array (or what is folded into that already) whose result it reads, if nobody else reads
      it. Of two such layers whose results are added, it is folded into the later one;
    - such a pool is folded into a layer of the array whose result others read as well, for it takes
      in each value once, as that leaves the array;
    - an element-wise layer of one feature map, with or without a value for each channel, that was
      not folded so, is folded into the layer of the array that alone reads its result.
    """
    taken: set[int] = set()
    found: dict[int, Computation] = {}
    if network.folded:
        hosts = [i for i, layer in enumerate(network.layers) if _hosts(layer)]
        for host in reversed(hosts):
            after = tuple(_after(network, host, taken))
            taken |= {*after}
            found[host] = Computation(host, (), after)
        for host in hosts:
            pools = () if found[host].after else tuple(_pools(network, host, taken))
            taken |= {*pools}
            before = tuple(_before(network, host, taken))[::-1]
            taken |= {*before}
            found[host] = replace(found[host], before=before, pools=pools)
    layers = range(len(network.layers))
    groups = [found.get(i, Computation(i)) for i in layers if i not in taken]
    return tuple(_in_order(network, groups))


@remembered
def computation_numbers(network: Network) -> tuple[int, ...]:
    """Return for each layer the number of its computation, in running order."""
    homes = {i: n for n, one in enumerate(computations(network)) for i in one.layers}
    return tuple(homes[i] for i in range(len(network.layers)))


@remembered
def computation_of(network: Network) -> dict[tuple[int, ...], Computation]:
    """Return the computations that layers are folded into, by their layers."""
    return {found.layers: found for found in computations(network) if found.folded}


def _in_order(network: Network, groups: list[Computation]) -> Iterator[Computation]:
    order = group_order(network, [one.layers for one in groups])
    assert order is not None, "a computation has one way out, or none that leads back"
    return (groups[g] for g in order)


def _hosts(layer: Layer) -> bool:
    return layer.uses_macs and layer.interleave is None


def _after(network: Network, host: int, taken: set[int]) -> Iterator[int]:
    last = host
    while not _leaves(network, last) and len(readers := network.consumers[last]) == 1:
        reader = readers[0]
        if reader in taken or not _follows(network, last, reader):
            return
        yield reader
        last = reader


def _pools(network: Network, host: int, taken: set[int]) -> Iterator[int]:
    for reader in network.consumers[host]:
        layer = network.layers[reader]
        if reader not in taken and _takes_once(layer) and layer.slice_of(0) is None:
            yield reader


def _before(network: Network, host: int, taken: set[int]) -> Iterator[int]:
    reader = host
    while len(network.layers[reader].map_channels) == 1:
        source = network.reads[reader][0]
        maker = next((i for i in network.producers[reader] if i == _position(network, source)), -1)
        if maker < 0 or maker in taken or _leaves(network, maker):
            return
        layer = network.layers[maker]
        alone = network.consumers[maker] == (reader,) and network.reads[reader].count(source) == 1
        one_map = layer.operator in _ELEMENTWISE and len(layer.map_channels) == 1
        if not (alone and one_map and _whole(network, reader, 0) and _whole(network, maker, 0)):
            return
        yield maker
        reader = maker


def _position(network: Network, source: str) -> int:
    try:
        return network.index(source)
    except KeyError:
        return -1


def _follows(network: Network, maker: int, reader: int) -> bool:
    """Whether ``reader`` can work on the result of ``maker`` value by value."""
    layer, sources = network.layers[reader], network.reads[reader]
    windowed = len(layer.map_channels)
    at = [n for n, source in enumerate(sources) if source == network.layers[maker].name]
    if any(n >= windowed or not _whole(network, reader, n) for n in at):
        return False
    return layer.operator in _ELEMENTWISE or _takes_once(layer)


def _whole(network: Network, reader: int, operand: int) -> bool:
    """Whether a layer reads all of a map as it is, not a part, or several side by side."""
    layer, source = network.layers[reader], network.reads[reader][operand]
    one = not layer.parts and layer.slice_of(operand) is None
    return one and network.map_shape(source) == (layer.map_channels[operand], *layer.input_size)


def _takes_once(layer: Layer) -> bool:
    """Whether a layer is a pool that takes in each value for one result at most."""
    sizes = zip((layer.p, layer.q), (layer.r, layer.s), layer.stride, strict=True)
    return (
        layer.operator in _POOLS
        and layer.dilation == (1, 1)
        and all(made == 1 or step >= taps for made, taps, step in sizes)
    )


def _leaves(network: Network, position: int) -> bool:
    return network.layers[position].name in network.leaving
