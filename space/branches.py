"""How a network branches: forks, joins, dominators, and where it is cut clean.

Maps that leave the network although layers read them are no way out here, and inputs from
outside are no way in but one: the first map that the first layer reads is the entrance. Other
inputs (states, caches, tables) stand in DRAM wherever the network is cut.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .fusion import components
from .graph_facts import bits, remembered
from .network import Network


def forks(network: Network) -> dict[str, tuple[int, ...]]:
    """Return the maps with several readers, inputs included, and these readers.

    Where branches begin; each such map is fetched, or held, for more than one layer.
    """
    readers: dict[str, list[int]] = {}
    for i, sources in enumerate(network.reads):
        for source in dict.fromkeys(sources):
            readers.setdefault(source, []).append(i)
    return {source: tuple(found) for source, found in readers.items() if len(found) > 1}


def joins(network: Network) -> tuple[int, ...]:
    """Return the layers that read the results of several layers: where branches end."""
    return tuple(i for i, made in enumerate(network.producers) if len(set(made)) > 1)


@remembered
def immediate_dominators(network: Network) -> tuple[int | None, ...]:
    """Return for each layer the last one that every path to it from outside runs through.

    None if there is none but the outside. For searches that want the layer at which the branches
    of a join began.
    """
    graph = _plain(network)
    return _nearest(
        [
            [*made, _OUTSIDE] if i in graph.entered or not made else made
            for i, made in enumerate(graph.producers)
        ]
    )


@remembered
def immediate_postdominators(network: Network) -> tuple[int | None, ...]:
    """Return for each layer the first one that every path from it to a result runs through.

    None if there is none but the outside: a result of the network, or branches that never meet.
    """
    return _plain(network).postdominators()


#: what stands before every layer of a graph
_OUTSIDE: Final = -1


def _nearest(before: Sequence[Sequence[int]]) -> tuple[int | None, ...]:
    """The immediate dominator of each node, from the nodes (or the outside) right before it.

    After Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001), of which a
    graph in topological order needs one pass.
    """
    found: list[int] = []
    for nodes in before:
        one, *others = nodes
        for other in others:
            while one != other:
                if one > other:
                    one = found[one]
                else:
                    other = found[other]
        found.append(one)
    return tuple(None if node == _OUTSIDE else node for node in found)


@dataclass(frozen=True)
class _Graph:
    """Nodes in topological order: layers, and maps laid side by side for those that read them.

    Attributes:
        layers: the layer that each node stands for, None for maps side by side.
        producers: nodes that each node reads.
        entered: nodes that read the entrance.
    """

    layers: list[int | None]
    producers: list[list[int]]
    entered: set[int]

    @cached_property
    def consumers(self) -> list[list[int]]:
        readers: list[list[int]] = [[] for _ in self.producers]
        for node, made in enumerate(self.producers):
            for p in dict.fromkeys(made):
                readers[p].append(node)
        return readers

    def postdominators(self) -> tuple[int | None, ...]:
        # the same from the results back, with nodes numbered from the last
        last = len(self.producers) - 1
        turned = [[last - r for r in found] or [_OUTSIDE] for found in reversed(self.consumers)]
        found = reversed(_nearest(turned))
        return tuple(None if node is None else last - node for node in found)

    def cuts(self) -> list[int]:
        """Nodes whose ancestors, the entrance included, nobody reads but these and the node."""
        above: list[int] = []
        around: list[int] = []  # all that read any map on the way to a node
        readers, entered = [bits(found) for found in self.consumers], bits(self.entered)
        for node, made in enumerate(self.producers):
            up, met = 0, entered if node in self.entered else 0
            for p in made:
                up |= above[p] | 1 << p
                met |= around[p] | readers[p]
            above.append(up)
            around.append(met)
        return [i for i, met in enumerate(around) if not met & ~(above[i] | 1 << i)]

    def cut(self, node: int) -> tuple[int, ...]:
        """The layers whose results stand between both sides of a cut at ``node``."""
        at = self.layers[node]
        if at is not None:
            return (at,)
        made = {self.layers[p] for p in self.producers[node]}
        return tuple(sorted(layer for layer in made if layer is not None))


def _plain(network: Network) -> _Graph:
    """The layers alone."""
    entrance = network.reads[0][0]
    entered = {i for i, sources in enumerate(network.reads) if entrance in sources}
    return _Graph([*range(len(network.layers))], [*map(list, network.producers)], entered)


@remembered
def _joined(network: Network) -> _Graph:
    """The layers, and each list of maps that layers read side by side (a concatenation)."""
    entrance, joined = network.reads[0][0], dict[tuple[str, ...], int]()
    graph = _Graph([], [], set())
    node: dict[int, int] = {}

    def append(layer: int | None, made: Iterable[int], sources: tuple[str, ...]) -> int:
        graph.layers.append(layer)
        graph.producers.append(list(made))
        if entrance in sources:
            graph.entered.add(len(graph.layers) - 1)
        return len(graph.layers) - 1

    for i, (layer, sources) in enumerate(zip(network.layers, network.reads, strict=True)):
        made = [node[p] for p in network.producers[i]]
        if layer.parts and len(set(made)) > 1 and not any(layer.slices):
            if sources not in joined:
                joined[sources] = append(None, made, sources)
            node[i] = append(i, [joined[sources]], ())
        else:
            node[i] = append(i, made, sources)
    return graph


@remembered
def clean_cuts(network: Network) -> tuple[tuple[int, ...], ...]:
    """Return the places where the network is cut clean, each as the layers that make the cut.

    All that such a layer depends on is read by nobody after it: between the two sides stands
    its result alone. Results of several layers are one cut if all that comes after reads them
    side by side (the end of an inception block). These are the places where a search may cut
    without spilling a branch, and where exact methods may solve both sides apart.
    """
    graph = _joined(network)
    return tuple(graph.cut(node) for node in graph.cuts())


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a network between clean cuts.

    Attributes:
        layers: ascending positions.
        branching: whether it holds branches (a residual block, an inception block) rather than
            a chain, in which each layer reads the one before it.
        cut: the layers that make the cut at its end (:func:`clean_cuts`): what follows reads
            nothing else of the segment. Empty for what is left at the end of a network with
            several results.
    """

    layers: tuple[int, ...]
    branching: bool
    cut: tuple[int, ...]


@remembered
def segments(network: Network) -> tuple[Segment, ...]:
    """Cut the network at all of its clean cuts: chains and branching blocks, in running order.

    A block holds what lies between two neighbouring cuts, with the layers that make the later
    one: the add of a residual block, the last convolutions of an inception block. Every layer is
    in exactly one segment. For searches over ranges of a chain (DeepFrack's shortest path,
    Optimus' dynamic program), which need not look into what cannot interact.
    """
    graph = _joined(network)
    cuts, after = set(graph.cuts()), graph.postdominators()
    home: dict[int, int | None] = {}
    for node in reversed(range(len(after))):
        following = after[node]
        home[node] = node if node in cuts else None if following is None else home[following]
    inside: dict[int | None, list[int]] = {at: [] for at in [*sorted(cuts), None]}
    for node, layer in enumerate(graph.layers):
        if layer is not None:
            inside[home[node]].append(layer)
    loose = components(network, inside.pop(None))
    return (*_chained(graph, inside), *(Segment(part, True, ()) for part in loose))


def _chained(graph: _Graph, inside: dict[int | None, list[int]]) -> list[Segment]:
    """One segment for each cut with the layers before it; runs of lone layers are one chain."""
    found: dict[int, Segment] = {}  # by the node at its end
    for at, layers in inside.items():
        if at is None or not layers:
            continue
        cut, producers = graph.cut(at), set(graph.producers[at])
        if layers != [graph.layers[at]]:
            found[at] = Segment(tuple(layers), True, cut)
            continue
        last = producers.pop() if len(producers) == 1 else _OUTSIDE
        before = found.get(last)
        if before is None or before.branching:
            found[at] = Segment(cut, False, cut)
        else:
            del found[last]
            found[at] = Segment((*before.layers, *cut), False, cut)
    return list(found.values())
