"""Small networks of sums and concatenations, for tests of facts about graphs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv2d
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.network_builder import Builder


def graph(reads: Sequence[Iterable[int | str]], beside: Collection[int] = ()) -> Network:
    """Return sums of maps of one word: layer ``i`` reads ``reads[i]``, where -1 is the input.

    Layers ``beside`` read their maps side by side, as channels of one.
    """
    names = [
        tuple(r if isinstance(r, str) else f"l{r}" if r >= 0 else INPUT for r in sources)
        for sources in reads
    ]
    layers = [
        Layer(f"l{i}", "conv", c=len(sources), operands=len(sources), parts=(1,) * len(sources))
        if i in beside
        else Layer(f"l{i}", "add", operands=len(sources))
        for i, sources in enumerate(names)
    ]
    return Network("graph", tuple(layers), tuple(names))


@st.composite
def graphs(draw: st.DrawFn, most: int = 9, concatenations: bool = False) -> Network:
    """Draw any graph: several sources and sinks, maps read twice by one layer."""
    reads: list[list[int]] = []
    for i in range(draw(st.integers(1, most))):
        if concatenations and reads and draw(st.integers(0, 2)) == 0:
            reads.append(draw(st.sampled_from(reads)))
        else:
            reads.append(draw(st.lists(st.integers(-1, i - 1), min_size=1, max_size=3)))
    beside = draw(st.sets(st.integers(0, len(reads) - 1))) if concatenations else ()
    return graph(reads, beside)


def descending(network: Network, start: int, avoid: int | None = None) -> set[int]:
    """Layers that depend on ``start``, itself included, by ways that do not use ``avoid``."""
    found: set[int] = set()
    frontier = [] if start == avoid else [start]
    while frontier:
        layer = frontier.pop()
        found.add(layer)
        name = network.layers[layer].name
        frontier += [
            i
            for i, sources in enumerate(network.reads)
            if name in sources and i != avoid and i not in found
        ]
    return found


def dense(layers: int) -> Network:
    """A block in which each convolution reads all results before it, as in DenseNet."""
    net = Builder((4, 8, 8))
    made = [net.conv("conv0", INPUT, 4)]
    for i in range(1, layers):
        parts = (4,) * len(made)
        layer = conv2d(f"conv{i}", sum(parts), 4, 8, 3, padding=1)
        if len(made) > 1:
            layer = replace(layer, parts=parts, operands=len(parts))
        made.append(net.append(layer, *made))
    return net.network("dense")
